//! Selection of Argo CD instances: the rows that the fleet's decisions are based on.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_sql::{DbTimestamp, Filter, LedgerError, LedgerView, RowChange, RowKey};

use crate::ids::{EngineInstanceId, KubernetesRelation, ManagedEnvironmentId, Uid, UserId};
use crate::instance::{self, InstanceLimits, InstanceRegistration};
use crate::placement::{self, IncomingLoad, InstanceCandidate, NoCapacity, PlacementKey};
use crate::rows::fleet::{Member, Move, Placement};
use crate::rows::settings::Setting;
use crate::rows::{Application, ClusterAccess, EngineInstance, KubernetesToDatabase};
use crate::tenant::TenantNamespace;
use crate::{moves, related_rows};

/// Instance, and the changes that place something there.
pub type PlacedInstance = (EngineInstance, Vec<RowChange>);

/// Prefix of settings that remember the instance of an Application found by a restore. The name of the Application
/// follows.
const RESTORED_PREFIX: &str = "found:";

/// Returns the setting that remembers the instance of an Application found by a restore.
pub(crate) fn restored_application(application: &str, instance: &EngineInstanceId) -> Setting {
    Setting { name: format!("{RESTORED_PREFIX}{application}"), value: instance.to_string() }
}

/// Returns the instance for a placement with this Application. The changes must be committed with those that rely on
/// the placement. `at` restricts the choice to a cluster: a tenant's own namespace exists on one cluster only.
///
/// # Errors
/// When the database fails; the inner error if no instance has capacity.
pub async fn place(
    view: &mut LedgerView,
    user: &UserId,
    environment: &ManagedEnvironmentId,
    application: &str,
    at: Option<&Uid>,
    now: DbTimestamp,
) -> Result<Result<PlacedInstance, NoCapacity>, LedgerError> {
    let placement = placement(view, user, environment).await?;
    let mut taken = None;
    let (access, fleet) = match &placement {
        Some(_) => (Vec::new(), Vec::new()),
        None => {
            let filter =
                Filter::all().is("clusteraccess_user_id", user).is("clusteraccess_managed_environment_id", environment);
            let mut fleet = candidates(view).await?;
            if let Some(cluster) = at {
                let mut near = Vec::new();
                for candidate in fleet {
                    if related_rows::is_on_cluster(view, &candidate.instance, cluster).await? {
                        near.push(candidate);
                    }
                }
                fleet = near;
            }
            let mut access: Vec<ClusterAccess> = view.list(&filter).await?;
            if access.is_empty()
                && let Some((setting, instance)) = restored_instance(view, application, &fleet).await?
            {
                let (user, environment) = (user.clone(), environment.clone());
                access.push(ClusterAccess { user, environment, instance, created_on: now });
                taken = Some(RowChange::delete(&setting));
            }
            (access, fleet)
        }
    };
    let key = PlacementKey { user: user.clone(), environment: environment.clone() };
    let placed = match placement::place(&key, placement.as_ref(), &access, &fleet, now) {
        Ok(placed) => placed,
        Err(full) => return Ok(Err(full)),
    };
    let found = related_rows::instance(view, &placed.instance).await?;
    let changes = placed.changes.into_iter().chain(taken).collect();
    Ok(found.map(|instance| (instance, changes)).ok_or(NoCapacity { members: 0, cordoned: 0 }))
}

/// Returns the instance where a restore found an Application, if it is one of these.
async fn restored_instance(
    view: &mut LedgerView,
    application: &str,
    fleet: &[InstanceCandidate],
) -> Result<Option<(Setting, EngineInstanceId)>, LedgerError> {
    let setting: Option<Setting> = view.get(&RowKey::from(format!("{RESTORED_PREFIX}{application}").as_str())).await?;
    Ok(setting.and_then(|setting| {
        let at = fleet.iter().map(|candidate| &candidate.instance.id).find(|id| id.as_str() == setting.value)?;
        Some((setting, at.clone()))
    }))
}

/// Returns the placement of a tenant and an environment.
///
/// # Errors
/// When the database fails.
pub async fn placement(
    view: &mut LedgerView,
    user: &UserId,
    environment: &ManagedEnvironmentId,
) -> Result<Option<Placement>, LedgerError> {
    view.get(&RowKey::of([user.as_str(), environment.as_str()])).await
}

/// Returns the instance for a tenant's objects outside of placements: one that the tenant uses, or would use.
///
/// # Errors
/// When the database fails.
pub async fn of_tenant(
    view: &mut LedgerView,
    user: &UserId,
    now: DbTimestamp,
) -> Result<Option<EngineInstance>, LedgerError> {
    let used: Vec<ClusterAccess> = view.list(&Filter::all().is("clusteraccess_user_id", user).limit(1)).await?;
    if let Some(access) = used.first() {
        return related_rows::instance(view, &access.instance).await;
    }
    let key = PlacementKey { user: user.clone(), environment: ManagedEnvironmentId::from("") };
    match placement::place(&key, None, &[], &candidates(view).await?, now) {
        Ok(placed) => related_rows::instance(view, &placed.instance).await,
        Err(_) => Ok(None),
    }
}

/// Returns the instances that have a placement of a tenant.
///
/// # Errors
/// When the database fails.
pub async fn instances_of_placements(
    view: &mut LedgerView,
    user: &UserId,
) -> Result<BTreeSet<EngineInstanceId>, LedgerError> {
    let placements: Vec<Placement> = view.list(&Filter::all().is("placement_user_id", user)).await?;
    Ok(placements.into_iter().map(|placement| placement.instance).collect())
}

/// Returns the instances that may have a credential of a tenant: those with a placement, and the targets of moves.
///
/// # Errors
/// When the database fails.
pub async fn of_credentials(view: &mut LedgerView, user: &UserId) -> Result<BTreeSet<EngineInstanceId>, LedgerError> {
    let placements: Vec<Placement> = view.list(&Filter::all().is("placement_user_id", user)).await?;
    let mut all = BTreeSet::new();
    for placement in placements {
        if let Some(id) = &placement.moving {
            all.extend(view.get::<Move>(&RowKey::from(id)).await?.map(|row| row.target));
        }
        all.insert(placement.instance);
    }
    Ok(all)
}

/// Returns all instances of the fleet with their load.
pub(crate) async fn candidates(view: &mut LedgerView) -> Result<Vec<InstanceCandidate>, LedgerError> {
    let members: Vec<Member> = view.list(&Filter::all()).await?;
    let mut coming: BTreeMap<EngineInstanceId, IncomingLoad> = BTreeMap::new();
    for row in view.list::<Move>(&Filter::all().is_any_of("step", moves::RESERVING_STEPS)).await? {
        let more = view.count::<Application>("managed_environment_id", &row.environment).await?;
        let IncomingLoad { placements: environments, applications } = coming.entry(row.target).or_default();
        (*environments, *applications) = (*environments + 1, *applications + more);
    }
    let mut all = Vec::new();
    for instance in view.list::<EngineInstance>(&Filter::all()).await? {
        all.push(InstanceCandidate {
            member: members.iter().find(|member| member.instance == instance.id).cloned(),
            applications: view.count::<Application>("engine_instance_inst_id", &instance.id).await?,
            environments: view.count::<Placement>("instance_id", &instance.id).await?,
            incoming: coming.get(&instance.id).copied().unwrap_or_default(),
            instance,
        });
    }
    Ok(all)
}

/// Registers a namespace of a cluster as an Argo CD instance. `cluster` is the uid of `kube-system`.
///
/// # Errors
/// When the database fails.
pub async fn register(
    view: &mut LedgerView,
    cluster: &Uid,
    namespace: &TenantNamespace,
    id: impl FnMut() -> String,
    now: DbTimestamp,
) -> Result<Vec<RowChange>, LedgerError> {
    let mut mappings: Vec<KubernetesToDatabase> = Vec::new();
    for relation in [KubernetesRelation::EngineCluster, KubernetesRelation::EngineInstance] {
        mappings.extend(view.list(&Filter::all().is("db_relation_type", relation)).await?);
    }
    let instances: Vec<EngineInstance> = view.list(&Filter::all()).await?;
    let members: Vec<Member> = view.list(&Filter::all()).await?;
    let input = InstanceRegistration {
        cluster,
        namespace,
        mappings: &mappings,
        instances: &instances,
        members: &members,
        limits: InstanceLimits::default(),
        is_cluster_recreated: false,
        now,
    };
    Ok(instance::register(&input, id).1)
}
