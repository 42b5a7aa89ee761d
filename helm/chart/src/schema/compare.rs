//! Comparison of values: types, equality, missing names.

use switchboard_object::{Map, Value};

use super::number::SchemaNumber;
use super::problem::scalar_text;

pub fn missing(map: &Map, names: &[String]) -> Vec<String> {
    names.iter().filter(|name| !map.contains_key(*name)).cloned().collect()
}

pub fn not_among(values: &[Value]) -> String {
    if values.iter().any(|value| value.is_array() || value.is_object()) {
        return "'enum' failed".to_string();
    }
    match values {
        [one] => format!("value must be {}", scalar_text(one)),
        _ => format!("value must be one of {}", values.iter().map(scalar_text).collect::<Vec<_>>().join(", ")),
    }
}

pub fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => {
            SchemaNumber::of(a).zip(SchemaNumber::of(b)).is_some_and(|(a, b)| a.compare(b).is_eq())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Returns the first two equal items. The same parser produces all values, so equal ones have the same text, which
/// avoids quadratic comparison.
pub fn first_duplicate(list: &[Value]) -> Option<(usize, usize)> {
    let mut seen = std::collections::HashMap::new();
    for (index, item) in list.iter().enumerate() {
        if let Some(first) = seen.insert(crate::values::floats(item.clone()).to_string(), index) {
            return Some((first, index));
        }
    }
    None
}
