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
    /// Its JSON; with `managedFields` only where an operator reads the kind that asked for them.
    pub json: Arc<[u8]>,
}

const MANAGED_FIELDS: &[u8] = b"\"managedFields\"";

impl Object {
    /// The object as a tree, without `managedFields`; parsed anew with every call.
    pub fn value(&self) -> Value {
        let mut value = self.whole();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        value
    }

    /// The object as a tree, with all that is kept of it.
    pub fn whole(&self) -> Value {
        // What is cached was parsed when it came in.
        serde_json::from_slice(&self.json).unwrap_or(Value::Null)
    }

    /// The object as a typed value.
    ///
    /// # Errors
    /// When it does not have the type's shape.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        // Nobody but who asked for them is to see them: what is read is often written back.
        if self.json.windows(MANAGED_FIELDS.len()).any(|bytes| bytes == MANAGED_FIELDS) {
            return serde_json::from_value(self.value());
        }
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
