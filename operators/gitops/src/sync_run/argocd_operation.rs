//! Syncs requested through the Application object: without argocd-server and its password, and recoverable after a
//! restart.

use crate::ids::SyncOperationId;
use serde_json::{Value, json};

/// Initiator of the syncs.
const INITIATOR: &str = "switchboard";

/// Name of the `info` entry that identifies a sync of the service.
const ENTRY: &str = "syncrun";

/// Progress of a requested sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncProgress {
    /// The sync has not been requested yet.
    NotRequested,
    /// Another operation is in progress.
    Busy,
    /// The sync is in progress.
    Running,
    /// The sync has succeeded.
    Succeeded,
    /// The sync has failed with this message.
    Failed(String),
}

/// Returns the patch that requests a sync. It contains the resourceVersion, so that it fails if another operation has
/// started.
pub fn sync_patch(id: &SyncOperationId, revision: &str, application: &Value) -> Value {
    let mut sync = json!({ "prune": false });
    // Without a revision, Argo CD uses the Application's own.
    if !revision.is_empty() {
        sync["revision"] = json!(revision);
    }
    if let Some(options) = application["spec"]["syncPolicy"]["syncOptions"].as_array().filter(|all| !all.is_empty()) {
        sync["syncOptions"] = json!(options);
    }
    json!({
        "metadata": { "resourceVersion": application["metadata"]["resourceVersion"] },
        "operation": {
            "initiatedBy": { "username": INITIATOR },
            "info": [{ "name": ENTRY, "value": id.as_str() }],
            "sync": sync,
        },
        "status": { "operationState": null },
    })
}

/// Returns the progress of the sync with this id.
pub fn progress(id: &SyncOperationId, application: &Value) -> SyncProgress {
    let state = &application["status"]["operationState"];
    if is_of(id, &application["operation"]) {
        return SyncProgress::Running;
    }
    if is_of(id, &state["operation"]) {
        let message = state["message"].as_str().unwrap_or_default().to_string();
        return match state["phase"].as_str() {
            Some("Succeeded") => SyncProgress::Succeeded,
            Some("Failed" | "Error") => SyncProgress::Failed(message),
            _ => SyncProgress::Running,
        };
    }
    let running = matches!(state["phase"].as_str(), Some("Running" | "Terminating"));
    if running || application["operation"].is_object() { SyncProgress::Busy } else { SyncProgress::NotRequested }
}

/// Returns the patch that stops the sync with this id, or `None` if it is not in progress or already stopping.
pub fn terminate_patch(id: &SyncOperationId, application: &Value) -> Option<Value> {
    if is_of(id, &application["operation"]) { stop_patch(application) } else { None }
}

fn is_of(id: &SyncOperationId, operation: &Value) -> bool {
    let entries = operation["info"].as_array().into_iter().flatten();
    entries.into_iter().any(|entry| entry["name"] == ENTRY && entry["value"] == id.as_str())
}

/// Returns the patch that stops any operation of Argo CD, or `None` if none is in progress or it is already stopping.
pub fn stop_patch(live: &Value) -> Option<Value> {
    live["operation"].as_object()?;
    let version = json!({ "resourceVersion": live["metadata"]["resourceVersion"] });
    match live["status"]["operationState"]["phase"].as_str() {
        Some("Terminating") => None,
        Some("Running") => {
            Some(json!({ "metadata": version, "status": { "operationState": { "phase": "Terminating" } } }))
        }
        // The operation has not started yet.
        _ => Some(json!({ "metadata": version, "operation": null })),
    }
}
