//! Steps before the cutover, which can be rolled back.

use serde_json::Value;
use switchboard_sql::RowChange;

use super::skip_reconcile::{
    copy_write, delete_write, has_finalizers, is_busy, is_paused_by, is_retrying, is_terminating, object_of,
    pause_object, resume_object, row_of, terminate_sync,
};
use super::{
    FREEZE_MS, InstanceWrite, MoveAction, MoveState, PAUSE_MS, SETTLE_MS, advance, in_step_ms, roll_back,
    source_namespace, step_change, wait,
};
use crate::deployment::application;
use crate::ids::{MoveStep, OperationState};
use crate::operation::agent::corrected;
use crate::rows::fleet::Placement;

/// Freeze: waits for running Operations to finish. The placement prevents new ones.
pub fn freeze(state: &MoveState<'_>) -> MoveAction {
    let begun = state.operations.iter().filter(|row| row.state == OperationState::InProgress).count();
    if begun == 0 {
        return advance(state, MoveStep::Prepare);
    }
    if in_step_ms(state) > FREEZE_MS {
        return roll_back(state, format!("{begun} Operations did not finish"));
    }
    wait(format!("{begun} Operations are in progress"))
}

/// Prepare: creates the required objects at the target before the Applications.
pub fn prepare(state: &MoveState<'_>) -> MoveAction {
    let acts = missing_writes(state);
    if acts.is_empty() { advance(state, MoveStep::Copy) } else { MoveAction::Write(acts) }
}

/// Returns the writes for required objects that are missing or outdated at the target.
pub fn missing_writes(state: &MoveState<'_>) -> Vec<InstanceWrite> {
    state.required.iter().filter_map(|wanted| required_write(wanted, state.existing)).collect()
}

fn required_write(wanted: &Value, has: &[Value]) -> Option<InstanceWrite> {
    let same =
        |object: &&Value| object["kind"] == wanted["kind"] && object["metadata"]["name"] == wanted["metadata"]["name"];
    match has.iter().find(same) {
        None => Some(InstanceWrite::Create(wanted.clone())),
        Some(live) => corrected(wanted, live).map(InstanceWrite::Update),
    }
}

/// Copy: creates paused copies of all Applications at the target, and deletes copies whose deployment was deleted.
pub fn copy(state: &MoveState<'_>) -> MoveAction {
    let mut acts = Vec::new();
    for row in state.applications {
        match copy_write(row, &state.target.namespace, object_of(row, state.at_target), &state.row.id) {
            Ok(act) => acts.extend(act),
            Err(error) => return roll_back(state, format!("could not copy `{}`: {error}", row.name)),
        }
    }
    acts.extend(stale_copies(state));
    if acts.is_empty() { advance(state, MoveStep::Pause) } else { MoveAction::Write(acts) }
}

fn stale_copies(state: &MoveState<'_>) -> Vec<InstanceWrite> {
    let ours = state.at_target.iter().filter(|object| is_paused_by(object, &state.row.id));
    ours.filter(|object| row_of(object, state.applications).is_none()).map(delete_write).collect()
}

/// Pause: pauses all Applications at the source while Argo CD runs no operation on them. An operation that has started
/// would never finish while paused.
pub fn pause(state: &MoveState<'_>) -> MoveAction {
    let mut acts = stale_copies(state);
    let mut waits = None;
    for object in state.at_source {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let ours = is_paused_by(object, &state.row.id);
        match row_of(object, state.applications) {
            // The deployment was deleted meanwhile. The removal is executed at the source, which requires the
            // Application to be resumed.
            None if ours => acts.push(InstanceWrite::Update(resume_object(object.clone()))),
            None => {}
            Some(_) if is_terminating(object) => waits = Some(format!("`{name}` is being deleted")),
            Some(_) if has_finalizers(object) => {
                return roll_back(state, format!("`{name}` has finalizers: its deletion would delete its resources"));
            }
            Some(_) if is_busy(object) => {
                acts.extend(ours.then(|| InstanceWrite::Update(resume_object(object.clone()))));
                if !ours && is_retrying(object) {
                    acts.push(InstanceWrite::Update(terminate_sync(object.clone())));
                }
                waits = Some(format!("Argo CD runs an operation on `{name}`"));
            }
            Some(_) if !ours => acts.push(InstanceWrite::Update(pause_object(object.clone(), &state.row.id))),
            Some(_) => {}
        }
    }
    match (acts.is_empty(), waits) {
        (false, _) => MoveAction::Write(acts),
        (true, Some(why)) if in_step_ms(state) > PAUSE_MS => roll_back(state, why),
        (true, Some(why)) => wait(why),
        (true, None) => advance(state, MoveStep::Release),
    }
}

/// Release: deletes all Applications at the source and keeps their resources.
pub fn release(state: &MoveState<'_>) -> MoveAction {
    if in_step_ms(state) < SETTLE_MS {
        return MoveAction::Wait(super::POLL_MS, "Argo CD is settling at the source".to_string());
    }
    let mut acts = Vec::new();
    for object in state.at_source {
        let Some(row) = row_of(object, state.applications) else {
            if is_paused_by(object, &state.row.id) {
                return advance(state, MoveStep::Pause);
            }
            continue;
        };
        if is_terminating(object) && !has_finalizers(object) {
            continue;
        }
        let copy = object_of(row, state.at_target).is_some_and(|copy| is_paused_by(copy, &state.row.id));
        if !copy {
            return advance(state, MoveStep::Copy);
        }
        if has_finalizers(object) || is_busy(object) || !is_paused_by(object, &state.row.id) {
            return advance(state, MoveStep::Pause);
        }
        acts.push(delete_write(object));
    }
    if acts.is_empty() { advance(state, MoveStep::Cutover) } else { MoveAction::Write(acts) }
}

/// Rollback: recreates deleted Applications at the source as paused, deletes the copies, resumes the source, and then
/// deletes prepared objects.
pub fn rollback(state: &MoveState<'_>) -> MoveAction {
    if state.source.is_none() {
        return wait("the source no longer exists, so the move cannot be rolled back");
    }
    let missing = state.applications.iter().filter(|row| object_of(row, state.at_source).is_none());
    // A row with an unreadable text never had an Application.
    let missing = missing.filter_map(|row| application::object(row, source_namespace(state)).ok());
    let acts: Vec<InstanceWrite> =
        missing.map(|object| InstanceWrite::Create(pause_object(object, &state.row.id))).collect();
    if !acts.is_empty() {
        return MoveAction::Write(acts);
    }
    let copies = state.at_target.iter().filter(|object| is_paused_by(object, &state.row.id));
    let asleep = state.at_source.iter().filter(|object| is_paused_by(object, &state.row.id));
    let mut acts: Vec<InstanceWrite> = copies.map(delete_write).collect();
    if acts.is_empty() {
        acts = asleep.map(|object| InstanceWrite::Update(resume_object(object.clone()))).collect();
    }
    if !acts.is_empty() {
        return MoveAction::Write(acts);
    }
    let acts: Vec<InstanceWrite> = state.prepared.iter().map(delete_write).collect();
    if !acts.is_empty() {
        return MoveAction::Write(acts);
    }
    let free = Placement { moving: None, ..state.placement.clone() };
    let why = state.row.human_readable_state.clone();
    MoveAction::Commit(vec![RowChange::update(state.placement, &free), step_change(state, MoveStep::RolledBack, why)])
}
