//! Objects that an Argo CD instance needs beside its Applications, according to the rows: Secrets of environments and
//! repositories, and projects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_kernel::plan::Plan;
use switchboard_sql::{Filter, LedgerView, Row, RowChange, RowKey};

use crate::agent::{APPLICATIONS_NAME, Agent, PROJECTS_NAME, SECRETS_NAME};
use crate::argocd::operator::{ObjectRequest, ObjectResponse};
use crate::argocd::{SupportingObject, credential_name, environment_name, project_name, supporting_object_of};
use crate::credential::repository_secret;
use crate::error::ServiceError;
use crate::ids::{EngineInstanceId, OperationId, OperationResource, UserId};
use crate::operation::step::{cluster_secret, is_elsewhere, is_used_at};
use crate::operation::{self, OperationRequest};
use crate::rows::fleet::{Move, Placement};
use crate::rows::{Application, ClusterAccess, ClusterUser, EngineInstance, ManagedEnvironment, RepositoryCredentials};
use crate::tenant::project;
use crate::{moves, random_id, related_rows, request};

/// Rows per query.
const PAGE: u32 = 1000;

/// Desired state of an object, according to the rows.
enum DesiredObject {
    /// No row needs the object here: it has none, or it belongs to other instances, and its placement or a cancelled
    /// move left it behind.
    Orphaned,
    /// The rows do not determine the instance, or a move is in progress.
    Undecided,
    /// The object should be like this. With the tenant and the row for an Operation that requests it.
    Desired(Value, UserId, OperationResource, String),
}

pub(crate) async fn decide_on(
    view: &mut LedgerView,
    request: &ObjectRequest,
    agent: &Agent,
) -> Result<(Vec<RowChange>, ObjectResponse), ServiceError> {
    let nothing = || (vec![], ObjectResponse::default());
    let found = related_rows::instance_in(view, &request.namespace, &agent.0.cluster).await?;
    let Some(instance) = found else { return Ok(nothing()) };
    let Some(thing) = supporting_object_of(&request.name) else { return Ok(nothing()) };
    let (wanted, owner, resource, id) = match desired_object(view, &thing, &instance, agent.is_isolated()).await? {
        DesiredObject::Desired(wanted, owner, resource, id) => (wanted, owner, resource, id),
        DesiredObject::Undecided => return Ok(nothing()),
        DesiredObject::Orphaned => {
            let is_orphan = request.object.as_ref().is_some_and(|object| is_ours(object, &thing));
            return Ok((vec![], ObjectResponse { is_orphan, ..ObjectResponse::default() }));
        }
    };
    let same = if matches!(thing, SupportingObject::Project(_)) { project::same } else { repository_secret::same };
    if request.object.as_ref().is_some_and(|live| same(live, &wanted)) {
        return Ok(nothing());
    }
    let operations = related_rows::operations(view, &id).await?;
    let mut changes = Vec::new();
    if !operations.iter().any(|row| related_rows::is_open(row) && row.instance == instance.id) {
        let wish = OperationRequest { instance: &instance.id, resource, resource_id: &id, owner: &owner };
        let now = request::now(&request.now, &request.stamp)?.timestamp;
        changes.extend(operation::request(&operations, &wish, || OperationId::from(random_id::new()), now));
    }
    Ok((changes, ObjectResponse { plan: Plan::nothing().waiting("the correction of the object"), is_orphan: false }))
}

/// Whether the object's own metadata marks it as created by the service.
fn is_ours(object: &Value, thing: &SupportingObject) -> bool {
    let meta = &object["metadata"];
    let says = match thing {
        SupportingObject::Environment(_) | SupportingObject::Credential(_) => {
            &meta["labels"][crate::argocd::DATABASE_ID]
        }
        SupportingObject::Project(_) => &meta["annotations"]["username"],
    };
    *says == *thing.id() && meta["deletionTimestamp"].is_null()
}

async fn desired_object(
    view: &mut LedgerView,
    thing: &SupportingObject,
    instance: &EngineInstance,
    isolated: bool,
) -> Result<DesiredObject, ServiceError> {
    let namespace = instance.namespace.as_str();
    Ok(match thing {
        SupportingObject::Environment(id) => {
            if view.get::<ManagedEnvironment>(&RowKey::from(id)).await?.is_none() {
                return Ok(DesiredObject::Orphaned);
            }
            let accesses: Vec<ClusterAccess> =
                view.list(&Filter::all().is("clusteraccess_managed_environment_id", id)).await?;
            let user = accesses.first().map(|access| access.user.clone());
            let Some(access) = accesses.into_iter().find(|access| access.instance == instance.id) else {
                return match user {
                    Some(user) => desired_at_source(view, &user, &instance.id).await,
                    None => Ok(DesiredObject::Undecided),
                };
            };
            // A tenant's own namespace has no Secret.
            let is_cluster = related_rows::name_of_environment(view, id.as_str()).await?.is_some();
            if !is_cluster || is_moving(view, &access.user).await? {
                return Ok(DesiredObject::Undecided);
            }
            match cluster_secret(view, id, namespace, isolated).await? {
                Some(wanted) => DesiredObject::Desired(
                    wanted,
                    access.user,
                    OperationResource::ManagedEnvironment,
                    id.as_str().to_string(),
                ),
                None => DesiredObject::Undecided,
            }
        }
        SupportingObject::Credential(id) => {
            let Some(row) = view.get::<RepositoryCredentials>(&RowKey::from(id)).await? else {
                return Ok(DesiredObject::Orphaned);
            };
            if !is_used_at(view, &row, &instance.id).await? {
                return desired_at_source(view, &row.user, &instance.id).await;
            }
            if is_moving(view, &row.user).await? {
                return Ok(DesiredObject::Undecided);
            }
            let wanted = repository_secret::object(&row, namespace, isolated);
            DesiredObject::Desired(wanted, row.user, OperationResource::RepositoryCredentials, id.as_str().to_string())
        }
        SupportingObject::Project(user) => {
            if view.get::<ClusterUser>(&RowKey::from(user)).await?.is_none() {
                return Ok(DesiredObject::Orphaned);
            }
            if !isolated {
                return Ok(DesiredObject::Undecided);
            }
            if is_elsewhere(view, user, &instance.id).await? {
                return desired_at_source(view, user, &instance.id).await;
            }
            if is_moving(view, user).await? {
                return Ok(DesiredObject::Undecided);
            }
            let of_user = Filter::all().is("clusteraccess_user_id", user);
            let accesses: Vec<ClusterAccess> = view.list(&of_user).await?;
            if !accesses.iter().any(|access| access.instance == instance.id) {
                return Ok(DesiredObject::Undecided);
            }
            match crate::tenant::desired_project::desired_project(view, user, namespace, true).await? {
                // The Operation of a project refers to the tenant's row.
                Some(wanted) => DesiredObject::Desired(
                    wanted,
                    user.clone(),
                    OperationResource::Application,
                    user.as_str().to_string(),
                ),
                None => DesiredObject::Undecided,
            }
        }
    })
}

/// Returns whether an object that only other instances need is orphaned. During a move from or to this instance the
/// object belongs to the move.
async fn desired_at_source(
    view: &mut LedgerView,
    user: &UserId,
    at: &EngineInstanceId,
) -> Result<DesiredObject, ServiceError> {
    let moves: Vec<Move> = view.list(&Filter::all().is("move_user_id", user)).await?;
    let is_carried = moves.iter().any(|row| moves::is_open(row) && (row.source == *at || row.target == *at));
    Ok(if is_carried { DesiredObject::Undecided } else { DesiredObject::Orphaned })
}

/// Whether a placement of the tenant is being moved. Only the move changes its objects then.
async fn is_moving(view: &mut LedgerView, user: &UserId) -> Result<bool, ServiceError> {
    let placements: Vec<Placement> = view.list(&Filter::all().is("placement_user_id", user)).await?;
    Ok(placements.iter().any(|placement| placement.moving.is_some()))
}

impl Agent {
    /// Enqueues every object that the rows demand. Objects that were deleted during a downtime cause no event.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) async fn enqueue_everything(&self, handle: &Handle) -> Result<(), ServiceError> {
        let mut view = self.store().ledger().view().await?;
        let mut places: BTreeMap<EngineInstanceId, String> = BTreeMap::new();
        for instance in view.list::<EngineInstance>(&Filter::all()).await? {
            if self.is_local(&mut view, &instance).await? {
                places.insert(instance.id, instance.namespace);
            }
        }
        let unit = |instance: &EngineInstanceId, name: &str| places.get(instance).map(|at| Unit::object(at, name));
        let mut units: BTreeMap<&str, BTreeSet<Unit>> = BTreeMap::new();
        for row in all::<Application>(&mut view).await? {
            units.entry(APPLICATIONS_NAME).or_default().extend(unit(&row.instance, &row.name));
        }
        let accesses: Vec<ClusterAccess> = all(&mut view).await?;
        for access in &accesses {
            let environment = unit(&access.instance, &environment_name(&access.environment));
            units.entry(SECRETS_NAME).or_default().extend(environment);
            units.entry(PROJECTS_NAME).or_default().extend(unit(&access.instance, &project_name(&access.user)));
        }
        for row in all::<RepositoryCredentials>(&mut view).await? {
            let used = accesses.iter().filter(|access| access.user == row.user).map(|access| &access.instance);
            let name = credential_name(&row.id);
            let used_units = used.chain([&row.instance]).filter_map(|instance| unit(instance, &name));
            units.entry(SECRETS_NAME).or_default().extend(used_units);
        }
        view.end();
        for (operator, units) in units {
            // A stopped kernel lists everything when it starts again.
            let _ = handle.enqueue(OperatorName::new(operator), units.into_iter().collect()).await;
        }
        Ok(())
    }
}

async fn all<R: Row>(view: &mut LedgerView) -> Result<Vec<R>, ServiceError> {
    let mut rows: Vec<R> = Vec::new();
    let mut page = Filter::all().limit(PAGE);
    loop {
        let found: Vec<R> = view.list(&page).await?;
        let Some(last) = found.last() else { return Ok(rows) };
        page = Filter::all().limit(PAGE).after(last.key());
        rows.extend(found);
    }
}
