//! Application: what Argo CD deploys.

use serde_json::{Map, Value, json};
use switchboard_ledger::rows;

use super::spec_field::{self, SpecError};
use super::{API_VERSION, DATABASE_ID, IN_CLUSTER};

/// The kind.
pub const KIND: &str = "Application";

/// Added before an Application is deleted: Argo CD then deletes what was deployed, in the background.
pub const FINALIZER: &str = "resources-finalizer.argocd.argoproj.io/background";

/// Asks Argo CD to compare anew.
pub const REFRESH: &str = "argocd.argoproj.io/refresh";

/// What of a spec is ours. Whatever else stands in an Application is left as it is.
const OURS: [&str; 4] = ["destination", "project", "source", "syncPolicy"];

/// The object of a row, on an Argo CD of this namespace.
pub fn object(row: &rows::Application, namespace: &str) -> Result<Value, SpecError> {
    Ok(json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": row.name,
            "namespace": namespace,
            "labels": { DATABASE_ID: row.id.as_str() },
        },
        "spec": spec_field::read(&row.spec_field)?,
    }))
}

/// The object as it is, with what is ours as the row says; none if it is so already.
///
/// # Guarantees
/// - An edit of what is ours is undone, any other is kept.      // test: guarantees_an_edit_is_undone_and_others_are_kept
pub fn corrected(live: &Value, row: &rows::Application) -> Result<Option<Value>, SpecError> {
    let wanted = spec_field::read(&row.spec_field)?;
    let mut object = live.clone();
    if !object["spec"].is_object() {
        object["spec"] = Value::Object(Map::new());
    }
    for key in OURS {
        match (wanted.get(key), object["spec"].as_object_mut()) {
            (Some(value), Some(spec)) => spec.insert(key.to_string(), value.clone()),
            (None, Some(spec)) => spec.remove(key),
            (_, None) => None,
        };
    }
    if object["metadata"]["labels"][DATABASE_ID] != row.id.as_str() {
        object["metadata"]["labels"][DATABASE_ID] = json!(row.id.as_str());
    }
    Ok(Some(object).filter(|object| !same(object, live)))
}

/// No options and an empty list of them are the same.
fn same(one: &Value, other: &Value) -> bool {
    let plain = |object: &Value| super::keys::without_nothing(object.clone());
    plain(one) == plain(other)
}

/// Whether a row's Application deploys to the cluster Argo CD runs on, for which there is no Secret.
pub fn is_in_cluster(spec: &Value) -> bool {
    spec["destination"]["name"] == IN_CLUSTER
}

/// The row an Application belongs to, by its label.
pub fn row_of(object: &Value) -> Option<&str> {
    object["metadata"]["labels"][DATABASE_ID].as_str()
}
