//! Sync run: one sync of a deployment to a revision.

pub mod argocd_operation;
pub mod kind;
pub(crate) mod operator;

use serde_json::{Value, json};
use switchboard_sql::RowChange;

use crate::deployment::kind::SyncMode;
use crate::flow::{DecisionTime, KubernetesWrite, ReconcileResult, WriteTarget};
use crate::ids::{
    ApiRelation, ApiResource, DesiredState, OperationId, OperationResource, OperationState, SyncOperationId,
};
use crate::kinds::condition::{self, ConditionStatus, DeploymentCondition, ERROR_OCCURRED, UNKNOWN_ERROR};
use crate::kinds::{self, GitOpsDeployment, SyncRun};
use crate::operation::{self, OperationRequest, STOP_PREFIX};
use crate::rows::{ApiToDatabase, Application, ClusterUser, Operation, SyncOperation};
use crate::sync_run::kind::{KIND, NAME_IMMUTABLE, REVISION_IMMUTABLE, SyncRunStatus, automated_not_allowed};
use crate::tenant::TenantNamespace;

/// Error message for a missing Application, the same as the agent's.
pub(crate) const NO_APPLICATION: &str = "the Application does not exist";

/// Input of a decision about a sync run.
pub struct SyncRunInput<'a> {
    /// Current time.
    pub now: DecisionTime<'a>,
    /// Namespace of the tenant.
    pub namespace: &'a TenantNamespace,
    /// Tenant.
    pub user: &'a ClusterUser,
    /// Resource; `None` if it is deleted.
    pub run: Option<&'a SyncRun>,
    /// Rows of the run.
    pub rows: Option<&'a SyncRunRows>,
    /// Deployment that the run names, if it exists.
    pub deployment: Option<&'a GitOpsDeployment>,
    /// Application of that deployment or of the row.
    pub application: Option<&'a Application>,
    /// Whether an earlier run of the deployment is unfinished.
    pub is_behind_another: bool,
    /// Operations about the row.
    pub operations: &'a [Operation],
}

/// Rows of a sync run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncRunRows {
    /// Mapping from the resource to the row.
    pub mapping: ApiToDatabase,
    /// Row of the sync.
    pub sync: SyncOperation,
}

/// Decides on the rows and the status of a sync run.
///
/// # Guarantees
/// - Runs of one deployment are executed one after another.       // test: guarantees_runs_are_executed_one_after_another
/// - A run whose deployment is missing starts when it appears.    // test: guarantees_a_run_waits_for_its_deployment
/// - The result of a run is kept as long as its deployment.       // test: guarantees_the_result_of_a_run_is_kept
/// - A run is owned by its deployment, and deleted with it.       // test: guarantees_a_run_is_owned_by_its_deployment
pub fn decide(input: &SyncRunInput<'_>, id: impl FnMut() -> String) -> ReconcileResult {
    let mut decision = ReconcileResult::default();
    let live = input.run.filter(|run| !run.metadata.is_deleted());
    match (live, input.rows) {
        (None, Some(known)) => stop(input, known, &mut decision),
        (None, None) => {}
        (Some(run), None) => begin(input, run, id, &mut decision),
        (Some(run), Some(known)) => update(input, run, known, id, &mut decision),
    }
    if let (Some(run), Some(deployment)) = (live, input.deployment) {
        add_owner(run, deployment, &mut decision);
    }
    decision
}

/// Makes the deployment the owner of a run, unless a deployment owns it already.
fn add_owner(run: &SyncRun, deployment: &GitOpsDeployment, decision: &mut ReconcileResult) {
    let is_deployment = |owner: &Value| owner["kind"] == crate::deployment::kind::KIND;
    if deployment.metadata.is_deleted() || run.metadata.owner_references.iter().any(is_deployment) {
        return;
    }
    let owner = json!({
        "apiVersion": kinds::API_VERSION, "kind": crate::deployment::kind::KIND,
        "name": deployment.metadata.name, "uid": deployment.metadata.uid,
    });
    let owners: Vec<&Value> = run.metadata.owner_references.iter().chain([&owner]).collect();
    let patch = json!({"metadata": {"ownerReferences": owners}});
    decision.writes.push(KubernetesWrite::Merge(target(run), patch));
}

fn target(run: &SyncRun) -> WriteTarget {
    WriteTarget {
        api_version: kinds::API_VERSION,
        kind: KIND,
        namespace: run.metadata.namespace.clone(),
        name: run.metadata.name.clone(),
    }
}

fn begin(input: &SyncRunInput<'_>, run: &SyncRun, mut id: impl FnMut() -> String, decision: &mut ReconcileResult) {
    // Reading the missing deployment makes its creation trigger this unit, so no list of waiting runs can be lost in a
    // restart.
    let Some(deployment) = input.deployment.filter(|deployment| !deployment.metadata.is_deleted()) else { return };
    if deployment.mode() == Some(SyncMode::Automated) {
        return report(run, Err(&automated_not_allowed(&run.metadata.name)), input.now, decision);
    }
    if let Err(said) = run.validate() {
        return report(run, Err(&said), input.now, decision);
    }
    // Without an Application there is nothing to sync, and the deployment has the reason.
    if input.application.is_none()
        && let Some(why) = error_of(deployment)
    {
        return report(run, Err(why), input.now, decision);
    }
    let Some(application) = input.application.filter(|_| !input.is_behind_another) else { return };
    let sync = SyncOperation {
        id: SyncOperationId::from(id()),
        application: Some(application.id.clone()),
        deployment_name: run.spec.gitops_deployment_name.clone(),
        // Without a revision, the deployment's is used. managed-gitops rejects such a run.
        revision: run.spec.revision_id.clone(),
        desired_state: DesiredState::Running,
        created_on: input.now.timestamp,
    };
    let mapping = ApiToDatabase {
        resource: ApiResource::SyncRun,
        resource_uid: run.metadata.id(),
        name: run.metadata.name.clone(),
        namespace: input.namespace.name.clone(),
        namespace_uid: input.namespace.uid.clone(),
        relation: ApiRelation::SyncOperation,
        relation_key: sync.id.as_str().to_string(),
    };
    decision.changes.extend([RowChange::insert(&sync), RowChange::insert(&mapping)]);
    // A successful run is not repeated if its rows were lost, because that could be a step back. The result of a changed
    // run is unknown then.
    if !has_succeeded(run) && !was_changed(run) {
        request_sync(input, application, &sync, id, decision);
    }
}

fn request_sync(
    input: &SyncRunInput<'_>,
    application: &Application,
    sync: &SyncOperation,
    mut id: impl FnMut() -> String,
    decision: &mut ReconcileResult,
) {
    let row =
        operation::row(&operation_request(input, application, sync), OperationId::from(id()), input.now.timestamp);
    decision.changes.push(RowChange::insert(&row));
}

/// Returns the error that the deployment reports.
fn error_of(deployment: &GitOpsDeployment) -> Option<&str> {
    let holds = |one: &&DeploymentCondition| one.r#type == ERROR_OCCURRED && one.status == ConditionStatus::True;
    deployment.status.conditions.iter().find(holds).map(|one| one.message.as_str())
}

/// Returns the run's error condition.
fn reported(run: &SyncRun) -> Option<&DeploymentCondition> {
    run.status.conditions.iter().find(|one| one.r#type == ERROR_OCCURRED)
}

/// Whether the condition records a success. The rows may be deleted.
fn has_succeeded(run: &SyncRun) -> bool {
    reported(run).is_some_and(|one| one.status == ConditionStatus::False)
}

/// Whether the condition reports a change of the spec, so that the run was started with another one.
fn was_changed(run: &SyncRun) -> bool {
    let says = |one: &DeploymentCondition| [NAME_IMMUTABLE, REVISION_IMMUTABLE].contains(&one.message.as_str());
    reported(run).is_some_and(|one| one.status == ConditionStatus::True && says(one))
}

fn update(
    input: &SyncRunInput<'_>,
    run: &SyncRun,
    known: &SyncRunRows,
    id: impl FnMut() -> String,
    decision: &mut ReconcileResult,
) {
    let about = input.operations.iter().filter(|row| row.resource_id == known.sync.id.as_str());
    let last = about.max_by_key(|row| row.created_on);
    let changed = if run.spec.gitops_deployment_name != known.sync.deployment_name {
        Some(NAME_IMMUTABLE)
    } else {
        (run.spec.revision_id != known.sync.revision).then_some(REVISION_IMMUTABLE)
    };
    if let Some(said) = changed {
        let went_well = last.map_or_else(|| has_succeeded(run), |row| row.state == OperationState::Completed);
        if went_well {
            keep_success(known, decision);
        }
        return report(run, Err(said), input.now, decision);
    }
    match last {
        Some(row) if row.state == OperationState::Failed => {
            let why = row.human_readable_state.as_deref().unwrap_or(UNKNOWN_ERROR);
            report(run, Err(why), input.now, decision);
        }
        Some(row) if operation::is_overdue(row, input.now.timestamp) => {
            report(run, Err(UNKNOWN_ERROR), input.now, decision);
        }
        // An error from before the start no longer applies.
        Some(row) if row.state != OperationState::Completed => clear_error(run, decision),
        Some(_) => report(run, Ok(()), input.now, decision),
        // After the Operation is deleted, the condition is the only record of the result, or the row if a change
        // replaced the condition.
        None if has_succeeded(run) || is_over(known) => report(run, Ok(()), input.now, decision),
        None if reported(run).is_some() => {}
        // The Operation was lost in a restore. If the sync was started, the agent finds it by its id and does not
        // repeat it.
        None => match input.application {
            Some(application) => request_sync(input, application, &known.sync, id, decision),
            None => report(run, Err(NO_APPLICATION), input.now, decision),
        },
    }
}

/// Records in the row that the sync has succeeded, before the error of a change replaces the condition. managed-gitops
/// reads the row as well, and does nothing for a finished sync that should not run.
fn keep_success(known: &SyncRunRows, decision: &mut ReconcileResult) {
    if !is_over(known) {
        let over = SyncOperation { desired_state: DesiredState::Terminated, ..known.sync.clone() };
        decision.changes.push(RowChange::update(&known.sync, &over));
    }
}

/// Whether the sync of an existing resource should not run any more: it has succeeded.
fn is_over(known: &SyncRunRows) -> bool {
    known.sync.desired_state == DesiredState::Terminated
}

/// Stops the sync of a deleted resource, and deletes its rows when it has stopped.
fn stop(input: &SyncRunInput<'_>, known: &SyncRunRows, decision: &mut ReconcileResult) {
    let forget = || [RowChange::delete(&known.mapping), RowChange::delete(&known.sync)];
    let Some(application) = input.application else {
        return decision.changes.extend(forget());
    };
    let id = OperationId::from(format!("{STOP_PREFIX}{}", known.mapping.resource_uid));
    let stopping = input.operations.iter().find(|row| row.id == id);
    match (known.sync.desired_state, stopping) {
        (DesiredState::Running, _) => {
            let ended = SyncOperation { desired_state: DesiredState::Terminated, ..known.sync.clone() };
            decision.changes.push(RowChange::update(&known.sync, &ended));
            let wish = operation_request(input, application, &ended);
            decision.changes.push(RowChange::put(&operation::row(&wish, id, input.now.timestamp)));
        }
        (DesiredState::Terminated, Some(row))
            if row.state != OperationState::Completed && row.state != OperationState::Failed => {}
        (DesiredState::Terminated, _) => decision.changes.extend(forget()),
    }
}

fn operation_request<'a>(
    input: &'a SyncRunInput<'_>,
    application: &'a Application,
    sync: &'a SyncOperation,
) -> OperationRequest<'a> {
    OperationRequest {
        instance: &application.instance,
        resource: OperationResource::SyncOperation,
        resource_id: sync.id.as_str(),
        owner: &input.user.id,
    }
}

/// Removes the error condition of a run in progress.
fn clear_error(run: &SyncRun, decision: &mut ReconcileResult) {
    let mut status = run.status.clone();
    status.conditions.retain(|one| one.r#type != ERROR_OCCURRED);
    write(run, &status, decision);
}

fn report(run: &SyncRun, result: Result<(), &str>, now: DecisionTime<'_>, decision: &mut ReconcileResult) {
    let mut status = run.status.clone();
    // The condition of a successful run is empty.
    let (holds, reason, message) = match result {
        Ok(()) => (ConditionStatus::False, "", ""),
        Err(why) => (ConditionStatus::True, ERROR_OCCURRED, why),
    };
    condition::set(&mut status.conditions, ERROR_OCCURRED, holds, reason, message, now.text);
    for condition in &mut status.conditions {
        // The kind does not have this field.
        condition.last_probe_time = None;
    }
    write(run, &status, decision);
}

fn write(run: &SyncRun, status: &SyncRunStatus, decision: &mut ReconcileResult) {
    if *status != run.status {
        decision.writes.push(KubernetesWrite::Status(target(run), json!(status)));
    }
}

#[cfg(test)]
mod tests;
