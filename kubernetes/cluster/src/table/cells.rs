//! Cell values shared by many kinds.

use jiff::Timestamp;
use switchboard_object::selector::LabelSelector;
use switchboard_object::{Map, Value};

use super::age;

/// Returns the text at `pointer`, or `""`.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the text at `pointer`, or `otherwise` if it is absent or empty.
pub(super) fn text_or<'a>(object: &'a Value, pointer: &str, otherwise: &'a str) -> &'a str {
    match text(object, pointer) {
        "" => otherwise,
        found => found,
    }
}

/// Returns the number at `pointer`, or 0.
pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// Returns the boolean at `pointer`, or `otherwise`.
pub(super) fn boolean(object: &Value, pointer: &str, otherwise: bool) -> bool {
    object.pointer(pointer).and_then(Value::as_bool).unwrap_or(otherwise)
}

/// Returns the items of the list at `pointer`.
pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the number of entries of the list or map at `pointer`.
pub(super) fn count(object: &Value, pointer: &str) -> usize {
    match object.pointer(pointer) {
        Some(Value::Array(items)) => items.len(),
        Some(Value::Object(fields)) => fields.len(),
        _ => 0,
    }
}

/// Returns the object's name.
pub(super) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// Returns the object's age.
pub(super) fn age(object: &Value, now: Timestamp) -> String {
    age::since(object.pointer("/metadata/creationTimestamp").unwrap_or(&Value::Null), now)
}

/// Whether the object is being deleted.
pub(super) fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// Returns the status of the condition of that type, or `""`.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let found = list(object, "/status/conditions").iter().find(|c| c["type"] == kind);
    found.map_or("", |c| text(c, "/status"))
}

/// Returns names and images of the containers at `pointer`, each joined with commas.
pub(super) fn containers(object: &Value, pointer: &str) -> (String, String) {
    let all = list(object, pointer);
    let joined = |key: &str| all.iter().map(|c| text(c, key)).collect::<Vec<_>>().join(",");
    (joined("/name"), joined("/image"))
}

/// Formats a map of labels as `a=b,c=d`, or `<none>`.
pub(super) fn labels(object: &Value, pointer: &str) -> String {
    let fields = object.pointer(pointer).and_then(Value::as_object);
    let pairs = fields.into_iter().flat_map(Map::iter).map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default()));
    match pairs.collect::<Vec<_>>().join(",") {
        none if none.is_empty() => "<none>".into(),
        some => some,
    }
}

/// Formats a label selector as text; `none` for an absent or empty one.
pub(super) fn selector(object: &Value, pointer: &str, none: &str) -> String {
    match LabelSelector::from_object(object.pointer(pointer)) {
        Ok(selector) => match selector.to_string() {
            empty if empty.is_empty() => none.into(),
            text => text,
        },
        Err(_) => "<error>".into(),
    }
}

/// Returns a string or a number as text.
pub(super) fn scalar(object: &Value, pointer: &str, otherwise: &str) -> String {
    match object.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => otherwise.into(),
    }
}

/// Joins the first `most` texts, and adds the number of further ones.
pub(super) fn some_of(texts: &[String], most: usize, joint: &str, none: &str) -> String {
    match texts.len() {
        0 => none.into(),
        n if n > most => format!("{} + {} more...", texts[..most].join(joint), n - most),
        _ => texts.join(joint),
    }
}
