//! Applications that sleep: Argo CD leaves them as they are, and so does everybody but the move that put them to sleep.

use serde_json::{Value, json};
use switchboard_ledger::ids::MoveId;
use switchboard_ledger::rows::Application;

use super::Act;
use crate::argo::application::{self, REFRESH};
use crate::argo::spec_field::SpecError;
use crate::argo::{API_VERSION, DATABASE_ID};
use crate::flow::Target;
use crate::kinds;

/// Argo CD's word for an Application that it leaves as it is.
const SKIP: &str = "argocd.argoproj.io/skip-reconcile";

/// Which move an Application is held by.
const MOVE: &str = "managed-gitops.redhat.com/move";

/// Whether a move holds this Application: nobody else may touch it.
pub fn is_held(object: &Value) -> bool {
    object["metadata"]["annotations"][MOVE].is_string()
}

/// The move that holds this Application, or held it last.
pub fn held_by(object: &Value) -> Option<MoveId> {
    object["metadata"]["annotations"][MOVE].as_str().map(MoveId::from)
}

/// Whether this move holds this Application.
pub fn is_held_by(object: &Value, id: &MoveId) -> bool {
    object["metadata"]["annotations"][MOVE] == id.as_str() && object["metadata"]["annotations"][SKIP] == "true"
}

/// The object, asleep.
pub fn held(mut object: Value, id: &MoveId) -> Value {
    object["metadata"]["annotations"][SKIP] = json!("true");
    object["metadata"]["annotations"][MOVE] = json!(id.as_str());
    object
}

/// The object, awake, and asked to compare.
pub fn awake(mut object: Value) -> Value {
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove(SKIP);
        annotations.remove(MOVE);
        annotations.insert(REFRESH.to_string(), json!("normal"));
    }
    object
}

/// The copy of an Application at the target, asleep; none if it is there as it should be.
pub fn copied(row: &Application, namespace: &str, live: Option<&Value>, id: &MoveId) -> Result<Option<Act>, SpecError> {
    let Some(live) = live else {
        return Ok(Some(Act::Create(held(application::object(row, namespace)?, id))));
    };
    let corrected = application::corrected(live, row)?;
    Ok(match corrected {
        Some(corrected) => Some(Act::Update(held(corrected, id))),
        None if !is_held_by(live, id) => Some(Act::Update(held(live.clone(), id))),
        None => None,
    })
}

/// Whether Argo CD is at work on it, or is asked to be.
pub fn is_busy(object: &Value) -> bool {
    let phase = object["status"]["operationState"]["phase"].as_str();
    object["operation"].is_object() || matches!(phase, Some("Running" | "Terminating"))
}

/// Whether a sync has failed, and Argo CD waits to try it again: ours are tried for ever, and the target tries as well.
pub fn is_retrying(object: &Value) -> bool {
    let state = &object["status"]["operationState"];
    state["phase"] == "Running" && state["finishedAt"].is_string()
}

/// The object, with its sync about to end.
pub fn ended(mut object: Value) -> Value {
    object["status"]["operationState"]["phase"] = json!("Terminating");
    object
}

/// Whether something must happen before it can go.
pub fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

/// Whether somebody deletes it.
pub fn is_going(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Lets an Application go without what it deployed.
pub fn forget(object: &Value) -> Act {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_string();
    let (api_version, kind) = match object["kind"].as_str() {
        Some("Secret") => ("v1", "Secret"),
        Some("AppProject") => (API_VERSION, "AppProject"),
        Some(kinds::operation::KIND) => (kinds::API_VERSION, kinds::operation::KIND),
        _ => (API_VERSION, application::KIND),
    };
    Act::Forget {
        target: Target { api_version, kind, namespace: text("namespace"), name: text("name") },
        uid: text("uid"),
        version: text("resourceVersion"),
    }
}

/// The row an object stands for, among these.
pub fn row_of<'a>(object: &Value, rows: &'a [Application]) -> Option<&'a Application> {
    let id = object["metadata"]["labels"][DATABASE_ID].as_str()?;
    rows.iter().find(|row| row.id.as_str() == id)
}

/// The object that stands for a row, among these.
pub fn object_of<'a>(row: &Application, objects: &'a [Value]) -> Option<&'a Value> {
    objects.iter().find(|object| object["metadata"]["name"] == row.name.as_str())
}
