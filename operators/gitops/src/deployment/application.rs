//! Application: the unit of deployment in Argo CD.

use serde_json::{Value, json};

use super::spec_field::{self, SpecError};
use crate::argocd::{API_VERSION, DATABASE_ID, IN_CLUSTER};
use crate::rows;

/// Kind.
pub const KIND: &str = "Application";

/// Finalizer that is added before an Application is deleted, so that Argo CD deletes its resources in the background.
pub const FINALIZER: &str = "resources-finalizer.argocd.argoproj.io/background";

/// Annotation that requests a refresh.
pub const REFRESH: &str = "argocd.argoproj.io/refresh";

/// Builds the Application of a row for an Argo CD in this namespace.
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

/// Returns the live object with the spec and the label of its row, or `None` if it already has them.
///
/// The row owns the whole spec: `sources` would replace `source`, and `ignoreDifferences` would hide differences.
/// managed-gitops compares four keys only and keeps other edits.
///
/// # Guarantees
/// - An edit of the spec is reverted, any other is kept.          // test: guarantees_an_edit_of_the_spec_is_reverted_and_others_are_kept
pub fn corrected(live: &Value, row: &rows::Application) -> Result<Option<Value>, SpecError> {
    let mut object = live.clone();
    object["spec"] = spec_field::read(&row.spec_field)?;
    if object["metadata"]["labels"][DATABASE_ID] != row.id.as_str() {
        object["metadata"]["labels"][DATABASE_ID] = json!(row.id.as_str());
    }
    Ok(Some(object).filter(|object| !same(object, live)))
}

/// Compares two objects. A missing list equals an empty one.
fn same(one: &Value, other: &Value) -> bool {
    let plain = |object: &Value| crate::argocd::keys::without_empty(object.clone());
    plain(one) == plain(other)
}

/// Whether an Application deploys to the cluster Argo CD runs on, which has no Secret.
pub fn is_in_cluster(spec: &Value) -> bool {
    spec["destination"]["name"] == IN_CLUSTER
}

/// Returns the key of an Application's row from its label.
pub fn row_of(object: &Value) -> Option<&str> {
    object["metadata"]["labels"][DATABASE_ID].as_str()
}
