//! Units of Applications: their status is written to rows, and edits by others are corrected.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::Selection;
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::{Question, View};
use switchboard_object::causes::error_chain;
use switchboard_sql::{Filter, RowChange, RowKey};

use super::application_cache::ApplicationFingerprint;
use super::orphans::{self, MoveHold};
use crate::agent::{APPLICATIONS_NAME, Agent};
use crate::argocd::DATABASE_ID;
use crate::deployment::application::{self, corrected};
use crate::deployment::status;
use crate::error::ServiceError;
use crate::flow::KubernetesWrite;
use crate::ids::{OperationId, OperationResource, Uid};
use crate::moves::resume_object;
use crate::operation::agent::{self, AgentStep};
use crate::operation::{self, OperationRequest};
use crate::request::{self, stamp, text};
use crate::resources::{APPLICATIONS, NAMESPACES};
use crate::rows::{Application, ApplicationState};
use crate::store::run_blocking_if_large;
use crate::writes::mutation;
use crate::{random_id, related_rows};

/// Delay until a corrected Application is checked again.
const CORRECTION_RECHECK_DELAY: Duration = Duration::from_secs(2);

/// Delay until an Application held by a move is checked again. The move may be deleted without an event.
const MOVE_RECHECK_DELAY: Duration = Duration::from_secs(60);

/// Operator of Applications.
#[derive(Clone)]
pub struct Applications(pub Agent);

/// Request of a unit.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApplicationRequest {
    now: String,
    stamp: String,
    namespace: String,
    name: String,
    object: Option<Value>,
    /// Uid of the namespace, once it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace_uid: Option<String>,
}

/// Response to a unit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApplicationResponse {
    #[serde(flatten)]
    plan: Plan,
    /// Whether the Application had no row for the grace period. The unit then repeats the request with the namespace's
    /// uid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_orphan: bool,
}

/// Relation of an Application to its row.
enum RowMatch {
    /// The Application matches its row.
    Matches,
    /// No row has the Application in this namespace. With the namespace's uid in the database, and whether the row
    /// belongs to another Argo CD instance. In that case two instances deploy the same, and no grace period applies.
    Orphan(Uid, bool),
    /// Any other relation.
    Other,
}

impl Question for ApplicationRequest {
    type Answer = ApplicationResponse;
    const KIND: &'static str = "gitops-application";
}

impl Operator for Applications {
    fn name(&self) -> &str {
        APPLICATIONS_NAME
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::from([AccessRule::every(&NAMESPACES).on(ClusterType::Management)]),
            outputs: BTreeSet::from([AccessRule::every(&APPLICATIONS).on(ClusterType::Management)]),
            service_account: None,
            units: Units::Each {
                cluster_type: ClusterType::Management,
                resource: APPLICATIONS,
                selection: Selection::all().with_labels(DATABASE_ID),
            },
        }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let object = view.on(ClusterType::Management).get(&APPLICATIONS, unit.namespace(), unit.name())?;
        let mut request = ApplicationRequest {
            now: view.now().to_string(),
            stamp: stamp(view),
            namespace: unit.namespace().to_string(),
            name: unit.name().to_string(),
            object: object.map(|object| object.value()),
            namespace_uid: None,
        };
        let query = |request: &ApplicationRequest| {
            view.ask(request.clone(), |request| self.call(request)).map_err(DecideError::Failed)
        };
        let response = query(&request)?;
        if !response.is_orphan {
            return Ok(response.plan);
        }
        let namespace = view.on(ClusterType::Management).get(&NAMESPACES, "", unit.namespace())?;
        request.namespace_uid =
            Some(namespace.map(|namespace| text(&namespace.value(), "/metadata/uid")).unwrap_or_default());
        Ok(query(&request)?.plan)
    }
}

impl Applications {
    fn call(&self, request: ApplicationRequest) -> Result<ApplicationResponse, String> {
        let fingerprint = request.object.as_ref().and_then(ApplicationFingerprint::of);
        let known = self.0.application_cache().is_known(fingerprint.as_ref());
        match known {
            Ok(()) => Ok(ApplicationResponse::default()),
            Err(invalidations) => self.query_rows(request, fingerprint, invalidations),
        }
    }

    /// Queries the database. An Application that matches its row is cached.
    fn query_rows(
        &self,
        request: ApplicationRequest,
        fingerprint: Option<ApplicationFingerprint>,
        invalidations: u64,
    ) -> Result<ApplicationResponse, String> {
        let (agent, request) = (self.0.clone(), Arc::new(request));
        let shared_request = Arc::clone(&request);
        let settled =
            async move || agent.store().transact(async |view| decide_on(&agent, view, &shared_request).await).await;
        let (plan, row_match) = self.0.store().block_on(settled)?;
        if let RowMatch::Orphan(place, is_elsewhere) = row_match {
            let grace = if is_elsewhere { Duration::ZERO } else { self.0.orphan_grace() };
            return self.release_orphan(&request, &place, grace);
        }
        self.0.application_cache().clear_orphan(&request.namespace, &request.name);
        if let Some(fingerprint) = fingerprint.filter(|_| matches!(row_match, RowMatch::Matches)) {
            self.0.application_cache().store(fingerprint, invalidations);
        }
        Ok(ApplicationResponse { plan, is_orphan: false })
    }

    /// Releases an Application that had no row for the grace period. Its deployed resources stay.
    ///
    /// The namespace's uid is compared because a namespace of the same name may belong to another cluster, with
    /// Applications of another database.
    fn release_orphan(
        &self,
        request: &ApplicationRequest,
        place: &Uid,
        grace: Duration,
    ) -> Result<ApplicationResponse, String> {
        let now = request::now(&request.now, &request.stamp).map_err(|error| error_chain(&error))?.timestamp;
        let Some(since) = self.0.application_cache().orphan_since(&request.namespace, &request.name, now) else {
            return Ok(ApplicationResponse {
                plan: Plan::nothing()
                    .waiting("other Applications without a row to be deleted")
                    .requeue_after(self.0.orphan_grace()),
                is_orphan: false,
            });
        };
        let left = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX) - now.since_ms(since);
        if let Some(left) = u64::try_from(left).ok().filter(|left| *left > 0) {
            let plan = Plan::nothing().waiting("the row of the Application").requeue_after(Duration::from_millis(left));
            return Ok(ApplicationResponse { plan, is_orphan: false });
        }
        let (Some(found), Some(object)) = (&request.namespace_uid, &request.object) else {
            return Ok(ApplicationResponse { plan: Plan::nothing(), is_orphan: true });
        };
        let mut plan = Plan::ordered();
        if found == place.as_str()
            && let AgentStep::Write(writes) = agent::release_applications(std::slice::from_ref(object))
        {
            let (namespace, name) = (&request.namespace, &request.name);
            tracing::warn!(namespace, "deleting Application {name} but not its resources: no row refers to it");
            plan.mutations.extend(writes.into_iter().filter_map(|w| mutation(w, None, ClusterType::Management)));
        }
        Ok(ApplicationResponse { plan, is_orphan: false })
    }
}

/// Decides what to do about an Application.
async fn decide_on(
    agent: &Agent,
    view: &mut switchboard_sql::LedgerView,
    request: &ApplicationRequest,
) -> Result<(Vec<RowChange>, (Plan, RowMatch)), ServiceError> {
    let labelled: Option<Application> = match request.object.as_ref().and_then(application::row_of) {
        Some(id) => view.get(&RowKey::from(id)).await?,
        None => None,
    };
    let found = match labelled.filter(|row| row.name == request.name) {
        Some(row) => Some(row),
        // An Application that was deleted, or whose label was removed or changed, is found by its name.
        None => view.list(&Filter::all().is("name", request.name.as_str())).await?.pop(),
    };
    let move_hold = match &request.object {
        Some(object) => orphans::move_hold(view, object).await?,
        None => MoveHold::Free,
    };
    let held = || Plan::nothing().waiting("the move to finish").requeue_after(MOVE_RECHECK_DELAY);
    // A status reported by another Argo CD instance is ignored.
    let at = match &found {
        Some(row) => agent.instance(view, &row.instance).await?,
        None => None,
    };
    let Some(row) = found.as_ref().filter(|_| at.is_some_and(|one| one.namespace == request.namespace)) else {
        // A move between the instances may be in progress.
        let is_moving = match &found {
            Some(row) => orphans::is_moving(view, row).await?,
            None => false,
        };
        if move_hold == MoveHold::Active || is_moving {
            return Ok((vec![], (held(), RowMatch::Other)));
        }
        return Ok((vec![], handle_orphan(agent, view, request, move_hold, found.is_some()).await?));
    };
    let mut changes = Vec::new();
    if let Some(status) = request.object.as_ref().map(|object| &object["status"]).filter(|status| status.is_object()) {
        changes.extend(status_change(view, row, status).await?);
    }
    let plan = match (move_hold, &request.object) {
        (MoveHold::Active, _) => held(),
        (MoveHold::Stale, Some(object)) => resume(object),
        _ => request_correction(view, row, request, &mut changes).await?,
    };
    let row_match = if plan == Plan::nothing() { RowMatch::Matches } else { RowMatch::Other };
    Ok((changes, (plan, row_match)))
}

/// Handles an Application that no row has in this namespace. While an Operation to remove or release it is open, it
/// belongs to that Operation and its reconciliation is resumed. An Application that is being deleted is left alone.
async fn handle_orphan(
    agent: &Agent,
    view: &mut switchboard_sql::LedgerView,
    request: &ApplicationRequest,
    move_hold: MoveHold,
    is_elsewhere: bool,
) -> Result<(Plan, RowMatch), ServiceError> {
    let left_alone = (Plan::nothing(), RowMatch::Other);
    let Some(object) = request.object.as_ref().filter(|object| object["metadata"]["deletionTimestamp"].is_null())
    else {
        return Ok(left_alone);
    };
    Ok(match orphans::pending_at(agent, view, &request.namespace, object).await? {
        Some((place, false)) => (Plan::nothing(), RowMatch::Orphan(place, is_elsewhere)),
        Some((_, true)) if move_hold == MoveHold::Stale => (resume(object), RowMatch::Other),
        _ => left_alone,
    })
}

/// Resumes the reconciliation that a move paused.
fn resume(object: &Value) -> Plan {
    let mut plan = Plan::ordered();
    plan.mutations.extend(mutation(
        KubernetesWrite::Update(resume_object(object.clone())),
        None,
        ClusterType::Management,
    ));
    plan
}

/// Returns the change of the stored status, if there is one. The time of the comparison is ignored.
async fn status_change(
    view: &mut switchboard_sql::LedgerView,
    row: &Application,
    status: &Value,
) -> Result<Option<RowChange>, ServiceError> {
    let before: Option<ApplicationState> = view.get(&RowKey::from(&row.id)).await?;
    let before = before.and_then(|before| before.status);
    let (size, status) = (before.as_ref().map_or(0, Vec::len), status.clone());
    let packed = run_blocking_if_large(size, move || {
        match before.is_some_and(|before| status::is_unchanged(&before, &status)) {
            true => Ok(None),
            false => status::pack(&status).map(Some),
        }
    });
    let now = packed.await?.map(|status| ApplicationState { application: row.id.clone(), status: Some(status) });
    Ok(now.as_ref().map(RowChange::put))
}

/// Requests a correction if an Application was edited or deleted.
async fn request_correction(
    view: &mut switchboard_sql::LedgerView,
    row: &Application,
    request: &ApplicationRequest,
    changes: &mut Vec<RowChange>,
) -> Result<Plan, ServiceError> {
    let is_right = match &request.object {
        Some(object) if object["metadata"]["deletionTimestamp"].is_null() => {
            corrected(object, row).map_or(true, |wrong| wrong.is_none())
        }
        // The Application is created again after its deletion.
        Some(_) => true,
        None => row.environment.is_none(),
    };
    if is_right {
        return Ok(Plan::nothing());
    }
    let Some(owner) = related_rows::owner_of(view, &row.id).await? else { return Ok(Plan::nothing()) };
    let wish = OperationRequest {
        instance: &row.instance,
        resource: OperationResource::Application,
        resource_id: row.id.as_str(),
        owner: &owner.user,
    };
    let operations = related_rows::operations(view, row.id.as_str()).await?;
    let now = request::now(&request.now, &request.stamp)?.timestamp;
    if !operations.iter().any(related_rows::is_open) {
        changes.extend(operation::request(&operations, &wish, || OperationId::from(random_id::new()), now));
    }
    // The agent may have read the Application before the edit, so it is checked again.
    Ok(Plan::nothing().waiting("the correction of the Application").requeue_after(CORRECTION_RECHECK_DELAY))
}
