//! Removal of values that differ between any two runs: UIDs, generated names, revisions, times, and `managedFields`.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Placeholder for a time.
const TIME: &str = "<time>";

/// Replaces the values that differ between any two runs. `uids` maps each UID and generated name to a stable one.
pub fn normalize(mut object: Value, uids: &HashMap<String, String>) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        // An operator that skips an intermediate state creates fewer generations.
        for name in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(name);
        }
    }
    open_secret(&mut object);
    walk(&mut object, uids);
    object
}

/// Decodes JSON values of a Secret, which may contain UIDs and times.
fn open_secret(object: &mut Value) {
    if object["kind"] != "Secret" {
        return;
    }
    for value in object["data"].as_object_mut().into_iter().flat_map(|data| data.values_mut()) {
        let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
        if let Some(json) = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) {
            *value = json;
        }
    }
}

fn walk(value: &mut Value, uids: &HashMap<String, String>) {
    match value {
        Value::Object(fields) => {
            fields.remove("observedGeneration");
            fields.values_mut().for_each(|field| walk(field, uids));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, uids)),
        Value::String(text) => {
            if let Some(name) = uids.get(text) {
                text.clone_from(name);
            } else if is_time(text) {
                *text = TIME.to_string();
            }
        }
        _ => {}
    }
}

/// Whether a text is an RFC 3339 time such as `2026-01-01T00:00:00Z`, with or without fractions.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shaped = bytes.len() >= 20 && bytes.len() <= 35 && bytes.ends_with(b"Z");
    shaped
        && bytes[..19].iter().zip(b"0000-00-00T00:00:00").all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            _ => byte == form,
        })
}

/// Describes the first field that differs from the undisturbed run.
pub fn difference(undisturbed: Option<&Value>, found: Option<&Value>) -> Option<String> {
    match (undisturbed, found) {
        (None, None) => None,
        (Some(_), None) => Some("is missing".to_string()),
        (None, Some(_)) => Some("should not exist".to_string()),
        (Some(undisturbed), Some(found)) => field(undisturbed, found, &mut String::new()),
    }
}

fn field(undisturbed: &Value, found: &Value, path: &mut String) -> Option<String> {
    if undisturbed == found {
        return None;
    }
    if let (Value::Object(left), Value::Object(right)) = (undisturbed, found) {
        let mut names: Vec<&String> = left.keys().chain(right.keys()).collect();
        names.sort();
        let name = names.into_iter().find(|name| left.get(*name) != right.get(*name))?;
        path.push('.');
        path.push_str(name);
        return field(left.get(name).unwrap_or(&Value::Null), right.get(name).unwrap_or(&Value::Null), path);
    }
    let path = path.trim_start_matches('.');
    Some(format!("has `{path}` {found}, undisturbed it is {undisturbed}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_that_differ_between_runs_are_normalized() {
        let uids = HashMap::from([("u-1".to_string(), "<uid of a>".to_string())]);
        let object = json!({"metadata": {"uid": "u-1", "resourceVersion": "9", "generation": 2, "name": "a",
            "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": []},
            "data": {"owner": "u-1", "at": "2026-01-01T00:00:00.123Z", "day": "2026-01-01"},
            "status": {"observedGeneration": 2}});
        let expected = json!({"metadata": {"uid": "<uid of a>", "name": "a", "creationTimestamp": "<time>"},
            "data": {"owner": "<uid of a>", "at": "<time>", "day": "2026-01-01"}, "status": {}});
        assert_eq!(normalize(object, &uids), expected);
    }

    #[test]
    fn json_in_a_secret_is_looked_into() {
        let uids = HashMap::from([("u-1".to_string(), "<uid of a>".to_string())]);
        let inside = STANDARD.encode(r#"{"owner": "u-1", "n": 1}"#);
        let secret = json!({"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": inside, "b": "aHVudGVyMg=="}});
        let wanted = json!({"owner": "<uid of a>", "n": 1});
        let masked = normalize(secret, &uids);
        assert_eq!((&masked["data"]["a"], &masked["data"]["b"]), (&wanted, &json!("aHVudGVyMg==")));
    }

    #[test]
    fn a_difference_is_named_at_its_field() {
        let (left, right) = (json!({"data": {"text": "a", "x": 1}}), json!({"data": {"text": "b", "x": 1}}));
        let said = difference(Some(&left), Some(&right));
        assert_eq!(said.as_deref(), Some("has `data.text` \"b\", undisturbed it is \"a\""));
        assert_eq!(difference(Some(&left), Some(&left)), None);
        assert_eq!(difference(Some(&left), None).as_deref(), Some("is missing"));
        assert_eq!(difference(None, Some(&left)).as_deref(), Some("should not exist"));
    }
}
