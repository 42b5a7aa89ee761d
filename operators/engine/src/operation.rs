//! A sync under way, from one look to the next: what is applied now, and when it is over.
//!
//! ```text
//!  operation ─▶ Running ─▶ wave by wave: apply ─▶ prune ─▶ Succeeded
//!                  │  ▲                    │
//!                  │  └── retry later ◀────┴─▶ Failed, Error
//!                  └─ Terminating ─▶ Failed
//! ```
//!
//! Nothing is remembered beside what stands in the Application: what was applied is seen on the cluster, what was refused is told
//! by the kernel.

mod retry;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::field::{list, stamp, text, time, told};
use crate::health::Code;
use crate::target::{Key, kind_order};

/// How long an object that still differs after it was applied is applied again: then the API server has its own mind about it, which
/// the comparison says.
const APPLY_FOR: Duration = Duration::from_secs(10);
/// When a sync that waits looks again though nothing changed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What is to be done with one object.
#[derive(Clone, Debug)]
pub struct Task {
    /// Which.
    pub key: Key,
    /// The version of its group.
    pub version: String,
    /// Its turn.
    pub wave: i64,
    /// What.
    pub what: What,
    /// Why it must not be.
    pub denied: Option<String>,
    /// Why the API server refused it the last time.
    pub refused: Option<String>,
    /// The images of its pods.
    pub images: Vec<String>,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Apply it.
    Apply {
        /// It is as it is wanted already.
        same: bool,
        /// How it does.
        health: Option<Code>,
        /// The cluster serves no such kind yet, but a definition of it is applied as well.
        early: bool,
    },
    /// Remove it.
    Prune {
        /// It is still there.
        there: bool,
        /// It is on its way out.
        going: bool,
        /// It is to be kept.
        kept: bool,
    },
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// These are applied or removed, in this order; then it is looked at again.
    Write(Vec<Key>),
    /// The state has changed.
    State(Value),
    /// The state has changed and the operation is over.
    Over(Value),
    /// Nothing, until that time has passed or something changes.
    Wait(Duration),
}

/// Whether an operation is under way.
pub fn is_running(status: &Value) -> bool {
    matches!(text(status, "/operationState/phase"), "Running" | "Terminating")
}

/// The state of an operation that begins.
pub fn begin(operation: &Value, now: Timestamp) -> Value {
    json!({"operation": operation, "phase": "Running", "startedAt": stamp(now)})
}

/// What an operation is to sync to: what it says, or the Application's own.
pub fn source<'a>(application: &'a Value, state: &'a Value) -> (&'a Value, &'a str) {
    let sync = &state["operation"]["sync"];
    let source = if sync["source"].is_object() { &sync["source"] } else { &application["spec"]["source"] };
    let pinned = text(state, "/syncResult/revision");
    let asked = text(sync, "/revision");
    let revision = [pinned, asked].into_iter().find(|one| !one.is_empty());
    (source, revision.unwrap_or_else(|| text(source, "/targetRevision")))
}

/// The state with what is synced to; none when it says so already.
pub fn pinned(state: &Value, source: &Value, revision: &str) -> Option<Value> {
    if text(state, "/syncResult/revision") == revision {
        return None;
    }
    let mut state = state.clone();
    state["syncResult"] = json!({"revision": revision, "source": source});
    Some(state)
}

/// Before anything is looked at: an operation that ends, or that waits for its next try.
pub fn first(state: &Value, now: Timestamp) -> Option<Step> {
    if text(state, "/phase") == "Terminating" {
        return Some(Step::Over(ended(state, "Failed", "Operation terminated", now)));
    }
    let finished = time(text(state, "/finishedAt"))?;
    let count = state["retryCount"].as_i64().unwrap_or(0);
    let at = match retry::next(&state["operation"]["retry"], finished, count - 1) {
        Ok(at) => at,
        Err(why) => return Some(Step::Over(ended(state, "Error", &why, now))),
    };
    if at > now {
        return Some(Step::Wait(at.duration_since(now).unsigned_abs()));
    }
    let mut again = state.clone();
    again["message"] = json!(format!("Retrying operation. Attempt #{count}"));
    if let Some(fields) = again.as_object_mut() {
        fields.remove("finishedAt");
        fields.remove("syncResult");
    }
    // The tries are counted from here.
    again["startedAt"] = json!(stamp(now));
    Some(Step::State(again))
}

/// An operation that cannot be carried out: it is tried again later, if it is to be.
pub fn failed(state: &Value, phase: &str, message: &str, now: Timestamp) -> Step {
    let (count, limit) = (state["retryCount"].as_i64().unwrap_or(0), state.pointer("/operation/retry/limit"));
    let limit = limit.and_then(Value::as_i64).unwrap_or(0);
    if limit >= 0 && count >= limit {
        let message = if count > 0 { format!("{message} (retried {count} times).") } else { message.to_string() };
        return Step::Over(ended(state, phase, &message, now));
    }
    match retry::next(&state["operation"]["retry"], now, count) {
        Ok(at) => {
            let mut later = state.clone();
            later["retryCount"] = json!(count + 1);
            later["finishedAt"] = json!(stamp(now));
            later["message"] = json!(format!("{message}. Retrying attempt #{} at {}.", count + 1, retry::kitchen(at)));
            Step::State(later)
        }
        Err(why) => Step::Over(ended(state, "Error", &format!("{message} (failed to retry: {why})"), now)),
    }
}

fn ended(state: &Value, phase: &str, message: &str, now: Timestamp) -> Value {
    let mut state = state.clone();
    state["phase"] = json!(phase);
    state["message"] = json!(message);
    state["finishedAt"] = json!(stamp(now));
    state
}

/// The next step of an operation that runs, given all that is to be done.
pub fn next(state: &Value, mut tasks: Vec<Task>, now: Timestamp) -> Step {
    let operation = &state["operation"];
    let only: Vec<&Value> = list(operation, "/sync/resources").collect();
    tasks.retain(|task| only.is_empty() || only.iter().any(|one| names(one, &task.key)));
    tasks
        .sort_by_key(|task| (task.wave, kind_order(&task.key.kind), task.key.name.clone(), task.key.namespace.clone()));
    if let Some(step) = invalid(state, &tasks, now) {
        return step;
    }
    let prune = operation["sync"]["prune"] == true;
    if operation["sync"]["dryRun"] != true {
        let started = time(text(state, "/startedAt")).unwrap_or(now);
        let patient = now.duration_since(started).unsigned_abs() < APPLY_FOR;
        if let Some(step) = applied(state, &tasks, patient, now).or_else(|| prune.then(|| pruned(&tasks)).flatten()) {
            return step;
        }
    }
    let mut state = state.clone();
    set_results(&mut state, &tasks, prune);
    let message =
        if tasks.is_empty() { "successfully synced (no more tasks)" } else { "successfully synced (all tasks run)" };
    Step::Over(ended(&state, "Succeeded", message, now))
}

/// The end of an operation with a task that must not be; nothing when all may.
pub fn invalid(state: &Value, tasks: &[Task], now: Timestamp) -> Option<Step> {
    let denied: Vec<String> = tasks.iter().filter_map(|task| task.denied.clone()).collect();
    if denied.is_empty() {
        return None;
    }
    let mut state = state.clone();
    set_results(&mut state, tasks, false);
    let message = format!("one or more synchronization tasks are not valid: {}", distinct(denied).join("; "));
    Some(failed(&state, "Failed", &message, now))
}

/// A task, whether it is as wanted, how it does, whether it is early.
type Applying<'a> = (&'a Task, bool, Option<Code>, bool);

/// What is to be applied now; nothing when all is.
fn applied(state: &Value, tasks: &[Task], patient: bool, now: Timestamp) -> Option<Step> {
    let mut waves: BTreeMap<i64, Vec<Applying<'_>>> = BTreeMap::new();
    for task in tasks {
        if let What::Apply { same, health, early } = task.what {
            waves.entry(task.wave).or_default().push((task, same, health, early));
        }
    }
    let last = waves.keys().last().copied();
    for (wave, tasks_of_wave) in waves {
        let refused: Vec<String> =
            tasks_of_wave.iter().filter(|(_, same, ..)| !same).filter_map(|(task, ..)| task.refused.clone()).collect();
        if !refused.is_empty() {
            let mut state = state.clone();
            set_results(&mut state, tasks, false);
            let message = format!("one or more objects failed to apply, reason: {}", refused.join(","));
            return Some(failed(&state, "Failed", &message, now));
        }
        let open = || tasks_of_wave.iter().filter(|(_, same, ..)| !same);
        let write: Vec<Key> =
            open().filter(|(.., early)| !early && patient).map(|(task, ..)| task.key.clone()).collect();
        if !write.is_empty() {
            return Some(Step::Write(write));
        }
        if open().any(|(.., early)| *early) {
            return Some(Step::Wait(LOOK_AGAIN));
        }
        // The last turn ends when it is applied, whatever becomes of it.
        let unhealthy =
            tasks_of_wave.iter().find(|(_, _, health, _)| health.is_some_and(|health| health != Code::Healthy));
        if let Some((task, _, health, _)) = unhealthy.filter(|_| Some(wave) != last) {
            if *health == Some(Code::Degraded) {
                return Some(failed(
                    state,
                    "Failed",
                    "one or more synchronization tasks completed unsuccessfully",
                    now,
                ));
            }
            return Some(waiting(state, "healthy state of", &task.key));
        }
    }
    None
}

fn waiting(state: &Value, reason: &str, key: &Key) -> Step {
    let message = format!("waiting for {reason} {}/{}/{}", key.group, key.kind, key.name);
    if text(state, "/message") == message {
        return Step::Wait(LOOK_AGAIN);
    }
    let mut state = state.clone();
    state["message"] = json!(message);
    Step::State(state)
}

/// What is to be removed now; nothing when all is gone.
fn pruned(tasks: &[Task]) -> Option<Step> {
    let open = tasks.iter().filter_map(|task| match task.what {
        What::Prune { there: true, kept: false, going } => Some((task.key.clone(), going)),
        _ => None,
    });
    let (going, there): (Vec<_>, Vec<_>) = open.partition(|(_, going)| *going);
    match (there.is_empty(), going.is_empty()) {
        (false, _) => Some(Step::Write(there.into_iter().map(|(key, _)| key).collect())),
        (true, false) => Some(Step::Wait(LOOK_AGAIN)),
        (true, true) => None,
    }
}

fn names(one: &Value, key: &Key) -> bool {
    let same = |field: &str, own: &str| text(one, field) == own;
    let within = text(one, "/namespace");
    same("/group", &key.group)
        && same("/kind", &key.kind)
        && same("/name", &key.name)
        && (within.is_empty() || within == key.namespace)
}

fn distinct(mut words: Vec<String>) -> Vec<String> {
    words.sort();
    words.dedup();
    words
}

fn set_results(state: &mut Value, tasks: &[Task], prune: bool) {
    let results: Vec<Value> = tasks.iter().map(|task| result(task, prune)).collect();
    if !results.is_empty() {
        state["syncResult"]["resources"] = Value::Array(results);
    }
}

fn result(task: &Task, prune: bool) -> Value {
    let kind = task.key.kind.to_lowercase();
    let kind = if task.key.group.is_empty() { kind } else { format!("{kind}.{}", task.key.group) };
    let why_not =
        task.denied.as_ref().or(task.refused.as_ref().filter(|_| !matches!(task.what, What::Apply { same: true, .. })));
    let (status, phase, message) = match (why_not, task.what) {
        (Some(why), _) => ("SyncFailed", "Failed", why.clone()),
        (None, What::Apply { .. }) => ("Synced", "Running", format!("{kind}/{} serverside-applied", task.key.name)),
        (None, What::Prune { kept: true, .. }) => ("PruneSkipped", "Succeeded", "ignored (no prune)".to_string()),
        (None, What::Prune { .. }) if prune => ("Pruned", "Succeeded", "pruned".to_string()),
        (None, What::Prune { .. }) => ("PruneSkipped", "Succeeded", "ignored (requires pruning)".to_string()),
    };
    let mut said = told([("message", json!(message)), ("images", json!(task.images))]);
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
