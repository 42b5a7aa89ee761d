//! Steps from the cutover on, which cannot be rolled back.

use serde_json::Value;
use switchboard_sql::RowChange;

use super::skip_reconcile::{delete_write, has_finalizers, is_paused_by, resume_object, row_of};
use super::steps::missing_writes;
use super::{
    CLEANUP_MS, InstanceWrite, MoveAction, MoveState, RESUME_MS, advance, in_step_ms, source_namespace, step_change,
    wait,
};
use crate::argocd::{self, DATABASE_ID};
use crate::deployment::removal_id;
use crate::ids::{MoveStep, OperationResource, OperationState};
use crate::operation::{self, OperationRequest};
use crate::rows::fleet::Placement;
use crate::rows::{Application, ClusterAccess, Operation, RepositoryCredentials};

/// Cutover: changes all rows from the source to the target in one transaction.
pub fn cutover(state: &MoveState<'_>) -> MoveAction {
    let placement =
        Placement { instance: state.row.target.clone(), epoch: state.placement.epoch + 1, ..state.placement.clone() };
    let mut changes = vec![RowChange::update(state.placement, &placement)];
    changes.extend(late_changes(state));
    let access = state.access.iter().filter(|row| row.instance == state.row.source);
    for row in access {
        let there = ClusterAccess { instance: state.row.target.clone(), ..row.clone() };
        changes.extend([RowChange::delete(row), RowChange::ensure(&there)]);
    }
    for row in state.credentials.iter().filter(|row| row.instance == state.row.source) {
        changes
            .push(RowChange::update(row, &RepositoryCredentials { instance: state.row.target.clone(), ..row.clone() }));
    }
    changes.push(step_change(state, MoveStep::Resume, None));
    MoveAction::Commit(changes)
}

/// Returns the changes for rows that still name the source: all rows at the cutover, and later rows from decisions made
/// before it.
fn late_changes(state: &MoveState<'_>) -> Vec<RowChange> {
    let mut changes = Vec::new();
    for row in state.applications.iter().filter(|row| row.instance != state.row.target) {
        let moved = Application {
            instance: state.row.target.clone(),
            spec_field: spec_field(state, &row.spec_field),
            ..row.clone()
        };
        changes.push(RowChange::update(row, &moved));
    }
    for row in state.operations.iter().filter(|row| row.instance == state.row.source && moves_along(state, row)) {
        changes.push(RowChange::update(row, &Operation { instance: state.row.target.clone(), ..row.clone() }));
    }
    changes
}

/// Whether an Operation is executed at the target from now on. If the deployment was deleted before its Application was
/// paused, the removal is executed at the source.
fn moves_along(state: &MoveState<'_>, row: &Operation) -> bool {
    let known = state.applications.iter().any(|application| application.id.as_str() == row.resource_id);
    let copied = state.at_target.iter().any(|object| object["metadata"]["labels"][DATABASE_ID] == *row.resource_id);
    row.resource != OperationResource::Application || known || copied
}

/// Replaces the namespace in the text. Argo CD does not use it there, but a differing text would trigger another
/// reconciliation.
fn spec_field(state: &MoveState<'_>, text: &str) -> String {
    let line = |namespace: &str| format!("\n  namespace: {namespace}\n");
    match source_namespace(state) {
        "" => text.to_string(),
        source => text.replacen(&line(source), &line(&state.target.namespace), 1),
    }
}

/// Resume: the target takes over. When it has compared its Applications, Operations may begin again.
pub fn resume(state: &MoveState<'_>) -> MoveAction {
    let late = late_changes(state);
    if !late.is_empty() {
        return MoveAction::Commit(late);
    }
    let removals = removals(state);
    if !removals.is_empty() {
        return MoveAction::Commit(removals);
    }
    // A credential may have changed at the source after the preparation. This is checked until the end of the step;
    // later changes find the target in the rows. Without Applications, nothing is required.
    let acts = if state.applications.is_empty() { vec![] } else { missing_writes(state) };
    if !acts.is_empty() {
        return MoveAction::Write(acts);
    }
    let asleep = state.at_target.iter().filter(|object| is_paused_by(object, &state.row.id));
    let acts: Vec<InstanceWrite> = asleep.map(|object| InstanceWrite::Update(resume_object(object.clone()))).collect();
    if !acts.is_empty() {
        return MoveAction::Write(acts);
    }
    let known = state.at_target.iter().filter(|object| row_of(object, state.applications).is_some());
    let silent = known.filter(|object| !has_compared(object)).count();
    if silent > 0 && in_step_ms(state) <= RESUME_MS {
        return wait(format!("{silent} Applications have not been compared yet"));
    }
    let why = (silent > 0).then(|| format!("the target did not compare {silent} Applications in time"));
    let free = Placement { moving: None, ..state.placement.clone() };
    MoveAction::Commit(vec![RowChange::update(state.placement, &free), step_change(state, MoveStep::Cleanup, why)])
}

fn has_compared(object: &Value) -> bool {
    let answered = object["metadata"]["annotations"].get(crate::deployment::application::REFRESH).is_none();
    answered && object["status"]["sync"]["status"].as_str().is_some_and(|status| !status.is_empty())
}

/// Requests the removal of deployments that were deleted during the move at the instance that now has their
/// Application.
fn removals(state: &MoveState<'_>) -> Vec<RowChange> {
    let orphans = state.at_target.iter().filter(|object| is_paused_by(object, &state.row.id));
    let orphans = orphans.filter(|object| row_of(object, state.applications).is_none());
    orphans.filter_map(|object| removal(state, object)).collect()
}

fn removal(state: &MoveState<'_>, object: &Value) -> Option<RowChange> {
    let row = object["metadata"]["labels"][DATABASE_ID].as_str()?;
    let deployment = argocd::deployment_of(object["metadata"]["name"].as_str()?)?;
    let asked = state.operations.iter().any(|operation| {
        operation.instance == state.row.target
            && operation.resource == OperationResource::Application
            && operation.resource_id == row
            && operation.state == OperationState::Waiting
    });
    let wish = OperationRequest {
        instance: &state.row.target,
        resource: OperationResource::Application,
        resource_id: row,
        owner: &state.row.user,
    };
    (!asked).then(|| RowChange::put(&operation::row(&wish, removal_id(&deployment), state.now)))
}

/// Cleanup: deletes unused objects at the source, including those that a delayed writer restored.
pub fn cleanup(state: &MoveState<'_>) -> MoveAction {
    let strays = state.at_source.iter().filter(|object| row_of(object, state.applications).is_some());
    let mut acts: Vec<InstanceWrite> = strays.filter(|object| !has_finalizers(object)).map(delete_write).collect();
    acts.extend(state.leftovers.iter().map(delete_write));
    match (acts.is_empty(), state.in_use) {
        (false, _) => MoveAction::Write(acts),
        (true, 0) => advance(state, MoveStep::Done),
        (true, _) if in_step_ms(state) > CLEANUP_MS => {
            let why = "Applications at the source still use its project or its Secrets: the agent deletes these later";
            MoveAction::Commit(vec![step_change(state, MoveStep::Done, Some(why.to_string()))])
        }
        (true, _) => wait("Applications at the source still use its project or its Secrets"),
    }
}
