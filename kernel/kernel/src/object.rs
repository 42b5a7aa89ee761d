//! Cached object: its shared bytes, and its key.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_object::Map;

use crate::resource::ObjectKey;

/// Object at one revision. Clones share the bytes.
#[derive(Clone, Debug)]
pub struct Object {
    /// Key of the object.
    pub key: ObjectKey,
    /// Revision at which the object was read: its `resourceVersion`.
    pub revision: u64,
    /// JSON of the object; with `managedFields` only if an operator that reads the kind needs them.
    pub json: Arc<[u8]>,
}

const MANAGED_FIELDS: &[u8] = b"\"managedFields\"";

impl Object {
    /// Parses the object, without `managedFields`.
    pub fn value(&self) -> Value {
        let mut value = self.full_value();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        value
    }

    /// Parses the object with everything that is cached.
    pub fn full_value(&self) -> Value {
        // The bytes were parsed when they were received.
        serde_json::from_slice(&self.json).unwrap_or(Value::Null)
    }

    /// Parses the object into a typed value.
    ///
    /// # Errors
    /// When the object does not have the type's shape.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        // `managedFields` are removed, because objects that were read are often written back.
        if self.json.windows(MANAGED_FIELDS.len()).any(|bytes| bytes == MANAGED_FIELDS) {
            return serde_json::from_value(self.value());
        }
        serde_json::from_slice(&self.json)
    }

    /// Whether two states of an object differ at most in their status.
    pub fn equal_ignoring_status(&self, other: &Object) -> bool {
        let settled = |object: &Object| {
            let mut value = object.value();
            if let Some(fields) = value.as_object_mut() {
                fields.remove("status");
            }
            if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("resourceVersion");
            }
            value
        };
        settled(self) == settled(other)
    }

    /// Whether two states of an object differ at most in their revision, so that no operator can see a difference.
    pub fn equal_ignoring_revision(&self, other: &Object) -> bool {
        let content = |object: &Object| {
            let mut value = object.full_value();
            if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("resourceVersion");
            }
            value
        };
        content(self) == content(other)
    }

    /// Returns the labels.
    pub fn labels(&self) -> Map {
        #[derive(serde::Deserialize, Default)]
        struct Metadata {
            #[serde(default)]
            labels: Option<Map>,
        }
        #[derive(serde::Deserialize)]
        struct Labelled {
            #[serde(default)]
            metadata: Metadata,
        }
        serde_json::from_slice::<Labelled>(&self.json).ok().and_then(|o| o.metadata.labels).unwrap_or_default()
    }
}
