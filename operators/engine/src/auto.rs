//! Whether an Application that is out of sync syncs itself.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::field::{list, text, time, told};
use crate::status::{Found, Sync};

/// How long the second repair in a row waits; each further one three times as long.
const HEAL_FIRST: Duration = Duration::from_secs(2);
const HEAL_FACTOR: u32 = 3;
const HEAL_MAX: Duration = Duration::from_secs(300);
/// After so long without a repair, the next one is the first again.
const HEAL_FORGOTTEN: Duration = Duration::from_secs(330);
/// How often a failed sync is tried again when the Application does not say.
const DEFAULT_RETRIES: i64 = 5;

/// What is done about it.
#[derive(Clone, Debug, PartialEq)]
pub enum Auto {
    /// Nothing.
    Nothing,
    /// This operation is begun.
    Start(Value),
    /// It is told why not, as a condition `SyncError`.
    Told(String),
    /// It is looked at again after that time.
    Later(Duration),
}

/// Decides. `revision` is what was compared with.
pub fn decide(application: &Value, found: &Found, revision: &str, now: Timestamp) -> Auto {
    let policy = &application["spec"]["syncPolicy"];
    let automated = &policy["automated"];
    let is_on = automated.is_object() && automated["enabled"] != false;
    if !is_on || application["operation"].is_object() || found.sync != Sync::OutOfSync {
        return Auto::Nothing;
    }
    let prune = automated["prune"] == true;
    let only_prune = found.managed.iter().all(|one| one.sync == Sync::Synced || one.prune);
    if !prune && only_prune {
        return Auto::Nothing;
    }
    let mut sync =
        json!({"revision": revision, "source": application["spec"]["source"], "syncOptions": policy["syncOptions"]});
    if prune {
        sync["prune"] = json!(true);
    }
    if let Some(state) = already_attempted(application, revision) {
        if text(state, "/phase") != "Succeeded" {
            return Auto::Told(format!("Failed last sync attempt to [{revision}]: {}", text(state, "/message")));
        }
        if automated["selfHeal"] != true {
            return Auto::Nothing;
        }
        match heal(state, now) {
            Err(wait) => return Auto::Later(wait),
            Ok(attempts) => sync["autoHealAttemptsCount"] = json!(attempts + 1),
        }
        sync["resources"] = out_of_sync(found);
    }
    if prune && automated["allowEmpty"] != true && found.managed.iter().all(|one| one.prune) {
        return Auto::Told(format!("Skipping sync attempt to [{revision}]: auto-sync will wipe out all resources"));
    }
    let retry = policy.get("retry").filter(|retry| retry.is_object()).cloned();
    let fields = sync.as_object().cloned().unwrap_or_default();
    let sync = Value::Object(fields.into_iter().filter(|(_, value)| !value.is_null()).collect());
    Auto::Start(json!({
        "sync": sync,
        "initiatedBy": {"automated": true},
        "retry": retry.unwrap_or_else(|| json!({"limit": DEFAULT_RETRIES})),
    }))
}

fn out_of_sync(found: &Found) -> Value {
    let odd = found.managed.iter().filter(|one| one.sync != Sync::Synced);
    odd.map(|one| told([("group", json!(one.key.group)), ("kind", json!(one.key.kind)), ("name", json!(one.key.name))]))
        .collect()
}

/// The state of the last operation, if it was about this very source at this very revision.
fn already_attempted<'a>(application: &'a Value, revision: &str) -> Option<&'a Value> {
    let state = application["status"].get("operationState").filter(|state| state.is_object())?;
    let result = &state["syncResult"];
    if !result.is_object() {
        return (!text(state, "/finishedAt").is_empty()).then_some(state);
    }
    (result["revision"] == revision && result["source"] == application["spec"]["source"]).then_some(state)
}

/// How many repairs there were in a row, or how long the next one waits.
fn heal(state: &Value, now: Timestamp) -> Result<i64, Duration> {
    let attempts = state.pointer("/operation/sync/autoHealAttemptsCount").and_then(Value::as_i64).unwrap_or(0);
    let since = time(text(state, "/finishedAt")).map(|end| now.duration_since(end).unsigned_abs()).unwrap_or_default();
    if since >= HEAL_FORGOTTEN || attempts == 0 {
        return Ok(0);
    }
    let steps = u32::try_from(attempts - 1).unwrap_or(u32::MAX).min(16);
    let wait = HEAL_FIRST.saturating_mul(HEAL_FACTOR.saturating_pow(steps)).min(HEAL_MAX);
    if since >= wait { Ok(attempts) } else { Err(wait - since) }
}

/// Whether an operation's options hold this one.
pub fn has_sync_option(operation: &Value, option: &str) -> bool {
    list(operation, "/sync/syncOptions").any(|one| one == option)
}

#[cfg(test)]
mod tests;
