//! Whether a live object is as it is wanted.
//!
//! What the repository says must be so; what it does not say is the cluster's business, unless an earlier commit said it: that is
//! known from what was applied last, which stands in the annotation that `kubectl apply` and Argo CD use as well.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use switchboard_object::quantity::Quantity;

use crate::field::{annotation, text};

/// What was applied last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The longest text that is kept so: the annotations of an object may have 256 KiB together.
pub const MAX_LAST_APPLIED: usize = 200 << 10;
/// Fields whose values are quantities: `1000m` is `1`.
const QUANTITIES: [&str; 8] = ["limits", "requests", "capacity", "hard", "default", "defaultRequest", "max", "min"];

/// An object as it is wanted, in the form the API server keeps it in: `stringData` is `data`, no status, nothing empty that the
/// server would leave out.
pub fn normalised(mut wanted: Value) -> Value {
    let is_secret = text(&wanted, "/kind") == "Secret" && text(&wanted, "/apiVersion") == "v1";
    let Some(object) = wanted.as_object_mut() else { return wanted };
    object.remove("status");
    if is_secret && let Some(Value::Object(clear)) = object.remove("stringData") {
        let data = object.entry("data").or_insert_with(|| Value::Object(Map::new()));
        if let Some(data) = data.as_object_mut() {
            let coded = clear.into_iter().map(|(key, value)| (key, Value::String(coded(&value))));
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

fn coded(value: &Value) -> String {
    STANDARD.encode(value.as_str().map_or_else(|| value.to_string(), ToString::to_string))
}

/// Whether a live object is as it is wanted; `wanted` is [`normalised`].
pub fn is_same(wanted: &Value, live: &Value) -> bool {
    if text(wanted, "/kind") == "Secret" && text(wanted, "/apiVersion") == "v1" {
        // Its values are not kept a second time as what was applied last: all keys are the repository's.
        let keys = |object: &Value| object["data"].as_object().map(|data| data.len()).unwrap_or(0);
        return keys(wanted) == keys(live) && holds(live, wanted, "");
    }
    holds(live, wanted, "") && !left_behind(wanted, live)
}

/// Whether the live value holds what is wanted.
fn holds(live: &Value, wanted: &Value, field: &str) -> bool {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => wanted.iter().all(|(key, value)| match live.get(key) {
            Some(there) => {
                let field = if QUANTITIES.contains(&field) { field } else { key.as_str() };
                holds(there, value, field)
            }
            None => is_nothing(value),
        }),
        (Value::Array(wanted), Value::Array(live)) => {
            wanted.len() == live.len() && wanted.iter().zip(live).all(|(wanted, live)| holds(live, wanted, field))
        }
        (Value::Null, _) => true,
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (one, other) if one == other => true,
        (one, other) => QUANTITIES.contains(&field) && same_quantity(one, other),
    }
}

/// What an API server leaves out: typed fields that say what they say anyway.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_nothing),
    }
}

fn same_quantity(one: &Value, other: &Value) -> bool {
    match (Quantity::from_value(one), Quantity::from_value(other)) {
        (Ok(one), Ok(other)) => one.minus(&other).is_zero(),
        _ => false,
    }
}

/// Whether something is still there that was applied, and is not wanted any more.
fn left_behind(wanted: &Value, live: &Value) -> bool {
    let applied = annotation(live, LAST_APPLIED);
    let Ok(applied) = serde_json::from_str::<Value>(applied) else { return false };
    remains(&applied, wanted, live)
}

fn remains(applied: &Value, wanted: &Value, live: &Value) -> bool {
    let (Value::Object(applied), Value::Object(live)) = (applied, live) else { return false };
    applied.iter().any(|(key, value)| match (wanted.get(key), live.get(key)) {
        (_, None) => false,
        (None, Some(_)) => !is_nothing(value),
        (Some(wanted), Some(live)) => remains(value, wanted, live),
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
    fn what_is_not_said_is_the_clusters_business() {
        let mut live = map(json!({"a": "1", "b": "2"}));
        live["metadata"]["uid"] = json!("u");
        live["metadata"]["labels"] = json!({"added": "by somebody"});
        assert!(is_same(&map(json!({"a": "1"})), &live));
        assert!(!is_same(&map(json!({"a": "2"})), &live));
        assert!(!is_same(&map(json!({"c": "1"})), &live));
    }

    #[test]
    fn what_an_earlier_commit_said_is_not() {
        let before = map(json!({"a": "1", "b": "2"}));
        let live = applied(map(json!({"a": "1", "b": "2", "c": "3"})), &before);
        assert!(!is_same(&map(json!({"a": "1"})), &live));
        assert!(is_same(&before, &live));
        let gone = applied(map(json!({"a": "1"})), &before);
        assert!(is_same(&map(json!({"a": "1"})), &gone));
    }

    #[test]
    fn values_that_the_server_writes_otherwise_are_the_same() {
        let wanted = json!({"spec": {"hostNetwork": false, "x": null, "e": [], "resources": {"limits": {"cpu": "1000m", "memory": 1024}},
            "replicas": 2.0}});
        let live = json!({"spec": {"resources": {"limits": {"cpu": "1", "memory": "1Ki"}}, "replicas": 2}});
        assert!(is_same(&wanted, &live));
        assert!(!is_same(&json!({"spec": {"cpu": "1000m"}}), &json!({"spec": {"cpu": "1"}})));
        assert!(!is_same(&json!({"a": [1, 2]}), &json!({"a": [1]})));
    }

    #[test]
    fn a_secret_is_compared_whole_and_by_its_data() {
        let wanted = normalised(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "creationTimestamp": null},
            "stringData": {"a": "hello"}, "status": {}}),
        );
        assert_eq!(wanted["data"]["a"], "aGVsbG8=");
        assert!(wanted.get("stringData").is_none() && wanted.get("status").is_none());
        let live = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "Opaque", "data": {"a": "aGVsbG8="}});
        assert!(is_same(&wanted, &live));
        let mut more = live.clone();
        more["data"]["b"] = json!("eA==");
        assert!(!is_same(&wanted, &more));
    }
}
