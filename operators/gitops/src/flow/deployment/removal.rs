//! A deployment goes: first its rows, then what the agent removes for it, then the resource.

use serde_json::json;
use switchboard_ledger::Change;
use switchboard_ledger::ids::{OperationId, OperationResource, OperationState, Uid};
use switchboard_ledger::rows::{Operation, SyncOperation};

use super::{Input, Known, target, tell_error};
use crate::flow::operation::{self, REMOVAL, Wish};
use crate::flow::{Decision, Write};
use crate::kinds::Deployment;
use crate::kinds::condition::UNKNOWN_ERROR;
use crate::kinds::deployment::FINALIZER;

/// How soon a removal that failed is tried again.
const RETRY_REMOVAL_MS: i64 = 30 * 1000;

/// The id of the Operation that removes what a deployment was: always the same, so that it is asked for once and found again.
pub fn removal_id(deployment: &Uid) -> OperationId {
    OperationId::from(format!("{REMOVAL}{deployment}"))
}

/// The id that the removal of a deployment has where it is asked for once; none for an Operation that removes none.
pub fn removal_of(id: &OperationId) -> Option<OperationId> {
    operation::removed(id).map(|deployment| removal_id(&Uid::from(deployment)))
}

/// Removes all rows of a deployment, in an order in which none refers to one that is gone.
pub fn forget(known: &Known) -> Vec<Change> {
    let mut changes: Vec<Change> = known.state.iter().map(Change::delete).collect();
    for sync in &known.syncs {
        changes.push(Change::update(sync, &SyncOperation { application: None, ..sync.clone() }));
    }
    changes.push(Change::delete(&known.mapping));
    changes.extend(known.owners.iter().map(Change::delete));
    changes.extend(known.application.iter().map(Change::delete));
    changes
}

/// Removes all rows of a deployment, and asks the agent to follow.
pub(super) fn remove(input: &Input<'_>, known: &Known, decision: &mut Decision) {
    let changes = &mut decision.changes;
    changes.extend(forget(known));
    let Some(application) = &known.application else { return };
    let id = removal_id(&known.mapping.deployment_uid);
    let wish = Wish {
        instance: &application.instance,
        resource: OperationResource::Application,
        resource_id: application.id.as_str(),
        // Rows of an earlier namespace of the same name are an earlier tenant's.
        owner: known.owners.first().map_or(&input.user.id, |owner| &owner.user),
    };
    changes.push(Change::put(&operation::row(&wish, id, input.now.moment)));
}

/// Lets a resource go once the agent has removed what was deployed; says so if it could not.
///
/// # Guarantees
/// - A resource whose removal nobody knows the end of is not let go.     // test: guarantees_a_removal_that_was_lost_is_asked_for_again
pub(super) fn release(input: &Input<'_>, deleted: &Deployment, decision: &mut Decision) {
    if !input.known.is_empty() || !deleted.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
        return;
    }
    let removal = removal_id(&deleted.metadata.id());
    let asked = input.operations.iter().filter(|row| removal_of(&row.id).as_ref() == Some(&removal));
    let left: Vec<&Operation> = asked.clone().filter(|row| row.state != OperationState::Completed).collect();
    for row in left.iter().filter(|row| row.state == OperationState::Failed) {
        retry(input, deleted, row, decision);
    }
    if asked.count() == 0 && !input.instances.is_empty() {
        // Never begun; or it failed and is forgotten, or was forgotten with a restore. Only the agents can tell.
        decision.changes.extend(everywhere(input, &deleted.metadata.id()));
    } else if left.is_empty() {
        let left: Vec<&String> = deleted.metadata.finalizers.iter().filter(|f| *f != FINALIZER).collect();
        decision.writes.push(Write::Merge(target(deleted), json!({ "metadata": { "finalizers": left } })));
    }
}

/// Says that a removal failed, and tries again when it is time.
fn retry(input: &Input<'_>, deleted: &Deployment, row: &Operation, decision: &mut Decision) {
    let why = row.human_readable_state.as_deref().unwrap_or(UNKNOWN_ERROR);
    let said = format!("unable to delete the resources of the GitOpsDeployment: {why}");
    tell_error(deleted, &said, input.now, decision);
    if input.now.moment.since_ms(row.last_state_update) < RETRY_REMOVAL_MS {
        return decision.again_in(RETRY_REMOVAL_MS as u64);
    }
    let again = Operation {
        state: OperationState::Waiting,
        last_state_update: input.now.moment,
        created_on: input.now.moment,
        // What it said of the last time is no note of this one.
        human_readable_state: None,
        ..row.clone()
    };
    decision.changes.push(Change::update(row, &again));
}

/// Asks every Argo CD for the removal: which of them had it was said by rows that are gone. The agent finds it by its name.
fn everywhere(input: &Input<'_>, deployment: &Uid) -> Vec<Change> {
    let ask = |(at, instance)| {
        let id = match at {
            0 => removal_id(deployment),
            _ => OperationId::from(format!("{REMOVAL}{deployment}{}{at}", operation::MORE)),
        };
        let resource_id = deployment.as_str();
        let wish = Wish { instance, resource: OperationResource::Application, resource_id, owner: &input.user.id };
        let row = operation::row(&wish, id, input.now.moment);
        Change::insert(&Operation { owner: row.owner.clone().filter(|_| input.is_tenant), ..row })
    };
    input.instances.iter().enumerate().map(ask).collect()
}
