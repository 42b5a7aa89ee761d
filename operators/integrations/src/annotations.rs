//! Annotations that mark an object as managed by the integrations manager.

use serde_json::{Map, Value};

use crate::hash;

/// Program that manages the object.
pub const INTEGRATION: &str = "qontract.integration";
/// Version of that program.
pub const VERSION: &str = "qontract.integration_version";
/// Hash of the desired object.
pub const SHA256SUM: &str = "qontract.sha256sum";
/// Time of the last write.
pub const UPDATE: &str = "qontract.update";
/// Caller that the object is managed for: the upstream.
pub const CALLER: &str = "qontract.caller_name";
/// All annotations of qontract-reconcile.
pub const ALL: [&str; 5] = [INTEGRATION, VERSION, SHA256SUM, UPDATE, CALLER];
/// Annotation that `oc apply` uses to find removed fields.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Program name that qontract-reconcile writes, and therefore Switchboard as well.
pub const OUR_NAME: &str = "integrations-manager";
/// Version that qontract-reconcile writes.
pub const OUR_VERSION: &str = "0.1.0";

/// Returns the object with its annotations. `update` is omitted in output for comparison.
pub fn annotate(object: &Value, caller: &str, update: Option<jiff::Timestamp>) -> Value {
    let sum = hash::hash(object);
    annotate_with(object, caller, &sum, update)
}

/// Returns the object with its annotations and a known hash.
pub fn annotate_with(object: &Value, caller: &str, sum: &str, update: Option<jiff::Timestamp>) -> Value {
    let mut object = object.clone();
    let Value::Object(body) = &mut object else { return object };
    let metadata = body.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(metadata) = metadata else { return object };
    let slot = metadata.entry("annotations").or_insert(Value::Null);
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    if let Value::Object(annotations) = slot {
        let mut mark = |name: &str, value: &str| annotations.insert(name.to_string(), value.into());
        mark(INTEGRATION, OUR_NAME);
        mark(VERSION, OUR_VERSION);
        mark(SHA256SUM, sum);
        mark(CALLER, caller);
        if let Some(update) = update {
            mark(UPDATE, &update.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
    }
    object
}

/// Values of an object's annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QontractAnnotations {
    /// Program that manages the object.
    pub integration: Option<String>,
    /// Version of that program.
    pub version: Option<String>,
    /// Hash of the desired object.
    pub sum: Option<String>,
    /// Caller that the object is managed for.
    pub caller: Option<String>,
}

impl QontractAnnotations {
    /// Reads the annotations of an object.
    pub fn from_object(object: &Value) -> Self {
        let text = |name: &str| {
            let found = object.get("metadata")?.get("annotations")?.get(name)?;
            found.as_str().map(str::to_string)
        };
        Self { integration: text(INTEGRATION), version: text(VERSION), sum: text(SHA256SUM), caller: text(CALLER) }
    }

    /// Whether the annotations have the manager's name, its major version and a hash.
    pub fn are_ours(&self) -> bool {
        let major = |version: &str| version.split('.').next().and_then(|major| major.parse::<u64>().ok());
        let same_major = self
            .version
            .as_deref()
            .is_some_and(|version| version.split('.').count() == 3 && major(version) == major(OUR_VERSION));
        self.integration.as_deref() == Some(OUR_NAME) && same_major && self.sum.is_some()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_has_five_annotations_that_do_not_change_its_hash() {
        let object = json!({"kind": "Service", "metadata": {"name": "x", "annotations": null}});
        let marked = annotate(&object, "https://up", Some("2026-01-02T03:04:05.678Z".parse().unwrap()));
        let marks = &marked["metadata"]["annotations"];
        assert_eq!(marks["qontract.update"], "2026-01-02T03:04:05Z");
        assert_eq!(marks["qontract.sha256sum"], json!(hash::hash(&marked)));
        assert_eq!(marks.as_object().unwrap().len(), 5);
        assert!(QontractAnnotations::from_object(&marked).are_ours());
        let mut other = marked.clone();
        other["metadata"]["annotations"][VERSION] = "1.0.0".into();
        assert!(!QontractAnnotations::from_object(&other).are_ours());
    }
}
