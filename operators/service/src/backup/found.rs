//! Applications that no row knows, because they are newer than the backup: where each is, so that whoever makes its row anew from the
//! tenant's resource places it there. Placed elsewhere, two Argo CDs would deploy the same.

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_gitops::argo::{IN_CLUSTER, Thing, deployment_of, environment_of, thing_of};
use switchboard_gitops::fleet::moving;
use switchboard_ledger::ids::{EngineInstanceId, ManagedEnvironmentId, Uid, UserId};
use switchboard_ledger::rows::fleet::Placement;
use switchboard_ledger::rows::{Application, ClusterUser, EngineInstance, ManagedEnvironment};
use switchboard_ledger::{Change, Filter, Key, Ledger, Moment, View};

use super::BackupError;
use super::adopt::text;
use crate::{instance, rows};

/// How many are remembered in one transaction.
const AT_ONCE: usize = 500;

/// Which object of each name is the one that goes on, of those that no row knows.
pub type Chosen<'a> = BTreeMap<&'a str, (&'a Value, EngineInstanceId)>;

/// Chooses, among objects of these instances: one that is awake, or else any. While a unit moves, there are two that sleep.
pub async fn choose<'a>(
    ledger: &Ledger,
    here: &[EngineInstance],
    objects: &'a [Value],
) -> Result<Chosen<'a>, BackupError> {
    let known: Vec<Application> = ledger.list(&Filter::all()).await?;
    let mut chosen = Chosen::new();
    for object in objects {
        let name = text(object, "name");
        let Some(at) = here.iter().find(|instance| instance.namespace == text(object, "namespace")) else { continue };
        if known.iter().any(|row| row.name == name) {
            continue;
        }
        let is_better = chosen.get(name).is_none_or(|(other, _)| moving::is_held(other) && !moving::is_held(object));
        if is_better {
            chosen.insert(name, (object, at.id.clone()));
        }
    }
    Ok(chosen)
}

/// Places units of which rows say enough, and remembers of the others by name where they are.
pub async fn remember(ledger: &Ledger, chosen: &Chosen<'_>, now: Moment) -> Result<(), BackupError> {
    for (object, at) in chosen.values() {
        let mut view = ledger.view().await?;
        let unit = unit_of(&mut view, object).await?;
        let is_placed = match &unit {
            Some((user, environment)) => instance::placement(&mut view, user, environment).await?.is_some(),
            None => true,
        };
        view.end();
        if let Some((user, environment)) = unit.filter(|_| !is_placed) {
            let placement =
                Placement { user, environment, instance: at.clone(), epoch: 1, moving: None, created_on: now };
            ledger.commit(&[Change::insert(&placement)]).await?;
        }
    }
    let named = chosen.iter().filter(|(name, _)| deployment_of(name).is_some());
    let all: Vec<Change> = named.map(|(name, (_, at))| Change::put(&instance::found_at(name, at))).collect();
    for some in all.chunks(AT_ONCE) {
        ledger.commit(some).await?;
    }
    Ok(())
}

/// The tenant and the environment of an Application, as far as both have rows.
async fn unit_of(view: &mut View, object: &Value) -> Result<Option<(UserId, ManagedEnvironmentId)>, BackupError> {
    let spec = &object["spec"];
    let Some(Thing::Project(user)) = spec["project"].as_str().and_then(thing_of) else { return Ok(None) };
    let Some(tenant) = view.get::<ClusterUser>(&Key::from(&user)).await? else { return Ok(None) };
    let environment = match spec["destination"]["name"].as_str() {
        Some(IN_CLUSTER) => {
            let own = rows::own_environment(view, &Uid::from(tenant.user_name.as_str())).await?;
            own.map(|own| ManagedEnvironmentId::from(own.relation_key))
        }
        Some(name) => environment_of(name),
        None => None,
    };
    let Some(environment) = environment else { return Ok(None) };
    let found: Option<ManagedEnvironment> = view.get(&Key::from(&environment)).await?;
    Ok(found.map(|found| (user, found.id)))
}
