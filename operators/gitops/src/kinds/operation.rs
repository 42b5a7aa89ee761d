//! Operation: the doorbell between the two roles. It holds the key of a row and nothing else.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_ledger::ids::OperationId;

use super::{API_VERSION, Meta};

/// The kind.
pub const KIND: &str = "Operation";

/// Says that a clean-up rang, not a tenant's wish.
pub const CLEANUP_ANNOTATION: (&str, &str) = ("source", "periodic-cleanup");

/// A doorbell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Who it is. Its name is no key: tests of the original ring with one of their own.
    pub metadata: Meta,
    /// What it says.
    #[serde(default)]
    pub spec: OperationSpec,
}

/// What it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationSpec {
    /// The key of a row.
    #[serde(rename = "operationID", default)]
    pub operation_id: String,
}

/// The object for a row, in the namespace of its Argo CD.
pub fn object(id: &OperationId, namespace: &str, is_cleanup: bool) -> Value {
    let mut object = json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": { "name": name(id), "namespace": namespace },
        "spec": { "operationID": id.as_str() },
    });
    if is_cleanup {
        let (key, value) = CLEANUP_ANNOTATION;
        object["metadata"]["annotations"] = json!({ key: value });
    }
    object
}

/// What every name of ours begins with; the key of the row follows.
const NAME: &str = "operation-";

/// Its name.
pub fn name(id: &OperationId) -> String {
    format!("{NAME}{id}")
}

/// The key of the row that an object of this name of ours is for, whether it is there or not.
pub fn row_of(name: &str) -> Option<String> {
    name.strip_prefix(NAME).filter(|id| !id.is_empty()).map(str::to_string)
}
