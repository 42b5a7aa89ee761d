//! Application: what Argo CD deploys.

use serde_json::{Value, json};
use switchboard_ledger::rows;

use super::spec_field::{self, SpecError};
use super::{API_VERSION, DATABASE_ID, IN_CLUSTER};

/// The kind.
pub const KIND: &str = "Application";

/// Added before an Application is deleted: Argo CD then deletes what was deployed, in the background.
pub const FINALIZER: &str = "resources-finalizer.argocd.argoproj.io/background";

/// Asks Argo CD to compare anew.
pub const REFRESH: &str = "argocd.argoproj.io/refresh";

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

/// The object as it is, with the spec and the label of its row; none if it has them already.
///
/// All of the spec is the row's: `sources` would replace `source`, and `ignoreDifferences` hide what is not deployed. The original
/// compares four keys and leaves the rest as somebody made it.
///
/// # Guarantees
/// - An edit of the spec is undone, any other is kept.          // test: guarantees_an_edit_is_undone_and_others_are_kept
pub fn corrected(live: &Value, row: &rows::Application) -> Result<Option<Value>, SpecError> {
    let mut object = live.clone();
    object["spec"] = spec_field::read(&row.spec_field)?;
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
