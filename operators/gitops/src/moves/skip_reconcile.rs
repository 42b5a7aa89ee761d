//! Pausing of Applications during a move: Argo CD skips their reconciliation, and only the move that paused them
//! changes them.

use serde_json::{Value, json};

use super::InstanceWrite;
use crate::argocd::{API_VERSION, DATABASE_ID};
use crate::deployment::application::{self, REFRESH};
use crate::deployment::spec_field::SpecError;
use crate::flow::WriteTarget;
use crate::ids::MoveId;
use crate::kinds;
use crate::rows::Application;

/// Annotation that makes Argo CD skip an Application.
const SKIP: &str = "argocd.argoproj.io/skip-reconcile";

/// Annotation with the move that owns an Application.
const MOVE: &str = "managed-gitops.redhat.com/move";

/// Whether a move owns the Application. Other writers must not change it.
pub fn is_owned_by_move(object: &Value) -> bool {
    object["metadata"]["annotations"][MOVE].is_string()
}

/// Returns the move that owns the Application, or owned it last.
pub fn owning_move(object: &Value) -> Option<MoveId> {
    object["metadata"]["annotations"][MOVE].as_str().map(MoveId::from)
}

/// Whether this move has paused the Application.
pub fn is_paused_by(object: &Value, id: &MoveId) -> bool {
    object["metadata"]["annotations"][MOVE] == id.as_str() && object["metadata"]["annotations"][SKIP] == "true"
}

/// Returns the object paused by this move.
pub fn pause_object(mut object: Value, id: &MoveId) -> Value {
    object["metadata"]["annotations"][SKIP] = json!("true");
    object["metadata"]["annotations"][MOVE] = json!(id.as_str());
    object
}

/// Returns the object without pause, with a refresh requested.
pub fn resume_object(mut object: Value) -> Value {
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove(SKIP);
        annotations.remove(MOVE);
        annotations.insert(REFRESH.to_string(), json!("normal"));
    }
    object
}

/// Returns the write for the paused copy of an Application at the target, or `None` if the copy is up to date.
pub fn copy_write(
    row: &Application,
    namespace: &str,
    live: Option<&Value>,
    id: &MoveId,
) -> Result<Option<InstanceWrite>, SpecError> {
    let Some(live) = live else {
        return Ok(Some(InstanceWrite::Create(pause_object(application::object(row, namespace)?, id))));
    };
    let corrected = application::corrected(live, row)?;
    Ok(match corrected {
        Some(corrected) => Some(InstanceWrite::Update(pause_object(corrected, id))),
        None if !is_paused_by(live, id) => Some(InstanceWrite::Update(pause_object(live.clone(), id))),
        None => None,
    })
}

/// Whether Argo CD runs an operation on the Application or one is requested.
pub fn is_busy(object: &Value) -> bool {
    let phase = object["status"]["operationState"]["phase"].as_str();
    object["operation"].is_object() || matches!(phase, Some("Running" | "Terminating"))
}

/// Whether a sync has failed and Argo CD waits to retry it. Syncs are retried forever, and the target retries as well.
pub fn is_retrying(object: &Value) -> bool {
    let state = &object["status"]["operationState"];
    state["phase"] == "Running" && state["finishedAt"].is_string()
}

/// Returns the object with its sync terminating.
pub fn terminate_sync(mut object: Value) -> Value {
    object["status"]["operationState"]["phase"] = json!("Terminating");
    object
}

/// Whether the object has finalizers.
pub fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

/// Whether the object is terminating.
pub fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Returns the write that deletes an object and keeps its resources.
pub fn delete_write(object: &Value) -> InstanceWrite {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_string();
    let (api_version, kind) = match object["kind"].as_str() {
        Some("Secret") => ("v1", "Secret"),
        Some("AppProject") => (API_VERSION, "AppProject"),
        Some(crate::operation::kind::KIND) => (kinds::API_VERSION, crate::operation::kind::KIND),
        _ => (API_VERSION, application::KIND),
    };
    InstanceWrite::Delete {
        target: WriteTarget { api_version, kind, namespace: text("namespace"), name: text("name") },
        uid: text("uid"),
        version: text("resourceVersion"),
    }
}

/// Finds the row of an object.
pub fn row_of<'a>(object: &Value, rows: &'a [Application]) -> Option<&'a Application> {
    let id = object["metadata"]["labels"][DATABASE_ID].as_str()?;
    rows.iter().find(|row| row.id.as_str() == id)
}

/// Finds the object of a row.
pub fn object_of<'a>(row: &Application, objects: &'a [Value]) -> Option<&'a Value> {
    objects.iter().find(|object| object["metadata"]["name"] == row.name.as_str())
}
