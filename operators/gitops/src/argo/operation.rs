//! A sync, asked of Argo CD by its Application alone: no argocd-server, no password, and found again after a restart.

use serde_json::{Value, json};
use switchboard_ledger::ids::SyncOperationId;

/// In whose name syncs are asked for.
const INITIATOR: &str = "switchboard";

/// The entry by which a sync of ours is recognised.
const ENTRY: &str = "syncrun";

/// How a sync of ours stands on an Application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nobody asked yet.
    NotAsked,
    /// Another operation is under way.
    Busy,
    /// Ours is under way.
    Running,
    /// Ours is over, and well.
    Succeeded,
    /// Ours is over, and not well.
    Failed(String),
}

/// The patch that asks for a sync. It goes with the Application's resourceVersion: nothing may have begun meanwhile.
pub fn ask(id: &SyncOperationId, revision: &str, application: &Value) -> Value {
    let mut sync = json!({ "prune": false });
    // An empty revision is the Application's own.
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

/// How the sync of this id stands.
pub fn progress(id: &SyncOperationId, application: &Value) -> Progress {
    let state = &application["status"]["operationState"];
    if is_of(id, &application["operation"]) {
        return Progress::Running;
    }
    if is_of(id, &state["operation"]) {
        let message = state["message"].as_str().unwrap_or_default().to_string();
        return match state["phase"].as_str() {
            Some("Succeeded") => Progress::Succeeded,
            Some("Failed" | "Error") => Progress::Failed(message),
            _ => Progress::Running,
        };
    }
    let running = matches!(state["phase"].as_str(), Some("Running" | "Terminating"));
    if running || application["operation"].is_object() { Progress::Busy } else { Progress::NotAsked }
}

/// The patch that stops the sync of this id; none if it is not under way, or is stopping.
pub fn terminate(id: &SyncOperationId, application: &Value) -> Option<Value> {
    if is_of(id, &application["operation"]) { stop(application) } else { None }
}

fn is_of(id: &SyncOperationId, operation: &Value) -> bool {
    let entries = operation["info"].as_array().into_iter().flatten();
    entries.into_iter().any(|entry| entry["name"] == ENTRY && entry["value"] == id.as_str())
}

/// Ends whatever Argo CD is at, whoever asked for it; none if it is at nothing, or is ending it.
pub fn stop(live: &Value) -> Option<Value> {
    live["operation"].as_object()?;
    let version = json!({ "resourceVersion": live["metadata"]["resourceVersion"] });
    match live["status"]["operationState"]["phase"].as_str() {
        Some("Terminating") => None,
        Some("Running") => {
            Some(json!({ "metadata": version, "status": { "operationState": { "phase": "Terminating" } } }))
        }
        // It has not begun.
        _ => Some(json!({ "metadata": version, "operation": null })),
    }
}
