//! Units of Operations, triggered by a row or by an Operation resource.
//!
//! A unit sends two requests: for the names of the row's objects, and with these objects for the plan. The names are
//! cached for the next run. If the rows demand other objects by then, the unit reads again.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::{Mutation, Plan, WriteOp};
use switchboard_kernel::resource::Selection;
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::{Question, View};
use switchboard_sql::RowChange;

use crate::agent::{Agent, OPERATIONS_NAME};
use crate::argocd::DATABASE_ID;
use crate::deployment::application_cache::ApplicationFingerprint;
use crate::deployment::orphans::{self, MoveHold};
use crate::error::ServiceError;
use crate::flow::KubernetesWrite;
use crate::ids::{OperationId, OperationState};
use crate::operation::agent::AgentStep;
use crate::operation::{begin, finish, notify};
use crate::request::{self, secret, stamp, text};
use crate::resources::{APPLICATIONS, OPERATIONS, PROJECTS, SECRETS};
use crate::rows::Operation;
use crate::writes::mutation;
use crate::{placement, related_rows};

/// Maximum number of reads of a run because the rows demand other objects.
const MAX_READS: usize = 8;

/// Delay until a started Operation is checked again without an event: a write that changes nothing causes none.
const OPEN_RECHECK_DELAY: Duration = Duration::from_secs(60);

/// Delay until an Operation held by a move is checked again.
const MOVE_RECHECK_DELAY: Duration = Duration::from_millis(500);

/// Operator of Operations.
#[derive(Clone)]
pub struct Operations(pub Agent);

/// Request of a unit.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationRequest {
    now: String,
    stamp: String,
    /// Namespace of the Operation resource.
    pub(crate) namespace: String,
    /// Name of the Operation resource, which may be missing.
    name: String,
    /// Whether the Operation resource exists.
    has_object: bool,
    /// Id of the row.
    pub(crate) operation: String,
    /// Objects of the row, with their names; `None` until the names are known.
    pub(crate) live: Option<(LiveObjects, ObjectNames)>,
}

/// Current objects.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LiveObjects {
    /// Applications.
    pub applications: Vec<Value>,
    /// Project of the tenant.
    pub project: Option<Value>,
    /// Number of Applications in the project, including those being deleted. Only set if the project may be deleted.
    pub in_project: usize,
    /// Names of Secrets.
    pub secrets: Vec<Value>,
}

impl LiveObjects {
    /// Returns the Secret with this name.
    pub fn secret(&self, name: &str) -> Option<Value> {
        self.secrets.iter().find(|secret| secret["metadata"]["name"] == name).cloned()
    }
}

/// Response to a unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OperationResponse {
    /// The unit must read these objects and request again.
    ReadObjects(ObjectNames),
    /// Plan of the unit.
    Plan(Plan),
}

/// Names of the objects of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectNames {
    /// Names of Applications.
    pub applications: Vec<String>,
    /// Row label of the Applications, if no row has their names.
    pub labelled: Option<String>,
    /// Name of the project.
    pub project: Option<String>,
    /// Whether the project may be deleted, so that its Applications are counted.
    #[serde(default)]
    pub may_be_deleted: bool,
    /// Names of Secrets.
    pub secrets: Vec<String>,
}

impl Question for OperationRequest {
    type Answer = OperationResponse;
    const KIND: &'static str = "gitops-operation";
}

impl Operator for Operations {
    fn name(&self) -> &str {
        OPERATIONS_NAME
    }

    fn declaration(&self) -> Declaration {
        let all = [&OPERATIONS, &APPLICATIONS, &PROJECTS, &SECRETS];
        let declared: BTreeSet<AccessRule> =
            all.into_iter().map(|kind| AccessRule::every(kind).on(ClusterType::Management)).collect();
        Declaration {
            inputs: declared.clone(),
            outputs: declared,
            service_account: None,
            units: Units::Each {
                cluster_type: ClusterType::Management,
                resource: OPERATIONS,
                selection: Selection::all(),
            },
        }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let at = view.on(ClusterType::Management);
        let object = at.get(&OPERATIONS, unit.namespace(), unit.name())?;
        let said = object.as_ref().map(|object| text(&object.value(), "/spec/operationID"));
        let Some(operation) = said.or_else(|| crate::operation::kind::row_of(unit.name())) else {
            return Ok(Plan::nothing());
        };
        let mut request = OperationRequest {
            now: view.now().to_string(),
            stamp: stamp(view),
            namespace: unit.namespace().to_string(),
            name: unit.name().to_string(),
            has_object: object.is_some(),
            operation,
            live: None,
        };
        for _ in 0..MAX_READS {
            match view.ask(request.clone(), |request| self.call(request)).map_err(DecideError::Failed)? {
                OperationResponse::ReadObjects(names) => {
                    request.live = Some((read_objects(view, unit.namespace(), &names)?, names))
                }
                OperationResponse::Plan(plan) => return notify::unless_exists(plan, view),
            }
        }
        Err(DecideError::failed("its rows refer to other objects at every attempt"))
    }
}

/// Reads the objects of a row.
fn read_objects(view: &View, namespace: &str, names: &ObjectNames) -> Result<LiveObjects, DecideError> {
    let at = view.on(ClusterType::Management);
    let mut live = LiveObjects::default();
    for name in &names.applications {
        live.applications.extend(at.get(&APPLICATIONS, namespace, name)?.map(|object| object.value()));
    }
    if let Some(id) = &names.labelled {
        let selection = Selection::namespace(namespace).with_labels(&format!("{DATABASE_ID}={id}"));
        live.applications.extend(at.list(&APPLICATIONS, &selection)?.iter().map(|object| object.value()));
    }
    if let Some(name) = &names.project {
        live.project = at.get(&PROJECTS, namespace, name)?.map(|object| object.value());
        // As long as the removed Application exists, the count is not needed.
        if names.may_be_deleted && live.project.is_some() && live.applications.is_empty() {
            let all = at.list(&APPLICATIONS, &Selection::namespace(namespace))?;
            live.in_project = all.iter().filter(|object| object.value()["spec"]["project"] == **name).count();
        }
    }
    for name in &names.secrets {
        live.secrets.extend(at.get(&SECRETS, namespace, name)?.map(|object| secret(object.value())));
    }
    Ok(live)
}

/// Returns the objects of a row; none if the Operation is finished.
async fn object_names(
    view: &mut switchboard_sql::LedgerView,
    request: &OperationRequest,
) -> Result<ObjectNames, ServiceError> {
    match related_rows::operation(view, &OperationId::from(request.operation.as_str())).await? {
        Some(row) if related_rows::is_open(&row) => super::step::object_names(view, &row).await,
        _ => Ok(ObjectNames::default()),
    }
}

impl Operations {
    fn call(&self, request: OperationRequest) -> Result<OperationResponse, String> {
        // Cached names need no database worker.
        let cached_names = request.live.is_none().then(|| self.0.cached_names(&request.operation)).flatten();
        if let Some(names) = cached_names {
            return Ok(OperationResponse::ReadObjects(names));
        }
        let this = self.clone();
        self.0.store().block_on(async move || {
            Ok(match &request.live {
                None => OperationResponse::ReadObjects(this.names(&request).await?),
                Some((live, names)) => this.advance(&request, live, names).await?,
            })
        })
    }

    async fn names(&self, request: &OperationRequest) -> Result<ObjectNames, ServiceError> {
        let mut view = self.0.store().ledger().view().await?;
        let names = object_names(&mut view, request).await?;
        view.end();
        Ok(names)
    }

    async fn advance(
        &self,
        request: &OperationRequest,
        live: &LiveObjects,
        looked_at: &ObjectNames,
    ) -> Result<OperationResponse, ServiceError> {
        let invalidations = self.0.application_cache().invalidations();
        let decided = self.0.store().transact(async |view| {
            let names = object_names(view, request).await?;
            if names != *looked_at {
                return Ok((vec![], OperationResponse::ReadObjects(names)));
            }
            let (changes, plan) = self.decide_on(view, request, live).await?;
            Ok((changes, OperationResponse::Plan(plan)))
        });
        let response = decided.await?;
        let goes_on = matches!(&response, OperationResponse::Plan(plan) if plan.requeue_after.is_some() || !plan.mutations.is_empty());
        self.0.cache_names(&request.operation, goes_on.then(|| looked_at.clone()));
        if let OperationResponse::Plan(plan) = &response {
            self.cache_created(plan, invalidations);
        }
        Ok(response)
    }

    /// Caches an Application that the plan creates, so that its unit needs no query.
    fn cache_created(&self, plan: &Plan, invalidations: u64) {
        for mutation in &plan.mutations {
            if let WriteOp::Create(body) = &mutation.operation
                && mutation.resource == APPLICATIONS
                && let Some(fingerprint) = ApplicationFingerprint::of(body)
            {
                let unit = Unit::object(&mutation.namespace, &mutation.name);
                self.0.application_cache().store_created(fingerprint, unit, invalidations);
            }
        }
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_sql::LedgerView,
        request: &OperationRequest,
        live: &LiveObjects,
    ) -> Result<(Vec<RowChange>, Plan), ServiceError> {
        let now = request::now(&request.now, &request.stamp)?.timestamp;
        let row = related_rows::operation(view, &OperationId::from(request.operation.as_str())).await?;
        let delete_object = || {
            let mut plan = Plan::ordered();
            if !request.has_object {
                return plan;
            }
            plan.push(Mutation::delete(&OPERATIONS, &request.namespace, &request.name).on(ClusterType::Management));
            plan
        };
        let Some(row) = row else {
            // An Operation in a namespace that is not this database's may be for a row of another database.
            let is_ours = related_rows::instance_in(view, &request.namespace, &self.0.0.cluster).await?.is_some();
            return Ok((vec![], if is_ours { delete_object() } else { Plan::nothing() }));
        };
        let instance = related_rows::instance(view, &row.instance).await?;
        if let Some(instance) = &instance
            && !self.0.is_local(view, instance).await?
        {
            // The Operation is for the agent of another cluster.
            return Ok((vec![], Plan::nothing()));
        }
        if instance.is_none_or(|one| one.namespace != request.namespace) {
            if request.name != crate::operation::kind::name(&row.id) {
                // An Operation resource in the wrong namespace is neither handled nor deleted.
                return Ok((vec![], Plan::nothing()));
            }
            // The Operation moved to another instance with its placement; notify that instance.
            let open: Vec<Operation> = Some(row).filter(related_rows::is_open).into_iter().collect();
            let mut plan = delete_object();
            let last = std::mem::replace(&mut plan.mutations, notify::operation_objects(view, &open, false).await?);
            plan.mutations.extend(last);
            return Ok((vec![], plan));
        }
        if !related_rows::is_open(&row) {
            return Ok((vec![], delete_object()));
        }
        // A waiting Operation needs its resource: the kernel forgets a unit without an object when it has nothing to
        // write.
        let mut waits = Plan::ordered();
        if !request.has_object {
            waits.mutations = notify::operation_objects(view, std::slice::from_ref(&row), false).await?;
        }
        // During a move of the placement no Operation starts, and only the move changes its objects.
        let moves = |waits: Plan| waits.waiting("the move to finish").requeue_after(MOVE_RECHECK_DELAY);
        for object in &live.applications {
            match orphans::move_hold(view, object).await? {
                MoveHold::Free => {}
                MoveHold::Active => return Ok((vec![], moves(waits))),
                // The Application's own unit resumes it.
                MoveHold::Stale => {
                    return Ok((
                        vec![],
                        waits.waiting("Applications that a former move has paused").requeue_after(MOVE_RECHECK_DELAY),
                    ));
                }
            }
        }
        let mut started = Vec::new();
        if row.state == OperationState::Waiting {
            match placement::may_begin(super::step::placement(view, &row).await?.as_ref()) {
                Some(sure) => started.extend(sure),
                None => return Ok((vec![], moves(waits))),
            }
        }
        let step = super::step::step(view, &row, &request.namespace, live, self.0.is_isolated(), now).await?;
        let begins = step.started.clone().or_else(|| begin(&row, now));
        Ok(match step.next {
            AgentStep::Write(writes) => {
                // A deletion may find nothing to delete, and then nothing is written.
                let is_sure =
                    writes.iter().all(|write| matches!(write, KubernetesWrite::Create(_) | KubernetesWrite::Update(_)));
                let mut plan = if is_sure { Plan::ordered() } else { waits };
                plan.mutations.extend(writes.into_iter().filter_map(|w| mutation(w, None, ClusterType::Management)));
                started.extend(begins);
                (started, plan.requeue_after(OPEN_RECHECK_DELAY))
            }
            AgentStep::Wait(ms) => {
                let plan = waits.waiting("Argo CD").requeue_after(Duration::from_millis(ms));
                started.extend(begins);
                (started, plan)
            }
            AgentStep::Done(result) => {
                let about = related_rows::operations(view, &row.resource_id).await?;
                let result = match &result {
                    Ok(()) => Ok(()),
                    Err(why) => Err(why.as_str()),
                };
                started.extend(finish(&about, &row, now, result, now));
                (started, delete_object())
            }
        })
    }
}

#[cfg(test)]
mod tests;
