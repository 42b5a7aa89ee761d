//! Hash of an object for `qontract.sha256sum`, identical to the one that qontract-reconcile computes.

use serde_json::{Map, Value};

use crate::annotations;
use crate::source::sha256;

/// Fields that servers and other programs add, which are not part of the desired object.
const SERVER_FIELDS: [&str; 7] =
    ["creationTimestamp", "resourceVersion", "generation", "selfLink", "uid", "namespace", "managedFields"];

/// Hashes an object. The manager's annotations do not affect the hash.
pub fn hash(object: &Value) -> String {
    sha256(python_json(&canonical(object)).as_bytes())
}

/// Removes everything that is not part of the desired object.
pub fn canonical(object: &Value) -> Value {
    let mut object = object.clone();
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default().to_string();
    let Value::Object(body) = &mut object else { return object };
    body.remove("status");
    let metadata = body.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        SERVER_FIELDS.iter().for_each(|name| drop(metadata.remove(*name)));
        let slot = metadata.entry("annotations").or_insert(Value::Null);
        if slot.is_null() {
            *slot = Value::Object(Map::new());
        }
        if let Value::Object(annotations) = slot {
            annotations.remove(annotations::LAST_APPLIED);
            annotations::ALL.iter().for_each(|name| drop(annotations.remove(*name)));
            if kind == "Deployment" {
                annotations.remove("deployment.kubernetes.io/revision");
            }
        }
    }
    if let (Some(Value::Object(spec)), "Service") = (body.get_mut("spec"), kind.as_str()) {
        if spec.get("sessionAffinity").and_then(Value::as_str) == Some("None") {
            spec.remove("sessionAffinity");
        }
        if spec.get("type").and_then(Value::as_str) == Some("ClusterIP") {
            spec.remove("clusterIP");
        }
    }
    object
}

/// Formats JSON like Python's `json.dumps(…, sort_keys=True)`: with spaces, sorted keys and ASCII only.
pub fn python_json(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => out.push_str(&python_float(float)),
            None => out.push_str(&number.to_string()),
        },
        Value::String(text) => quoted(text, out),
        Value::Array(list) => {
            out.push('[');
            for (index, item) in list.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            // Maps are sorted by bytes, which equals Python's order within the Basic Multilingual Plane.
            for (index, (key, item)) in map.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                quoted(key, out);
                out.push_str(": ");
                write(item, out);
            }
            out.push('}');
        }
    }
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(letter),
            other => {
                let mut units = [0; 2];
                other.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            }
        }
    }
    out.push('"');
}

/// Formats a float like Python's `repr`.
pub fn python_float(float: f64) -> String {
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let plain = format!("{float}");
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_charts_service_has_the_hash_of_qontract_reconcile() {
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "qontract-reconcile", "labels": {"app": "qontract-reconcile"}, "namespace": "x",
                "uid": "1", "annotations": {"qontract.caller_name": "me", "qontract.sha256sum": "old"}},
            "spec": {"ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 9090}],
                "selector": {"component": "qontract-reconcile"}, "sessionAffinity": "None"},
            "status": {"loadBalancer": {}},
        });
        assert_eq!(hash(&service), "6aae5ce0ad64a1278c62df3f31b69c6f60570c53d3a90aa1cd81bc960e53a8e6");
    }

    #[test]
    fn json_is_formatted_like_python() {
        let value = json!({"b": [1, 1.0, 0.00001, 1e16, -2.5], "a": "é\u{1F600}\u{7f}\"\\/\n", "c": {}, "d": null});
        assert_eq!(
            python_json(&value),
            r#"{"a": "\u00e9\ud83d\ude00\u007f\"\\/\n", "b": [1, 1.0, 1e-05, 1e+16, -2.5], "c": {}, "d": null}"#
        );
    }
}
