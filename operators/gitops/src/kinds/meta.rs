//! Object metadata, and tolerant reading of a status that any writer may have changed.

use std::collections::BTreeMap;

use crate::ids::Uid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Metadata fields that decisions use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    /// Name.
    pub name: String,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// UID, which differs from that of an earlier object with the same name.
    pub uid: String,
    /// Generation of the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Time of the deletion request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<String>,
    /// Owners; the garbage collector deletes the object when all are deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<Value>,
    /// Finalizers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl ObjectMeta {
    /// Creates metadata with namespace, name and UID.
    pub fn new(namespace: &str, name: &str, uid: &str) -> ObjectMeta {
        ObjectMeta { namespace: namespace.into(), name: name.into(), uid: uid.into(), ..ObjectMeta::default() }
    }

    /// Returns the UID as an id.
    pub fn id(&self) -> Uid {
        Uid::from(self.uid.as_str())
    }

    /// Whether the deletion was requested. The service treats such an object as deleted.
    pub fn is_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}

/// Reads a status; an unreadable one becomes empty. The tenant's spec must be processed even if a status is broken, and
/// the next report replaces the status.
pub(crate) fn lenient_status<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}
