//! Removal of a deployment: first its rows, then the agent's objects, then the resource's finalizer.

use serde_json::json;
use switchboard_sql::RowChange;

use super::{DeploymentInput, DeploymentRows, report_error, target};
use crate::deployment::kind::FINALIZER;
use crate::flow::{KubernetesWrite, ReconcileResult};
use crate::ids::{OperationId, OperationResource, OperationState, Uid};
use crate::kinds::GitOpsDeployment;
use crate::kinds::condition::UNKNOWN_ERROR;
use crate::operation::{self, OperationRequest, REMOVAL_PREFIX};
use crate::rows::{Operation, SyncOperation};

/// Delay before a failed removal is retried.
const RETRY_REMOVAL_MS: i64 = 30 * 1000;

/// Returns the id of the Operation that removes a deployment. It is derived from the UID, so that a repeated request
/// finds the same row.
pub fn removal_id(deployment: &Uid) -> OperationId {
    OperationId::from(format!("{REMOVAL_PREFIX}{deployment}"))
}

/// Returns the id of the first removal Operation of a deployment, or `None` if the Operation is not a removal.
pub fn removal_of(id: &OperationId) -> Option<OperationId> {
    operation::removed_deployment(id).map(|deployment| removal_id(&Uid::from(deployment)))
}

/// Returns the changes that delete all rows of a deployment, in an order that keeps references valid.
pub fn delete_rows(known: &DeploymentRows) -> Vec<RowChange> {
    let mut changes: Vec<RowChange> = known.state.iter().map(RowChange::delete).collect();
    for sync in &known.syncs {
        changes.push(RowChange::update(sync, &SyncOperation { application: None, ..sync.clone() }));
    }
    changes.push(RowChange::delete(&known.mapping));
    changes.extend(known.owners.iter().map(RowChange::delete));
    changes.extend(known.application.iter().map(RowChange::delete));
    changes
}

/// Deletes all rows of a deployment and requests the removal from the agent.
pub(crate) fn remove(input: &DeploymentInput<'_>, known: &DeploymentRows, decision: &mut ReconcileResult) {
    let changes = &mut decision.changes;
    changes.extend(delete_rows(known));
    let Some(application) = &known.application else { return };
    let id = removal_id(&known.mapping.deployment_uid);
    let wish = OperationRequest {
        instance: &application.instance,
        resource: OperationResource::Application,
        resource_id: application.id.as_str(),
        // Rows of an earlier namespace with the same name belong to an earlier tenant.
        owner: known.owners.first().map_or(&input.user.id, |owner| &owner.user),
    };
    changes.push(RowChange::put(&operation::row(&wish, id, input.now.timestamp)));
}

/// Removes the finalizer of a deleted resource when the agent has removed its objects, or reports the failure.
///
/// # Guarantees
/// - A resource keeps its finalizer until the removal is known to have finished. // test: guarantees_a_lost_removal_is_requested_again
pub(crate) fn release_finalizer(
    input: &DeploymentInput<'_>,
    deleted: &GitOpsDeployment,
    decision: &mut ReconcileResult,
) {
    if !input.rows.is_empty() || !deleted.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        return;
    }
    let removal = removal_id(&deleted.metadata.id());
    let asked = input.operations.iter().filter(|row| removal_of(&row.id).as_ref() == Some(&removal));
    let left: Vec<&Operation> = asked.clone().filter(|row| row.state != OperationState::Completed).collect();
    for row in left.iter().filter(|row| row.state == OperationState::Failed) {
        retry(input, deleted, row, decision);
    }
    if asked.count() == 0 && !input.instances.is_empty() {
        // The removal never began, its failed row was deleted, or the row was lost in a restore. Only the agents know
        // the state.
        decision.changes.extend(request_on_every_instance(input, &deleted.metadata.id()));
    } else if left.is_empty() {
        let left: Vec<&String> = deleted.metadata.finalizers.iter().filter(|f| *f != FINALIZER).collect();
        decision.writes.push(KubernetesWrite::Merge(target(deleted), json!({ "metadata": { "finalizers": left } })));
    }
}

/// Reports a failed removal, and retries it after a delay.
fn retry(input: &DeploymentInput<'_>, deleted: &GitOpsDeployment, row: &Operation, decision: &mut ReconcileResult) {
    let why = row.human_readable_state.as_deref().unwrap_or(UNKNOWN_ERROR);
    let said = format!("unable to delete the resources of the GitOpsDeployment: {why}");
    report_error(deleted, &said, input.now, decision);
    if input.now.timestamp.since_ms(row.last_state_update) < RETRY_REMOVAL_MS {
        return decision.requeue_in(RETRY_REMOVAL_MS as u64);
    }
    let again = Operation {
        state: OperationState::Waiting,
        last_state_update: input.now.timestamp,
        created_on: input.now.timestamp,
        // The message of the failed attempt does not apply to the new one.
        human_readable_state: None,
        ..row.clone()
    };
    decision.changes.push(RowChange::update(row, &again));
}

/// Requests the removal from every instance, because the rows with the instance are deleted. Agents find the
/// Application by its name.
fn request_on_every_instance(input: &DeploymentInput<'_>, deployment: &Uid) -> Vec<RowChange> {
    let ask = |(at, instance)| {
        let id = match at {
            0 => removal_id(deployment),
            _ => OperationId::from(format!("{REMOVAL_PREFIX}{deployment}{}{at}", operation::COPY_SEPARATOR)),
        };
        let resource_id = deployment.as_str();
        let wish =
            OperationRequest { instance, resource: OperationResource::Application, resource_id, owner: &input.user.id };
        RowChange::insert(&operation::row(&wish, id, input.now.timestamp))
    };
    input.instances.iter().enumerate().map(ask).collect()
}
