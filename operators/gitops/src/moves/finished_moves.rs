//! Rechecks after a move. During the move no other unit changed the tenant's Secrets and projects, so edits and
//! requests of that time are still to be handled. The move may also have left objects behind at its source or target,
//! because it does not wait for them forever.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_sql::{ChangeEvent, Filter, LedgerView, Row, RowKey};

use crate::agent::{APPLICATIONS_NAME, Agent, PROJECTS_NAME, SECRETS_NAME};
use crate::argocd::{credential_name, environment_name, project_name};
use crate::error::ServiceError;
use crate::moves::is_open;
use crate::related_rows;
use crate::rows::fleet::Move;
use crate::rows::{Application, ClusterAccess, EngineInstance, RepositoryCredentials};

/// Returns the moves among the events.
pub(crate) fn moves<'a>(events: &'a [ChangeEvent]) -> BTreeSet<&'a str> {
    let of = |event: &'a ChangeEvent| match event {
        ChangeEvent::Row { table, key } if table == Move::TABLE.name => Some(key.as_str()),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// Units by operator.
type OperatorUnits = BTreeMap<&'static str, BTreeSet<Unit>>;

impl Agent {
    /// Enqueues the objects of tenants whose moves have finished.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) async fn enqueue_finished_moves(
        &self,
        moves: &BTreeSet<&str>,
        handle: &Handle,
    ) -> Result<(), ServiceError> {
        let mut view = self.store().ledger().view().await?;
        let mut units = OperatorUnits::new();
        for id in moves {
            if let Some(row) = view.get::<Move>(&RowKey::from(*id)).await?.filter(|row| !is_open(row)) {
                enqueue_secrets_and_projects(&mut view, &row, &mut units).await?;
                enqueue_applications(&mut view, &row, &mut units).await?;
            }
        }
        view.end();
        for (operator, units) in units {
            // A stopped kernel lists everything when it starts again.
            let _ = handle.enqueue(OperatorName::new(operator), units.into_iter().collect()).await;
        }
        Ok(())
    }
}

/// Adds the Secrets and projects of the tenant at its instances and at both ends of the move.
async fn enqueue_secrets_and_projects(
    view: &mut LedgerView,
    moved: &Move,
    units: &mut OperatorUnits,
) -> Result<(), ServiceError> {
    let user = &moved.user;
    let accesses: Vec<ClusterAccess> = view.list(&Filter::all().is("clusteraccess_user_id", user)).await?;
    let credentials: Vec<RepositoryCredentials> = view.list(&Filter::all().is("repo_cred_user_id", user)).await?;
    let used = accesses.iter().map(|access| (&access.instance, &access.environment));
    let ends = [&moved.source, &moved.target].map(|end| (end, &moved.environment));
    for (at, environment) in used.chain(ends) {
        let Some(EngineInstance { namespace, .. }) = related_rows::instance(view, at).await? else { continue };
        let secrets = units.entry(SECRETS_NAME).or_default();
        secrets.insert(Unit::object(&namespace, &environment_name(environment)));
        secrets.extend(credentials.iter().map(|row| Unit::object(&namespace, &credential_name(&row.id))));
        units.entry(PROJECTS_NAME).or_default().insert(Unit::object(&namespace, &project_name(user)));
    }
    Ok(())
}

/// Adds the Applications of the placement at both ends: copies that the move left behind are released.
async fn enqueue_applications(
    view: &mut LedgerView,
    moved: &Move,
    units: &mut OperatorUnits,
) -> Result<(), ServiceError> {
    let of_environment = Filter::all().is("managed_environment_id", &moved.environment);
    let applications: Vec<Application> = view.list(&of_environment).await?;
    for at in [&moved.source, &moved.target] {
        let Some(EngineInstance { namespace, .. }) = related_rows::instance(view, at).await? else { continue };
        let copies = applications.iter().map(|row| Unit::object(&namespace, &row.name));
        units.entry(APPLICATIONS_NAME).or_default().extend(copies);
    }
    Ok(())
}
