//! A cached object: its bytes, shared, and what is needed to find it.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_object::Map;

use crate::resource::ObjectKey;

/// An object as it was at one revision. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its name.
    pub key: ObjectKey,
    /// The revision it was read at: its `resourceVersion`.
    pub revision: u64,
    /// Its JSON, without `managedFields`.
    pub json: Arc<[u8]>,
}

impl Object {
    /// The object as a tree; parsed anew with every call.
    pub fn value(&self) -> Value {
        // What is cached was parsed when it came in.
        serde_json::from_slice(&self.json).unwrap_or(Value::Null)
    }

    /// The object as a typed value.
    ///
    /// # Errors
    /// When it does not have the type's shape.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.json)
    }

    /// Whether the other state of it differs in nothing but its status.
    pub fn same_but_for_status(&self, other: &Object) -> bool {
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

    /// Its labels.
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
