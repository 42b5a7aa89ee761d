//! Which Argo CD deploys what: the rows that the fleet's decisions are made on.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_gitops::fleet::setup::{self, Limits, Registration};
use switchboard_gitops::fleet::{self, Candidate, Coming, NoRoom, Unit, moving};
use switchboard_gitops::flow::tenant::Namespace;
use switchboard_ledger::ids::{EngineInstanceId, KubernetesRelation, ManagedEnvironmentId, Uid, UserId};
use switchboard_ledger::rows::fleet::{Member, Move, Placement};
use switchboard_ledger::rows::settings::Setting;
use switchboard_ledger::rows::{Application, ClusterAccess, EngineInstance, KubernetesToDatabase};
use switchboard_ledger::{Change, Filter, Key, LedgerError, Moment, View};

use crate::rows;

/// An Argo CD, and what makes sure that it is the one.
pub type Seat = (EngineInstance, Vec<Change>);

/// Before the name of an Application, in the settings: a restore found it at the instance of the value, and no row knew it.
const FOUND: &str = "found:";

/// That a restore found an Application at an instance, and no row knew it.
pub(crate) fn found_at(application: &str, instance: &EngineInstanceId) -> Setting {
    Setting { name: format!("{FOUND}{application}"), value: instance.to_string() }
}

/// The Argo CD for what a tenant deploys to an environment, with this Application. What makes it so goes into the transaction that relies
/// on it. With `at`, one on that cluster: a tenant's own namespace is on no other.
///
/// # Errors
/// As reading; the inner one if none takes it.
pub async fn place(
    view: &mut View,
    user: &UserId,
    environment: &ManagedEnvironmentId,
    application: &str,
    at: Option<&Uid>,
    now: Moment,
) -> Result<Result<Seat, NoRoom>, LedgerError> {
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
                    if rows::is_at(view, &candidate.instance, cluster).await? {
                        near.push(candidate);
                    }
                }
                fleet = near;
            }
            let mut access: Vec<ClusterAccess> = view.list(&filter).await?;
            if access.is_empty()
                && let Some((setting, instance)) = found(view, application, &fleet).await?
            {
                let (user, environment) = (user.clone(), environment.clone());
                access.push(ClusterAccess { user, environment, instance, created_on: now });
                taken = Some(Change::delete(&setting));
            }
            (access, fleet)
        }
    };
    let unit = Unit { user: user.clone(), environment: environment.clone() };
    let placed = match fleet::place(&unit, placement.as_ref(), &access, &fleet, now) {
        Ok(placed) => placed,
        Err(full) => return Ok(Err(full)),
    };
    let found = rows::instance(view, &placed.instance).await?;
    let changes = placed.changes.into_iter().chain(taken).collect();
    Ok(found.map(|instance| (instance, changes)).ok_or(NoRoom { members: 0, cordoned: 0 }))
}

/// Where a restore found an Application, if that is one of these.
async fn found(
    view: &mut View,
    application: &str,
    fleet: &[Candidate],
) -> Result<Option<(Setting, EngineInstanceId)>, LedgerError> {
    let setting: Option<Setting> = view.get(&Key::from(format!("{FOUND}{application}").as_str())).await?;
    Ok(setting.and_then(|setting| {
        let at = fleet.iter().map(|candidate| &candidate.instance.id).find(|id| id.as_str() == setting.value)?;
        Some((setting, at.clone()))
    }))
}

/// Where a unit is.
///
/// # Errors
/// As reading.
pub async fn placement(
    view: &mut View,
    user: &UserId,
    environment: &ManagedEnvironmentId,
) -> Result<Option<Placement>, LedgerError> {
    view.get(&Key::of([user.as_str(), environment.as_str()])).await
}

/// The Argo CD for what a tenant has beside its units: one that it uses, or would.
///
/// # Errors
/// As reading.
pub async fn of_tenant(view: &mut View, user: &UserId, now: Moment) -> Result<Option<EngineInstance>, LedgerError> {
    let used: Vec<ClusterAccess> = view.list(&Filter::all().is("clusteraccess_user_id", user).limit(1)).await?;
    if let Some(access) = used.first() {
        return rows::instance(view, &access.instance).await;
    }
    let unit = Unit { user: user.clone(), environment: ManagedEnvironmentId::from("") };
    match fleet::place(&unit, None, &[], &candidates(view).await?, now) {
        Ok(placed) => rows::instance(view, &placed.instance).await,
        Err(_) => Ok(None),
    }
}

/// Every Argo CD that has a unit of a tenant.
///
/// # Errors
/// As reading.
pub async fn of_units(view: &mut View, user: &UserId) -> Result<BTreeSet<EngineInstanceId>, LedgerError> {
    let placements: Vec<Placement> = view.list(&Filter::all().is("placement_user_id", user)).await?;
    Ok(placements.into_iter().map(|placement| placement.instance).collect())
}

/// Every Argo CD that may have a credential of a tenant: has a unit of it, or is being prepared for one.
///
/// # Errors
/// As reading.
pub async fn of_credentials(view: &mut View, user: &UserId) -> Result<BTreeSet<EngineInstanceId>, LedgerError> {
    let placements: Vec<Placement> = view.list(&Filter::all().is("placement_user_id", user)).await?;
    let mut all = BTreeSet::new();
    for placement in placements {
        if let Some(id) = &placement.moving {
            all.extend(view.get::<Move>(&Key::from(id)).await?.map(|row| row.target));
        }
        all.insert(placement.instance);
    }
    Ok(all)
}

/// All of the fleet, with what each has.
pub(crate) async fn candidates(view: &mut View) -> Result<Vec<Candidate>, LedgerError> {
    let members: Vec<Member> = view.list(&Filter::all()).await?;
    let mut coming: BTreeMap<EngineInstanceId, Coming> = BTreeMap::new();
    for row in view.list::<Move>(&Filter::all().any("step", moving::ARRIVING)).await? {
        let more = view.count::<Application>("managed_environment_id", &row.environment).await?;
        let Coming { units, applications } = coming.entry(row.target).or_default();
        (*units, *applications) = (*units + 1, *applications + more);
    }
    let mut all = Vec::new();
    for instance in view.list::<EngineInstance>(&Filter::all()).await? {
        all.push(Candidate {
            member: members.iter().find(|member| member.instance == instance.id).cloned(),
            applications: view.count::<Application>("engine_instance_inst_id", &instance.id).await?,
            environments: view.count::<Placement>("instance_id", &instance.id).await?,
            coming: coming.get(&instance.id).copied().unwrap_or_default(),
            instance,
        });
    }
    Ok(all)
}

/// Makes a namespace of a cluster known as an Argo CD of the fleet. `cluster` is the uid of its `kube-system`.
///
/// # Errors
/// As reading.
pub async fn register(
    view: &mut View,
    cluster: &Uid,
    namespace: &Namespace,
    id: impl FnMut() -> String,
    now: Moment,
) -> Result<Vec<Change>, LedgerError> {
    let mut mappings: Vec<KubernetesToDatabase> = Vec::new();
    for relation in [KubernetesRelation::EngineCluster, KubernetesRelation::EngineInstance] {
        mappings.extend(view.list(&Filter::all().is("db_relation_type", relation)).await?);
    }
    let instances: Vec<EngineInstance> = view.list(&Filter::all()).await?;
    let members: Vec<Member> = view.list(&Filter::all()).await?;
    let input = Registration {
        cluster,
        namespace,
        mappings: &mappings,
        instances: &instances,
        members: &members,
        limits: Limits::default(),
        anew: false,
        now,
    };
    Ok(setup::register(&input, id).1)
}
