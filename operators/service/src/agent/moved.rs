//! When a move is over, what its tenant has beside Applications is looked at again: nobody but the move touched it meanwhile, and what
//! was edited or asked for then woke nobody who could do something about it. So is what may be left where the unit came from or was to go:
//! a move does not wait for ever for what it cannot remove.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_gitops::argo::{credential_name, environment_name, project_name};
use switchboard_gitops::fleet::moving::is_open;
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_ledger::rows::fleet::Move;
use switchboard_ledger::rows::{Application, ClusterAccess, EngineInstance, RepositoryCredentials};
use switchboard_ledger::{Filter, Key, Row, Signal, View};

use super::{APPLICATIONS_NAME, Agent, PROJECTS_NAME, SECRETS_NAME};
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

/// Units to wake, by their operators.
type Woken = BTreeMap<&'static str, BTreeSet<Unit>>;

impl Agent {
    /// Has everything looked at of tenants whose move is over.
    ///
    /// # Errors
    /// When the database fails.
    pub(super) async fn look_after(&self, moves: &BTreeSet<&str>, handle: &Handle) -> Result<(), ServiceError> {
        let mut view = self.store().ledger().view().await?;
        let mut woken = Woken::new();
        for id in moves {
            if let Some(row) = view.get::<Move>(&Key::from(*id)).await?.filter(|row| !is_open(row)) {
                belongings(&mut view, &row, &mut woken).await?;
                copies(&mut view, &row, &mut woken).await?;
            }
        }
        view.end();
        for (operator, units) in woken {
            // A kernel that has stopped looks again when it is back.
            let _ = handle.tell(OperatorName::new(operator), units.into_iter().collect()).await;
        }
        Ok(())
    }
}

/// Secrets and projects that a tenant has at the Argo CDs it uses, or may have at those of the move.
async fn belongings(view: &mut View, moved: &Move, woken: &mut Woken) -> Result<(), ServiceError> {
    let user = &moved.user;
    let accesses: Vec<ClusterAccess> = view.list(&Filter::all().is("clusteraccess_user_id", user)).await?;
    let credentials: Vec<RepositoryCredentials> = view.list(&Filter::all().is("repo_cred_user_id", user)).await?;
    let used = accesses.iter().map(|access| (&access.instance, &access.environment));
    let ends = [&moved.source, &moved.target].map(|end| (end, &moved.environment));
    for (at, environment) in used.chain(ends) {
        let Some(EngineInstance { namespace, .. }) = rows::instance(view, at).await? else { continue };
        let secrets = woken.entry(SECRETS_NAME).or_default();
        secrets.insert(Unit::object(&namespace, &environment_name(environment)));
        secrets.extend(credentials.iter().map(|row| Unit::object(&namespace, &credential_name(&row.id))));
        woken.entry(PROJECTS_NAME).or_default().insert(Unit::object(&namespace, &project_name(user)));
    }
    Ok(())
}

/// Applications of the unit, at both ends: one that the move had to leave there is let go.
async fn copies(view: &mut View, moved: &Move, woken: &mut Woken) -> Result<(), ServiceError> {
    let of_environment = Filter::all().is("managed_environment_id", &moved.environment);
    let applications: Vec<Application> = view.list(&of_environment).await?;
    for at in [&moved.source, &moved.target] {
        let Some(EngineInstance { namespace, .. }) = rows::instance(view, at).await? else { continue };
        let units = applications.iter().map(|row| Unit::object(&namespace, &row.name));
        woken.entry(APPLICATIONS_NAME).or_default().extend(units);
    }
    Ok(())
}
