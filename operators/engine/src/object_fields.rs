//! Access to fields of objects.

use jiff::Timestamp;
use serde_json::{Map, Value};

/// Returns the text at a pointer, or an empty text.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the items of the list at a pointer.
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the value of an annotation, or an empty text.
pub(crate) fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["annotations"].get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether an annotation with a comma-separated list contains the option.
pub(crate) fn has_option(object: &Value, name: &str, option: &str) -> bool {
    annotation(object, name).split(',').any(|one| one.trim() == option)
}

/// Formats a time as Kubernetes does, with whole seconds.
pub(crate) fn format_time(at: Timestamp) -> String {
    let whole = Timestamp::from_second(at.as_second()).unwrap_or(at);
    whole.to_string()
}

/// Parses a time.
pub(crate) fn parse_time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Builds an object without nulls and empty texts, lists and objects.
pub(crate) fn non_empty_fields(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    };
    let map: Map<String, Value> =
        fields.into_iter().filter(|(_, value)| says(value)).map(|(key, value)| (key.to_string(), value)).collect();
    Value::Object(map)
}

/// Computes the JSON merge patch (RFC 7396) from `before` to `after`, or `None` if they are equal.
pub(crate) fn merge_patch(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(before), Value::Object(after)) = (before, after) else { return Some(after.clone()) };
    let mut patch = Map::new();
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in after {
        let change = match before.get(key) {
            // If one value is an object and the other is not, the patch contains the whole new value.
            Some(old) if old.is_object() == value.is_object() => merge_patch(old, value),
            _ => Some(value.clone()),
        };
        if let Some(change) = change {
            patch.insert(key.clone(), change);
        }
    }
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_converts_one_value_to_the_other() {
        let before = json!({"a": 1, "b": {"c": [1], "d": 2}, "e": {"f": 1}, "same": {"x": 1}});
        let after = json!({"a": 2, "b": {"c": [1, 2]}, "e": 5, "g": {"h": null}, "same": {"x": 1}});
        let patch = merge_patch(&before, &after).unwrap();
        assert_eq!(patch, json!({"a": 2, "b": {"c": [1, 2], "d": null}, "e": 5, "g": {"h": null}}));
        assert_eq!(merge_patch(&after, &after), None);
    }

    #[test]
    fn times_have_whole_seconds() {
        assert_eq!(format_time(parse_time("2026-01-02T03:04:05.678Z").unwrap()), "2026-01-02T03:04:05Z");
    }
}
