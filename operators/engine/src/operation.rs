//! State machine of a sync: which objects to apply next, and when it has finished.
//!
//! ```text
//!  operation ─▶ Running ─▶ wave by wave: apply ─▶ prune ─▶ Succeeded
//!                  │  ▲                    │
//!                  │  └── retry later ◀────┴─▶ Failed, Error
//!                  └─ Terminating ─▶ Failed
//! ```
//!
//! All state is in the Application. Applied objects are observed on the cluster, and refused writes are reported by the
//! kernel.

mod retry;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object_fields::{format_time, list, non_empty_fields, parse_time, text};
use crate::target::{ResourceKey, kind_order};
use switchboard_object::health::HealthCode;

/// Time during which an object that still differs is applied again. After that, the API server is assumed to change the
/// object, and the comparison reports the difference.
const REAPPLY_PERIOD: Duration = Duration::from_secs(10);
/// Interval at which a waiting sync checks again without an event.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Task of a sync for one object.
#[derive(Clone, Debug)]
pub struct SyncTask {
    /// Object of the task.
    pub key: ResourceKey,
    /// Version of its group.
    pub version: String,
    /// Sync wave.
    pub wave: i64,
    /// Action of the task.
    pub action: SyncAction,
    /// Reason why the project denies the task.
    pub denial: Option<String>,
    /// Error of the API server for the last attempt.
    pub refusal: Option<String>,
    /// Images of the object's pods.
    pub images: Vec<String>,
}

/// Action for one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncAction {
    /// Apply the manifest.
    Apply {
        /// Whether the live object already matches.
        in_sync: bool,
        /// Health of the live object.
        health: Option<HealthCode>,
        /// Whether the cluster does not serve the kind yet but its definition is applied in the same sync.
        awaits_definition: bool,
    },
    /// Delete the object.
    Prune {
        /// Whether the object still exists.
        present: bool,
        /// Whether the object is terminating.
        terminating: bool,
        /// Whether the object must be retained.
        retained: bool,
    },
}

/// Next step of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum OperationStep {
    /// Apply or delete these objects in this order, then check again.
    Write(Vec<ResourceKey>),
    /// Store the changed state.
    Update(Value),
    /// Store the final state and end the operation.
    Finish(Value),
    /// Wait for this time or a change.
    Wait(Duration),
}

/// Whether an operation is in progress.
pub fn is_running(status: &Value) -> bool {
    matches!(text(status, "/operationState/phase"), "Running" | "Terminating")
}

/// Returns the initial state of an operation.
pub fn begin(operation: &Value, now: Timestamp) -> Value {
    json!({"operation": operation, "phase": "Running", "startedAt": format_time(now)})
}

/// Returns the source and revision of an operation: its own, or those of the Application.
pub fn source<'a>(application: &'a Value, state: &'a Value) -> (&'a Value, &'a str) {
    let sync = &state["operation"]["sync"];
    let source = if sync["source"].is_object() { &sync["source"] } else { &application["spec"]["source"] };
    let pinned = text(state, "/syncResult/revision");
    let asked = text(sync, "/revision");
    let revision = [pinned, asked].into_iter().find(|one| !one.is_empty());
    (source, revision.unwrap_or_else(|| text(source, "/targetRevision")))
}

/// Returns the state with the resolved revision, or `None` if it already has it.
pub fn pin_revision(state: &Value, source: &Value, revision: &str) -> Option<Value> {
    if text(state, "/syncResult/revision") == revision {
        return None;
    }
    let mut state = state.clone();
    state["syncResult"] = json!({"revision": revision, "source": source});
    Some(state)
}

/// Returns the step of an operation that is terminated or that waits for its next retry, before anything is compared.
pub fn pending_step(state: &Value, now: Timestamp) -> Option<OperationStep> {
    if text(state, "/phase") == "Terminating" {
        return Some(OperationStep::Finish(finished(state, "Failed", "Operation terminated", now)));
    }
    let finished_at = parse_time(text(state, "/finishedAt"))?;
    let count = state["retryCount"].as_i64().unwrap_or(0);
    let at = match retry::next_attempt(&state["operation"]["retry"], finished_at, count - 1) {
        Ok(at) => at,
        Err(why) => return Some(OperationStep::Finish(finished(state, "Error", &why, now))),
    };
    if at > now {
        return Some(OperationStep::Wait(at.duration_since(now).unsigned_abs()));
    }
    let mut again = state.clone();
    again["message"] = json!(format!("Retrying operation. Attempt #{count}"));
    if let Some(fields) = again.as_object_mut() {
        fields.remove("finishedAt");
        fields.remove("syncResult");
    }
    // The time limit for applying counts from the retry.
    again["startedAt"] = json!(format_time(now));
    Some(OperationStep::Update(again))
}

/// Fails an attempt: schedules a retry if the operation has one left, or finishes the operation.
pub fn fail(state: &Value, phase: &str, message: &str, now: Timestamp) -> OperationStep {
    let (count, limit) = (state["retryCount"].as_i64().unwrap_or(0), state.pointer("/operation/retry/limit"));
    let limit = limit.and_then(Value::as_i64).unwrap_or(0);
    if limit >= 0 && count >= limit {
        let message = if count > 0 { format!("{message} (retried {count} times).") } else { message.to_string() };
        return OperationStep::Finish(finished(state, phase, &message, now));
    }
    match retry::next_attempt(&state["operation"]["retry"], now, count) {
        Ok(at) => {
            let mut later = state.clone();
            later["retryCount"] = json!(count + 1);
            later["finishedAt"] = json!(format_time(now));
            later["message"] = json!(format!("{message}. Retrying attempt #{} at {}.", count + 1, retry::kitchen(at)));
            OperationStep::Update(later)
        }
        Err(why) => {
            OperationStep::Finish(finished(state, "Error", &format!("{message} (failed to retry: {why})"), now))
        }
    }
}

fn finished(state: &Value, phase: &str, message: &str, now: Timestamp) -> Value {
    let mut state = state.clone();
    state["phase"] = json!(phase);
    state["message"] = json!(message);
    state["finishedAt"] = json!(format_time(now));
    state
}

/// Returns the next step of a running operation with these tasks.
pub fn next_step(state: &Value, mut tasks: Vec<SyncTask>, now: Timestamp) -> OperationStep {
    let operation = &state["operation"];
    let only: Vec<&Value> = list(operation, "/sync/resources").collect();
    tasks.retain(|task| only.is_empty() || only.iter().any(|one| selects(one, &task.key)));
    tasks
        .sort_by_key(|task| (task.wave, kind_order(&task.key.kind), task.key.name.clone(), task.key.namespace.clone()));
    if let Some(step) = reject_denied(state, &tasks, now) {
        return step;
    }
    let prune = operation["sync"]["prune"] == true;
    if operation["sync"]["dryRun"] != true {
        let started = parse_time(text(state, "/startedAt")).unwrap_or(now);
        let patient = now.duration_since(started).unsigned_abs() < REAPPLY_PERIOD;
        if let Some(step) =
            apply_step(state, &tasks, patient, now).or_else(|| prune.then(|| prune_step(&tasks)).flatten())
        {
            return step;
        }
    }
    let mut state = state.clone();
    set_results(&mut state, &tasks, prune);
    let message =
        if tasks.is_empty() { "successfully synced (no more tasks)" } else { "successfully synced (all tasks run)" };
    OperationStep::Finish(finished(&state, "Succeeded", message, now))
}

/// Fails the operation if a task is denied. `None` if all are allowed.
pub fn reject_denied(state: &Value, tasks: &[SyncTask], now: Timestamp) -> Option<OperationStep> {
    let denied: Vec<String> = tasks.iter().filter_map(|task| task.denial.clone()).collect();
    if denied.is_empty() {
        return None;
    }
    let mut state = state.clone();
    set_results(&mut state, tasks, false);
    let message = format!("one or more synchronization tasks are not valid: {}", sorted_distinct(denied).join("; "));
    Some(fail(&state, "Failed", &message, now))
}

/// Task with whether it is in sync, its health, and whether it awaits its definition.
type ApplyTask<'a> = (&'a SyncTask, bool, Option<HealthCode>, bool);

/// Returns the next step to apply objects, or `None` if all are applied.
fn apply_step(state: &Value, tasks: &[SyncTask], patient: bool, now: Timestamp) -> Option<OperationStep> {
    let mut waves: BTreeMap<i64, Vec<ApplyTask<'_>>> = BTreeMap::new();
    for task in tasks {
        if let SyncAction::Apply { in_sync: same, health, awaits_definition: early } = task.action {
            waves.entry(task.wave).or_default().push((task, same, health, early));
        }
    }
    let last = waves.keys().last().copied();
    for (wave, tasks_of_wave) in waves {
        let refused: Vec<String> =
            tasks_of_wave.iter().filter(|(_, same, ..)| !same).filter_map(|(task, ..)| task.refusal.clone()).collect();
        if !refused.is_empty() {
            let mut state = state.clone();
            set_results(&mut state, tasks, false);
            let message = format!("one or more objects failed to apply, reason: {}", refused.join(","));
            return Some(fail(&state, "Failed", &message, now));
        }
        let open = || tasks_of_wave.iter().filter(|(_, same, ..)| !same);
        let write: Vec<ResourceKey> =
            open().filter(|(.., early)| !early && patient).map(|(task, ..)| task.key.clone()).collect();
        if !write.is_empty() {
            return Some(OperationStep::Write(write));
        }
        if open().any(|(.., early)| *early) {
            return Some(OperationStep::Wait(POLL_INTERVAL));
        }
        // The last wave finishes as soon as it is applied, without waiting for health.
        let unhealthy =
            tasks_of_wave.iter().find(|(_, _, health, _)| health.is_some_and(|health| health != HealthCode::Healthy));
        if let Some((task, _, health, _)) = unhealthy.filter(|_| Some(wave) != last) {
            if *health == Some(HealthCode::Degraded) {
                return Some(fail(state, "Failed", "one or more synchronization tasks completed unsuccessfully", now));
            }
            return Some(waiting(state, "healthy state of", &task.key));
        }
    }
    None
}

fn waiting(state: &Value, reason: &str, key: &ResourceKey) -> OperationStep {
    let message = format!("waiting for {reason} {}/{}/{}", key.group, key.kind, key.name);
    if text(state, "/message") == message {
        return OperationStep::Wait(POLL_INTERVAL);
    }
    let mut state = state.clone();
    state["message"] = json!(message);
    OperationStep::Update(state)
}

/// Returns the next step to delete objects, or `None` if all are deleted.
fn prune_step(tasks: &[SyncTask]) -> Option<OperationStep> {
    let open = tasks.iter().filter_map(|task| match task.action {
        SyncAction::Prune { present: true, retained: false, terminating: going } => Some((task.key.clone(), going)),
        _ => None,
    });
    let (going, there): (Vec<_>, Vec<_>) = open.partition(|(_, going)| *going);
    match (there.is_empty(), going.is_empty()) {
        (false, _) => Some(OperationStep::Write(there.into_iter().map(|(key, _)| key).collect())),
        (true, false) => Some(OperationStep::Wait(POLL_INTERVAL)),
        (true, true) => None,
    }
}

fn selects(one: &Value, key: &ResourceKey) -> bool {
    let same = |field: &str, own: &str| text(one, field) == own;
    let within = text(one, "/namespace");
    same("/group", &key.group)
        && same("/kind", &key.kind)
        && same("/name", &key.name)
        && (within.is_empty() || within == key.namespace)
}

fn sorted_distinct(mut words: Vec<String>) -> Vec<String> {
    words.sort();
    words.dedup();
    words
}

fn set_results(state: &mut Value, tasks: &[SyncTask], prune: bool) {
    let results: Vec<Value> = tasks.iter().map(|task| result(task, prune)).collect();
    if !results.is_empty() {
        state["syncResult"]["resources"] = Value::Array(results);
    }
}

fn result(task: &SyncTask, prune: bool) -> Value {
    let kind = task.key.kind.to_lowercase();
    let kind = if task.key.group.is_empty() { kind } else { format!("{kind}.{}", task.key.group) };
    let why_not = task
        .denial
        .as_ref()
        .or(task.refusal.as_ref().filter(|_| !matches!(task.action, SyncAction::Apply { in_sync: true, .. })));
    let (status, phase, message) = match (why_not, task.action) {
        (Some(why), _) => ("SyncFailed", "Failed", why.clone()),
        (None, SyncAction::Apply { .. }) => {
            ("Synced", "Running", format!("{kind}/{} serverside-applied", task.key.name))
        }
        (None, SyncAction::Prune { retained: true, .. }) => {
            ("PruneSkipped", "Succeeded", "ignored (no prune)".to_string())
        }
        (None, SyncAction::Prune { .. }) if prune => ("Pruned", "Succeeded", "pruned".to_string()),
        (None, SyncAction::Prune { .. }) => ("PruneSkipped", "Succeeded", "ignored (requires pruning)".to_string()),
    };
    let mut said = non_empty_fields([("message", json!(message)), ("images", json!(task.images))]);
    for (field, value) in [
        ("group", &task.key.group),
        ("version", &task.version),
        ("kind", &task.key.kind),
        ("namespace", &task.key.namespace),
        ("name", &task.key.name),
    ] {
        said[field] = json!(value);
    }
    said["status"] = json!(status);
    said["hookPhase"] = json!(phase);
    said["syncPhase"] = json!("Sync");
    said
}

#[cfg(test)]
mod tests;
