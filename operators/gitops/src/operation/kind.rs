//! Operation object: notification from the backend to an agent. It contains the key of a row and nothing else.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ids::OperationId;
use crate::kinds::{API_VERSION, ObjectMeta};

/// Kind.
pub const KIND: &str = "Operation";

/// Annotation of objects that a cleanup created.
pub const CLEANUP_ANNOTATION: (&str, &str) = ("source", "periodic-cleanup");

/// Notification about a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationObject {
    /// Metadata. The name does not identify the row, because managed-gitops's tests choose their own names.
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(default)]
    pub spec: OperationSpec,
}

/// Specification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationSpec {
    /// Key of the row.
    #[serde(rename = "operationID", default)]
    pub operation_id: String,
}

/// Builds the object of a row, in the namespace of its Argo CD.
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

/// Prefix of the names that the service chooses, followed by the key of the row.
const NAME: &str = "operation-";

/// Returns the name of a row's object.
pub fn name(id: &OperationId) -> String {
    format!("{NAME}{id}")
}

/// Returns the key of the row from a name that the service chose.
pub fn row_of(name: &str) -> Option<String> {
    name.strip_prefix(NAME).filter(|id| !id.is_empty()).map(str::to_string)
}
