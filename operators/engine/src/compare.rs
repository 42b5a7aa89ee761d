//! Comparison of a live object with its manifest.
//!
//! Every field of the manifest must match. Other fields belong to the cluster, unless an earlier commit set them: those
//! are found in the last-applied annotation, which `kubectl apply` and Argo CD use as well.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use switchboard_object::quantity::Quantity;

use crate::object_fields::{annotation, text};

/// Annotation with the last applied manifest.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Maximum size of that annotation. All annotations of an object together may have 256 KiB.
pub const MAX_LAST_APPLIED: usize = 200 << 10;
/// Fields whose values are quantities, so that `1000m` equals `1`.
const QUANTITIES: [&str; 8] = ["limits", "requests", "capacity", "hard", "default", "defaultRequest", "max", "min"];

/// Normalizes a manifest to the form the API server stores: `stringData` becomes `data`, and the status and server-set
/// metadata are removed.
pub fn normalized(mut wanted: Value) -> Value {
    let is_secret = text(&wanted, "/kind") == "Secret" && text(&wanted, "/apiVersion") == "v1";
    let Some(object) = wanted.as_object_mut() else { return wanted };
    object.remove("status");
    if is_secret && let Some(Value::Object(clear)) = object.remove("stringData") {
        let data = object.entry("data").or_insert_with(|| Value::Object(Map::new()));
        if let Some(data) = data.as_object_mut() {
            let coded = clear.into_iter().map(|(key, value)| (key, Value::String(base64_encoded(&value))));
            data.extend(coded);
        }
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["creationTimestamp", "resourceVersion", "uid", "generation", "managedFields", "selfLink"] {
            metadata.remove(field);
        }
    }
    wanted
}

fn base64_encoded(value: &Value) -> String {
    STANDARD.encode(value.as_str().map_or_else(|| value.to_string(), ToString::to_string))
}

/// Whether a live object matches its manifest, which must be [`normalized`].
pub fn is_in_sync(wanted: &Value, live: &Value) -> bool {
    if text(wanted, "/kind") == "Secret" && text(wanted, "/apiVersion") == "v1" {
        // Secrets have no last-applied annotation, so every live key must be in the manifest.
        let keys = |object: &Value| object["data"].as_object().map(|data| data.len()).unwrap_or(0);
        return keys(wanted) == keys(live) && contains(live, wanted, "");
    }
    contains(live, wanted, "") && !has_removed_fields(wanted, live)
}

/// Whether the live value contains the manifest's value.
fn contains(live: &Value, wanted: &Value, field: &str) -> bool {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => wanted.iter().all(|(key, value)| match live.get(key) {
            Some(there) => {
                let field = if QUANTITIES.contains(&field) { field } else { key.as_str() };
                contains(there, value, field)
            }
            None => is_empty_value(value),
        }),
        (Value::Array(wanted), Value::Array(live)) => {
            wanted.len() == live.len() && wanted.iter().zip(live).all(|(wanted, live)| contains(live, wanted, field))
        }
        (Value::Null, _) => true,
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (one, other) if one == other => true,
        (one, other) => QUANTITIES.contains(&field) && same_quantity(one, other),
    }
}

/// Whether an API server may omit the value, because it equals the default of its type.
fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_empty_value),
    }
}

fn same_quantity(one: &Value, other: &Value) -> bool {
    match (Quantity::from_value(one), Quantity::from_value(other)) {
        (Ok(one), Ok(other)) => one.minus(&other).is_zero(),
        _ => false,
    }
}

/// Whether the object still has a field that was applied and is no longer in the manifest.
fn has_removed_fields(wanted: &Value, live: &Value) -> bool {
    let applied = annotation(live, LAST_APPLIED);
    let Ok(applied) = serde_json::from_str::<Value>(applied) else { return false };
    has_remaining_field(&applied, wanted, live)
}

fn has_remaining_field(applied: &Value, wanted: &Value, live: &Value) -> bool {
    let (Value::Object(applied), Value::Object(live)) = (applied, live) else { return false };
    applied.iter().any(|(key, value)| match (wanted.get(key), live.get(key)) {
        (_, None) => false,
        (None, Some(_)) => !is_empty_value(value),
        (Some(wanted), Some(live)) => has_remaining_field(value, wanted, live),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}, "data": data})
    }

    fn applied(mut live: Value, last: &Value) -> Value {
        live["metadata"]["annotations"] = json!({LAST_APPLIED: last.to_string()});
        live
    }

    #[test]
    fn fields_outside_of_the_manifest_are_ignored() {
        let mut live = map(json!({"a": "1", "b": "2"}));
        live["metadata"]["uid"] = json!("u");
        live["metadata"]["labels"] = json!({"added": "by another"});
        assert!(is_in_sync(&map(json!({"a": "1"})), &live));
        assert!(!is_in_sync(&map(json!({"a": "2"})), &live));
        assert!(!is_in_sync(&map(json!({"c": "1"})), &live));
    }

    #[test]
    fn removed_fields_are_detected() {
        let before = map(json!({"a": "1", "b": "2"}));
        let live = applied(map(json!({"a": "1", "b": "2", "c": "3"})), &before);
        assert!(!is_in_sync(&map(json!({"a": "1"})), &live));
        assert!(is_in_sync(&before, &live));
        let gone = applied(map(json!({"a": "1"})), &before);
        assert!(is_in_sync(&map(json!({"a": "1"})), &gone));
    }

    #[test]
    fn equivalent_values_of_the_server_are_in_sync() {
        let wanted = json!({"spec": {"hostNetwork": false, "x": null, "e": [], "resources": {"limits": {"cpu": "1000m", "memory": 1024}},
            "replicas": 2.0}});
        let live = json!({"spec": {"resources": {"limits": {"cpu": "1", "memory": "1Ki"}}, "replicas": 2}});
        assert!(is_in_sync(&wanted, &live));
        assert!(!is_in_sync(&json!({"spec": {"cpu": "1000m"}}), &json!({"spec": {"cpu": "1"}})));
        assert!(!is_in_sync(&json!({"a": [1, 2]}), &json!({"a": [1]})));
    }

    #[test]
    fn a_secret_is_compared_with_all_its_keys() {
        let wanted = normalized(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "creationTimestamp": null},
            "stringData": {"a": "hello"}, "status": {}}),
        );
        assert_eq!(wanted["data"]["a"], "aGVsbG8=");
        assert!(wanted.get("stringData").is_none() && wanted.get("status").is_none());
        let live = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "Opaque", "data": {"a": "aGVsbG8="}});
        assert!(is_in_sync(&wanted, &live));
        let mut more = live.clone();
        more["data"]["b"] = json!("eA==");
        assert!(!is_in_sync(&wanted, &more));
    }
}
