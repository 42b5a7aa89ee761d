//! When a move is over, what its tenant has beside Applications is looked at again: nobody but the move touched it meanwhile, and what
//! was edited or asked for then woke nobody who could do something about it.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_gitops::argo::{credential_name, environment_name, project_name};
use switchboard_gitops::fleet::moving::is_open;
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_ledger::ids::UserId;
use switchboard_ledger::rows::fleet::Move;
use switchboard_ledger::rows::{ClusterAccess, EngineInstance, RepositoryCredentials};
use switchboard_ledger::{Filter, Key, Row, Signal, View};

use super::{Agent, PROJECTS_NAME, SECRETS_NAME};
use crate::error::ServiceError;
use crate::rows;

/// Moves that these news are about.
pub(super) fn moves<'a>(news: &'a [Signal]) -> BTreeSet<&'a str> {
    let of = |signal: &'a Signal| match signal {
        Signal::Changed { table, key } if table == Move::TABLE.name => Some(key.as_str()),
        _ => None,
    };
    news.iter().filter_map(of).collect()
}

impl Agent {
    /// Has Secrets and projects looked at of tenants whose move is over.
    ///
    /// # Errors
    /// When the database fails.
    pub(super) async fn look_after(&self, moves: &BTreeSet<&str>, handle: &Handle) -> Result<(), ServiceError> {
        let mut view = self.store().ledger().view().await?;
        let mut woken = BTreeMap::from([(SECRETS_NAME, BTreeSet::new()), (PROJECTS_NAME, BTreeSet::new())]);
        for id in moves {
            if let Some(row) = view.get::<Move>(&Key::from(*id)).await?.filter(|row| !is_open(row)) {
                let (secrets, projects) = belongings(&mut view, &row.user).await?;
                woken.entry(SECRETS_NAME).or_default().extend(secrets);
                woken.entry(PROJECTS_NAME).or_default().extend(projects);
            }
        }
        view.end();
        for (operator, units) in woken.into_iter().filter(|(_, units)| !units.is_empty()) {
            // A kernel that has stopped looks again when it is back.
            let _ = handle.tell(OperatorName::new(operator), units.into_iter().collect()).await;
        }
        Ok(())
    }
}

/// Secrets and projects that a tenant has at the Argo CDs it uses.
async fn belongings(view: &mut View, user: &UserId) -> Result<(BTreeSet<Unit>, BTreeSet<Unit>), ServiceError> {
    let accesses: Vec<ClusterAccess> = view.list(&Filter::all().is("clusteraccess_user_id", user)).await?;
    let credentials: Vec<RepositoryCredentials> = view.list(&Filter::all().is("repo_cred_user_id", user)).await?;
    let (mut secrets, mut projects) = (BTreeSet::new(), BTreeSet::new());
    for access in &accesses {
        let Some(EngineInstance { namespace, .. }) = rows::instance(view, &access.instance).await? else { continue };
        secrets.insert(Unit::object(&namespace, &environment_name(&access.environment)));
        secrets.extend(credentials.iter().map(|row| Unit::object(&namespace, &credential_name(&row.id))));
        projects.insert(Unit::object(&namespace, &project_name(user)));
    }
    Ok((secrets, projects))
}
