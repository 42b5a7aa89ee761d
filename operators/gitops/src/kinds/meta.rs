//! What is needed of an object's metadata, and of a status that anybody may have written.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use switchboard_ledger::ids::Uid;

/// Metadata, as far as anything is decided by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// Its name.
    pub name: String,
    /// Its namespace; for an object without one, empty.
    pub namespace: String,
    /// What tells it from an earlier one of its name.
    pub uid: String,
    /// Counts changes of its spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// When its deletion was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<String>,
    /// Who must agree before it goes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Meta {
    /// An object of this name.
    pub fn named(namespace: &str, name: &str, uid: &str) -> Meta {
        Meta { namespace: namespace.into(), name: name.into(), uid: uid.into(), ..Meta::default() }
    }

    /// Its uid as an id.
    pub fn id(&self) -> Uid {
        Uid::from(self.uid.as_str())
    }

    /// Whether its deletion was asked for. To the service it is gone then.
    pub fn is_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}

/// A status; one that cannot be read is none. What the tenant wants stands in the spec, and must not wait for whoever mends a
/// status: the next one that is told takes its place.
pub(crate) fn status<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}
