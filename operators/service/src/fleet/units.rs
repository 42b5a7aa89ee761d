//! Units, by the names people have for them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_gitops::fleet::Unit;
use switchboard_ledger::ids::{ApiRelation, EngineInstanceId, KubernetesRelation, MoveId, MoveStep};
use switchboard_ledger::rows::fleet::{Move, Placement};
use switchboard_ledger::rows::{ApiToDatabase, Application, ClusterUser, KubernetesToDatabase};
use switchboard_ledger::{Filter, Key, LedgerError, View};

use super::gather::all;
use super::names::{MAX_TOLD, Names};
use super::{Fleet, FleetError, entries};

/// A unit, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The tenant's namespace.
    pub tenant: String,
    /// Which namespace of that name.
    pub tenant_uid: String,
    /// The environment; none is the tenant's own namespace.
    pub environment: Option<String>,
    /// Which environment of that name.
    pub environment_uid: Option<String>,
    /// The namespace of its Argo CD.
    pub instance: String,
    /// What the cluster of that is known by.
    pub cluster: String,
    /// How many Applications it has.
    pub applications: u64,
    /// The namespace of the Argo CD that it is on its way to, if it moves.
    pub moving: Option<String>,
}

/// A unit that may be meant.
struct Found {
    placement: Placement,
    tenant: String,
    /// Of the environment's resource; a tenant's own namespace has none.
    environment: Option<String>,
}

impl Fleet {
    /// What a tenant deploys to an environment, or, without one, to its own namespace. A tenant is named by its namespace or by the
    /// uid of that, an environment by its name or the uid of its resource.
    ///
    /// # Errors
    /// When it deploys nothing there; when several have that name and deploy something.
    pub async fn unit(&self, tenant: &str, environment: Option<&str>) -> Result<(Unit, Placement), FleetError> {
        let mut view = self.store.ledger().view().await?;
        let mut found = matching(&mut view, tenant, environment).await?;
        view.end();
        only(&found, "tenant", tenant, |one| Some(&one.tenant))?;
        only(&found, "environment", environment.unwrap_or_default(), |one| one.environment.as_ref())?;
        let Some(Found { placement, .. }) = found.pop() else {
            let environment = environment.unwrap_or("its own namespace").to_string();
            return Err(FleetError::NoUnit { tenant: tenant.to_string(), environment });
        };
        Ok((Unit { user: placement.user.clone(), environment: placement.environment.clone() }, placement))
    }

    /// Every unit, by tenant and environment.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn units(&self) -> Result<Vec<Placed>, FleetError> {
        let mut view = self.store.ledger().view().await?;
        let names = Names::read(&mut view).await?;
        let placements: Vec<Placement> = all(&mut view).await?;
        let moves: Vec<Move> = all(&mut view).await?;
        let instances: BTreeMap<EngineInstanceId, (String, String)> = entries(&mut view)
            .await?
            .into_iter()
            .map(|entry| (entry.candidate.instance.id, (entry.candidate.instance.namespace, entry.cluster)))
            .collect();
        let moves: BTreeMap<&MoveId, &Move> = moves.iter().map(|row| (&row.id, row)).collect();
        let at = |id: &EngineInstanceId| instances.get(id).cloned().unwrap_or_else(|| (id.to_string(), String::new()));
        let mut units = Vec::new();
        for row in &placements {
            let (tenant, environment) = (names.tenant_row(&row.user), names.environment_row(&row.environment));
            let (instance, cluster) = at(&row.instance);
            let moving = row.moving.as_ref().and_then(|id| moves.get(id));
            units.push(Placed {
                tenant: tenant.map_or_else(|| row.user.to_string(), |tenant| tenant.name.clone()),
                tenant_uid: tenant.map(|tenant| tenant.uid.clone()).unwrap_or_default(),
                environment: environment.map(|environment| environment.name.clone()),
                environment_uid: environment.map(|environment| environment.uid.clone()),
                instance,
                cluster,
                applications: view.count::<Application>("managed_environment_id", &row.environment).await?,
                moving: moving.map(|row| at(heading(row)).0),
            });
        }
        view.end();
        units.sort_by(|a, b| {
            (&a.tenant, &a.tenant_uid, &a.environment).cmp(&(&b.tenant, &b.tenant_uid, &b.environment))
        });
        Ok(units)
    }
}

/// Where a unit that moves will be.
fn heading(row: &Move) -> &EngineInstanceId {
    if row.step == MoveStep::Return { &row.source } else { &row.target }
}

/// The first units of an instance, as they are given to `fleet move`.
pub(super) async fn first_on(view: &mut View, instance: &EngineInstanceId) -> Result<Vec<String>, LedgerError> {
    let names = Names::read(view).await?;
    let placements: Vec<Placement> = view.list(&Filter::all().is("instance_id", instance)).await?;
    let mut units: Vec<String> = placements.iter().map(|row| names.arguments(row)).collect();
    units.sort();
    units.truncate(MAX_TOLD);
    Ok(units)
}

/// Nothing is guessed: what one name says of several is told by uid.
fn only<'a>(
    found: &'a [Found],
    what: &'static str,
    name: &str,
    uid: impl Fn(&'a Found) -> Option<&'a String>,
) -> Result<(), FleetError> {
    let mut uids: Vec<String> = found.iter().filter_map(uid).cloned().collect();
    uids.sort();
    uids.dedup();
    if uids.len() > 1 {
        return Err(FleetError::Several { what, name: name.to_string(), uids });
    }
    Ok(())
}

/// Units of that name. A namespace's name may have been that of several tenants: who has nothing placed is not meant.
async fn matching(view: &mut View, tenant: &str, environment: Option<&str>) -> Result<Vec<Found>, FleetError> {
    let mut found = Vec::new();
    // A uid first: somebody may call a namespace by that of another one.
    let mut users: Vec<ClusterUser> = view.list(&Filter::all().is("user_name", tenant)).await?;
    if users.is_empty() {
        users = view.list(&Filter::all().is("display_name", tenant)).await?;
    }
    for user in users {
        let wanted: Vec<(String, Option<String>)> = match environment {
            None => {
                let own = Filter::all()
                    .is("kubernetes_resource_uid", user.user_name.as_str())
                    .is("db_relation_type", KubernetesRelation::ManagedEnvironment);
                let rows = view.list::<KubernetesToDatabase>(&own).await?;
                rows.into_iter().map(|row| (row.relation_key, None)).collect()
            }
            Some(name) => environments(view, &user, name)
                .await?
                .into_iter()
                .map(|row| (row.relation_key, Some(row.resource_uid.to_string())))
                .collect(),
        };
        for (id, environment) in wanted {
            let key = Key::of([user.id.as_str(), id.as_str()]);
            if let Some(placement) = view.get::<Placement>(&key).await? {
                found.push(Found { placement, tenant: user.user_name.clone(), environment });
            }
        }
    }
    Ok(found)
}

/// Environments of a tenant by a uid, or else by a name: while one that was deleted is waited for, there may be another of its name.
async fn environments(view: &mut View, user: &ClusterUser, name: &str) -> Result<Vec<ApiToDatabase>, LedgerError> {
    let of_tenant = || {
        Filter::all()
            .is("api_resource_namespace_uid", user.user_name.as_str())
            .is("db_relation_type", ApiRelation::ManagedEnvironment)
    };
    let by_uid = view.list(&of_tenant().is("api_resource_uid", name)).await?;
    if !by_uid.is_empty() {
        return Ok(by_uid);
    }
    view.list(&of_tenant().is("api_resource_name", name)).await
}

/// A unit for programs.
impl From<&Placed> for Value {
    fn from(unit: &Placed) -> Value {
        json!({
            "tenant": unit.tenant,
            "tenantUid": unit.tenant_uid,
            "environment": unit.environment,
            "environmentUid": unit.environment_uid,
            "instance": unit.instance,
            "cluster": unit.cluster,
            "applications": unit.applications,
            "moving": unit.moving.is_some(),
            "movingTo": unit.moving,
        })
    }
}
