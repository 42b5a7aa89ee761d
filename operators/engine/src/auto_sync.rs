//! Automated sync of an Application that is out of sync.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object_fields::{list, non_empty_fields, parse_time, text};
use crate::status::{ComparisonResult, SyncStatusCode};

/// Backoff before the second self-heal in a row; it triples with each further one.
const SELF_HEAL_BACKOFF: Duration = Duration::from_secs(2);
const SELF_HEAL_FACTOR: u32 = 3;
const SELF_HEAL_MAX_BACKOFF: Duration = Duration::from_secs(300);
/// Time without a self-heal after which the backoff starts over.
const SELF_HEAL_RESET: Duration = Duration::from_secs(330);
/// Retry limit of an automated sync if the Application sets none, as in Argo CD.
const DEFAULT_RETRIES: i64 = 5;

/// Decision about an automated sync.
#[derive(Clone, Debug, PartialEq)]
pub enum AutoSyncDecision {
    /// No sync is needed or allowed.
    Nothing,
    /// Start this operation.
    StartSync(Value),
    /// Report this message as a `SyncError` condition instead of syncing.
    SyncError(String),
    /// Decide again after this time.
    RetryAfter(Duration),
}

/// Decides whether to start a sync. `revision` is the one that was compared.
pub fn decide(application: &Value, found: &ComparisonResult, revision: &str, now: Timestamp) -> AutoSyncDecision {
    let policy = &application["spec"]["syncPolicy"];
    let automated = &policy["automated"];
    let is_on = automated.is_object() && automated["enabled"] != false;
    if !is_on || application["operation"].is_object() || found.sync != SyncStatusCode::OutOfSync {
        return AutoSyncDecision::Nothing;
    }
    let prune = automated["prune"] == true;
    let only_prune = found.managed.iter().all(|one| one.sync == SyncStatusCode::Synced || one.prune);
    if !prune && only_prune {
        return AutoSyncDecision::Nothing;
    }
    let mut sync =
        json!({"revision": revision, "source": application["spec"]["source"], "syncOptions": policy["syncOptions"]});
    if prune {
        sync["prune"] = json!(true);
    }
    if let Some(state) = already_attempted(application, revision) {
        if text(state, "/phase") != "Succeeded" {
            return AutoSyncDecision::SyncError(format!(
                "Failed last sync attempt to [{revision}]: {}",
                text(state, "/message")
            ));
        }
        if automated["selfHeal"] != true {
            return AutoSyncDecision::Nothing;
        }
        match self_heal_attempts(state, now) {
            Err(wait) => return AutoSyncDecision::RetryAfter(wait),
            Ok(attempts) => sync["autoHealAttemptsCount"] = json!(attempts + 1),
        }
        sync["resources"] = out_of_sync_resources(found);
    }
    if prune && automated["allowEmpty"] != true && found.managed.iter().all(|one| one.prune) {
        return AutoSyncDecision::SyncError(format!(
            "Skipping sync attempt to [{revision}]: auto-sync will wipe out all resources"
        ));
    }
    let retry = policy.get("retry").filter(|retry| retry.is_object()).cloned();
    let fields = sync.as_object().cloned().unwrap_or_default();
    let sync = Value::Object(fields.into_iter().filter(|(_, value)| !value.is_null()).collect());
    AutoSyncDecision::StartSync(json!({
        "sync": sync,
        "initiatedBy": {"automated": true},
        "retry": retry.unwrap_or_else(|| json!({"limit": DEFAULT_RETRIES})),
    }))
}

fn out_of_sync_resources(found: &ComparisonResult) -> Value {
    let odd = found.managed.iter().filter(|one| one.sync != SyncStatusCode::Synced);
    odd.map(|one| {
        non_empty_fields([
            ("group", json!(one.key.group)),
            ("kind", json!(one.key.kind)),
            ("name", json!(one.key.name)),
        ])
    })
    .collect()
}

/// Returns the state of the last operation if it synced the same source at the same revision.
fn already_attempted<'a>(application: &'a Value, revision: &str) -> Option<&'a Value> {
    let state = application["status"].get("operationState").filter(|state| state.is_object())?;
    let result = &state["syncResult"];
    if !result.is_object() {
        return (!text(state, "/finishedAt").is_empty()).then_some(state);
    }
    (result["revision"] == revision && result["source"] == application["spec"]["source"]).then_some(state)
}

/// Returns the number of self-heals in a row, or as an error the time until the next one is allowed.
fn self_heal_attempts(state: &Value, now: Timestamp) -> Result<i64, Duration> {
    let attempts = state.pointer("/operation/sync/autoHealAttemptsCount").and_then(Value::as_i64).unwrap_or(0);
    let since =
        parse_time(text(state, "/finishedAt")).map(|end| now.duration_since(end).unsigned_abs()).unwrap_or_default();
    if since >= SELF_HEAL_RESET || attempts == 0 {
        return Ok(0);
    }
    let steps = u32::try_from(attempts - 1).unwrap_or(u32::MAX).min(16);
    let wait = SELF_HEAL_BACKOFF.saturating_mul(SELF_HEAL_FACTOR.saturating_pow(steps)).min(SELF_HEAL_MAX_BACKOFF);
    if since >= wait { Ok(attempts) } else { Err(wait - since) }
}

/// Whether an operation has this sync option.
pub fn has_sync_option(operation: &Value, option: &str) -> bool {
    list(operation, "/sync/syncOptions").any(|one| one == option)
}

#[cfg(test)]
mod tests;
