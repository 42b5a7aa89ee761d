//! Applications that are newer than the backup and have no row. Their instances are remembered, so that the rows
//! recreated from the tenants' resources are placed there. Otherwise two instances would deploy the same.

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_sql::{DbTimestamp, Filter, Ledger, LedgerView, RowChange, RowKey};

use super::BackupError;
use super::adoption::text;
use crate::argocd::{IN_CLUSTER, SupportingObject, deployment_of, environment_of, supporting_object_of};
use crate::ids::{EngineInstanceId, ManagedEnvironmentId, Uid, UserId};
use crate::placement::selection;
use crate::rows::fleet::Placement;
use crate::rows::{Application, ClusterUser, EngineInstance, ManagedEnvironment};
use crate::{moves, related_rows};

/// Changes per transaction.
const MAX_PER_COMMIT: usize = 500;

/// Application that continues, and its instance, by name, for Applications without a row.
pub type ChosenApplications<'a> = BTreeMap<&'a str, (&'a Value, EngineInstanceId)>;

/// Chooses an Application for each name, one that is not paused if possible. During a move, both copies are paused.
pub async fn choose<'a>(
    ledger: &Ledger,
    here: &[EngineInstance],
    objects: &'a [Value],
) -> Result<ChosenApplications<'a>, BackupError> {
    let known: Vec<Application> = ledger.list(&Filter::all()).await?;
    let mut chosen = ChosenApplications::new();
    for object in objects {
        let name = text(object, "name");
        let Some(at) = here.iter().find(|instance| instance.namespace == text(object, "namespace")) else { continue };
        if known.iter().any(|row| row.name == name) {
            continue;
        }
        let is_better = chosen
            .get(name)
            .is_none_or(|(other, _)| moves::is_owned_by_move(other) && !moves::is_owned_by_move(object));
        if is_better {
            chosen.insert(name, (object, at.id.clone()));
        }
    }
    Ok(chosen)
}

/// Places Applications as far as the rows identify the placement, and remembers the instances of the others by name.
pub async fn remember(ledger: &Ledger, chosen: &ChosenApplications<'_>, now: DbTimestamp) -> Result<(), BackupError> {
    for (object, at) in chosen.values() {
        let mut view = ledger.view().await?;
        let tenant_and_environment = placement_of(&mut view, object).await?;
        let is_placed = match &tenant_and_environment {
            Some((user, environment)) => selection::placement(&mut view, user, environment).await?.is_some(),
            None => true,
        };
        view.end();
        if let Some((user, environment)) = tenant_and_environment.filter(|_| !is_placed) {
            let placement =
                Placement { user, environment, instance: at.clone(), epoch: 1, moving: None, created_on: now };
            ledger.commit(&[RowChange::insert(&placement)]).await?;
        }
    }
    let named = chosen.iter().filter(|(name, _)| deployment_of(name).is_some());
    let all: Vec<RowChange> =
        named.map(|(name, (_, at))| RowChange::put(&selection::restored_application(name, at))).collect();
    for some in all.chunks(MAX_PER_COMMIT) {
        ledger.commit(some).await?;
    }
    Ok(())
}

/// Returns the tenant and the environment of an Application, if both have rows.
async fn placement_of(
    view: &mut LedgerView,
    object: &Value,
) -> Result<Option<(UserId, ManagedEnvironmentId)>, BackupError> {
    let spec = &object["spec"];
    let Some(SupportingObject::Project(user)) = spec["project"].as_str().and_then(supporting_object_of) else {
        return Ok(None);
    };
    let Some(tenant) = view.get::<ClusterUser>(&RowKey::from(&user)).await? else { return Ok(None) };
    let environment = match spec["destination"]["name"].as_str() {
        Some(IN_CLUSTER) => {
            let own = related_rows::own_environment(view, &Uid::from(tenant.user_name.as_str())).await?;
            own.map(|own| ManagedEnvironmentId::from(own.relation_key))
        }
        Some(name) => environment_of(name),
        None => None,
    };
    let Some(environment) = environment else { return Ok(None) };
    let found: Option<ManagedEnvironment> = view.get(&RowKey::from(&environment)).await?;
    Ok(found.map(|found| (user, found.id)))
}
