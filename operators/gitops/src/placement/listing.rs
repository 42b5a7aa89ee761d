//! Lookup and listing of placements by name.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_sql::{Filter, LedgerError, LedgerView, RowKey};

use super::names::{MAX_LISTED, PlacementNames};
use crate::ids::{ApiRelation, EngineInstanceId, MoveId, MoveStep, Uid};
use crate::instance::fleet::{Fleet, FleetError, entries};
use crate::moves::move_inputs::all;
use crate::placement::PlacementKey;
use crate::related_rows;
use crate::rows::fleet::{Move, Placement};
use crate::rows::{ApiToDatabase, Application, ClusterUser};

/// Placement with its names and its instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementInfo {
    /// Namespace of the tenant.
    pub tenant: String,
    /// Uid of the tenant's namespace.
    pub tenant_uid: String,
    /// Environment; `None` for the tenant's own namespace.
    pub environment: Option<String>,
    /// Uid of the environment's resource.
    pub environment_uid: Option<String>,
    /// Namespace of the instance.
    pub instance: String,
    /// Identity of the instance's cluster.
    pub cluster: String,
    /// Number of Applications.
    pub applications: u64,
    /// Namespace of the instance that the placement is being moved to.
    pub moving: Option<String>,
}

/// Placement that matches the names.
struct PlacementMatch {
    placement: Placement,
    tenant: String,
    /// Uid of the environment's resource; `None` for the tenant's own namespace.
    environment: Option<String>,
}

impl Fleet {
    /// Finds the placement of a tenant and an environment or, without one, of the tenant's own namespace. A tenant is
    /// given by its namespace or the uid of it, an environment by its name or the uid of its resource.
    ///
    /// # Errors
    /// When there is no such placement, or several match.
    pub async fn find_placement(
        &self,
        tenant: &str,
        environment: Option<&str>,
    ) -> Result<(PlacementKey, Placement), FleetError> {
        let mut view = self.store.ledger().view().await?;
        let mut found = matching_placements(&mut view, tenant, environment).await?;
        view.end();
        require_unique(&found, "tenant", tenant, |one| Some(&one.tenant))?;
        require_unique(&found, "environment", environment.unwrap_or_default(), |one| one.environment.as_ref())?;
        let Some(PlacementMatch { placement, .. }) = found.pop() else {
            let environment = environment.unwrap_or("its own namespace").to_string();
            return Err(FleetError::NoPlacement { tenant: tenant.to_string(), environment });
        };
        Ok((PlacementKey { user: placement.user.clone(), environment: placement.environment.clone() }, placement))
    }

    /// Lists the placements, sorted by tenant and environment.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn placements(&self) -> Result<Vec<PlacementInfo>, FleetError> {
        let mut view = self.store.ledger().view().await?;
        let names = PlacementNames::read(&mut view).await?;
        let placements: Vec<Placement> = all(&mut view).await?;
        let moves: Vec<Move> = all(&mut view).await?;
        let instances: BTreeMap<EngineInstanceId, (String, String)> = entries(&mut view)
            .await?
            .into_iter()
            .map(|entry| (entry.candidate.instance.id, (entry.candidate.instance.namespace, entry.cluster)))
            .collect();
        let moves: BTreeMap<&MoveId, &Move> = moves.iter().map(|row| (&row.id, row)).collect();
        let at = |id: &EngineInstanceId| instances.get(id).cloned().unwrap_or_else(|| (id.to_string(), String::new()));
        let mut listed = Vec::new();
        for row in &placements {
            let (tenant, environment) = (names.tenant_row(&row.user), names.environment_row(&row.environment));
            let (instance, cluster) = at(&row.instance);
            let moving = row.moving.as_ref().and_then(|id| moves.get(id));
            listed.push(PlacementInfo {
                tenant: tenant.map_or_else(|| row.user.to_string(), |tenant| tenant.name.clone()),
                tenant_uid: tenant.map(|tenant| tenant.uid.clone()).unwrap_or_default(),
                environment: environment.map(|environment| environment.name.clone()),
                environment_uid: environment.map(|environment| environment.uid.clone()),
                instance,
                cluster,
                applications: view.count::<Application>("managed_environment_id", &row.environment).await?,
                moving: moving.map(|row| at(destination(row)).0),
            });
        }
        view.end();
        listed.sort_by(|a, b| {
            (&a.tenant, &a.tenant_uid, &a.environment).cmp(&(&b.tenant, &b.tenant_uid, &b.environment))
        });
        Ok(listed)
    }
}

/// Returns the instance that a moving placement will be on.
fn destination(row: &Move) -> &EngineInstanceId {
    if row.step == MoveStep::Rollback { &row.source } else { &row.target }
}

/// Returns the first placements of an instance, as arguments of `fleet move`.
pub(crate) async fn first_placements_on(
    view: &mut LedgerView,
    instance: &EngineInstanceId,
) -> Result<Vec<String>, LedgerError> {
    let names = PlacementNames::read(view).await?;
    let placements: Vec<Placement> = view.list(&Filter::all().is("instance_id", instance)).await?;
    let mut listed: Vec<String> = placements.iter().map(|row| names.arguments(row)).collect();
    listed.sort();
    listed.truncate(MAX_LISTED);
    Ok(listed)
}

/// Fails if a name matches several uids.
fn require_unique<'a>(
    found: &'a [PlacementMatch],
    what: &'static str,
    name: &str,
    uid: impl Fn(&'a PlacementMatch) -> Option<&'a String>,
) -> Result<(), FleetError> {
    let mut uids: Vec<String> = found.iter().filter_map(uid).cloned().collect();
    uids.sort();
    uids.dedup();
    if uids.len() > 1 {
        return Err(FleetError::Ambiguous { what, name: name.to_string(), uids });
    }
    Ok(())
}

/// Returns the placements that match the names. Several tenants may have had the same namespace name; those without a
/// placement do not match.
async fn matching_placements(
    view: &mut LedgerView,
    tenant: &str,
    environment: Option<&str>,
) -> Result<Vec<PlacementMatch>, FleetError> {
    let mut found = Vec::new();
    // Uids take precedence, because a namespace may be named like the uid of another one.
    let mut users: Vec<ClusterUser> = view.list(&Filter::all().is("user_name", tenant)).await?;
    if users.is_empty() {
        users = view.list(&Filter::all().is("display_name", tenant)).await?;
    }
    for user in users {
        let wanted: Vec<(String, Option<String>)> = match environment {
            None => {
                let own = related_rows::own_environment(view, &Uid::from(user.user_name.as_str())).await?;
                own.into_iter().map(|row| (row.relation_key, None)).collect()
            }
            Some(name) => environments(view, &user, name)
                .await?
                .into_iter()
                .map(|row| (row.relation_key, Some(row.resource_uid.to_string())))
                .collect(),
        };
        for (id, environment) in wanted {
            let key = RowKey::of([user.id.as_str(), id.as_str()]);
            if let Some(placement) = view.get::<Placement>(&key).await? {
                found.push(PlacementMatch { placement, tenant: user.user_name.clone(), environment });
            }
        }
    }
    Ok(found)
}

/// Returns the environments of a tenant by uid or by name. While a deleted environment is waited for, another one may
/// have its name.
async fn environments(
    view: &mut LedgerView,
    user: &ClusterUser,
    name: &str,
) -> Result<Vec<ApiToDatabase>, LedgerError> {
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

/// JSON form of a placement.
impl From<&PlacementInfo> for Value {
    fn from(placement: &PlacementInfo) -> Value {
        json!({
            "tenant": placement.tenant,
            "tenantUid": placement.tenant_uid,
            "environment": placement.environment,
            "environmentUid": placement.environment_uid,
            "instance": placement.instance,
            "cluster": placement.cluster,
            "applications": placement.applications,
            "moving": placement.moving.is_some(),
            "movingTo": placement.moving,
        })
    }
}
