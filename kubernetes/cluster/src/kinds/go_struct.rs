//! Go structs behind the built-in kinds: fields that are always written, and fields that are omitted when empty.
//!
//! kube-apiserver decodes every request into these structs and encodes every response from them. A response therefore
//! has a `status: {}` that the client did not send, and lacks a `hostNetwork: false` that it did send. [`normalize`]
//! brings an object to that form. The table is a data file, because OpenAPI does not distinguish pointers from values.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::scalar;

/// Type of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldShape {
    Text,
    Number,
    Bool,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    Raw,
    Bytes,
    Struct(&'static str),
    Pointer(Box<FieldShape>),
    List(Box<FieldShape>),
    Map(Box<FieldShape>),
}

/// Condition under which Go's encoder writes a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FieldPresence {
    /// Always, as a zero value if unset.
    Always,
    /// Unless it is empty; a struct is never empty.
    OmitEmpty,
    /// Unless it is zero, including structs.
    OmitZero,
}

/// Field of a struct.
#[derive(Clone, Debug)]
pub(crate) struct StructField {
    pub name: &'static str,
    pub presence: FieldPresence,
    pub shape: FieldShape,
}

static STRUCTS: LazyLock<HashMap<&'static str, Vec<StructField>>> = LazyLock::new(|| {
    include_str!("../../data/structs.txt").lines().filter(|l| !l.starts_with('#')).map(line).collect()
});

/// Returns the fields of a definition (`api.core.v1.Pod`); empty if the definition is unknown.
pub(crate) fn fields(definition: &str) -> &'static [StructField] {
    STRUCTS.get(definition).map_or(&[], Vec::as_slice)
}

fn line(line: &'static str) -> (&'static str, Vec<StructField>) {
    let mut words = line.split(' ');
    let name = words.next().unwrap_or("");
    (name, words.filter_map(field).collect())
}

fn field(word: &'static str) -> Option<StructField> {
    let (name, rest) = word.split_once('=')?;
    let presence = match rest.as_bytes().first()? {
        b'a' => FieldPresence::Always,
        b'z' => FieldPresence::OmitZero,
        _ => FieldPresence::OmitEmpty,
    };
    Some(StructField { name, presence, shape: shape(&rest[1..]) })
}

fn shape(text: &'static str) -> FieldShape {
    if let Some(rest) = text.strip_prefix('*') {
        return FieldShape::Pointer(Box::new(shape(rest)));
    }
    if let Some(rest) = text.strip_prefix("[]") {
        return FieldShape::List(Box::new(shape(rest)));
    }
    if let Some(rest) = text.strip_prefix("{}") {
        return FieldShape::Map(Box::new(shape(rest)));
    }
    match text {
        "s" => FieldShape::Text,
        "n" => FieldShape::Number,
        "b" => FieldShape::Bool,
        "@time" => FieldShape::Time,
        "@micro" => FieldShape::MicroTime,
        "@duration" => FieldShape::Duration,
        "@quantity" => FieldShape::Quantity,
        "@intstr" => FieldShape::IntOrString,
        "@raw" => FieldShape::Raw,
        "@bytes" => FieldShape::Bytes,
        name => FieldShape::Struct(name),
    }
}

/// Brings `value` to the form Go writes for `definition`. Fields that the definition does not have stay as they are.
pub(crate) fn normalize(definition: &str, value: &mut Value) {
    let Some(map) = value.as_object_mut() else { return };
    for field in fields(definition) {
        normalize_field(field, map);
    }
}

fn normalize_field(field: &StructField, map: &mut Map<String, Value>) {
    if let Some(value) = map.get_mut(field.name) {
        normalize_value(&field.shape, value);
        let keep = match field.presence {
            FieldPresence::Always => true,
            FieldPresence::OmitEmpty => !is_empty(&field.shape, value),
            FieldPresence::OmitZero => !is_zero(&field.shape, value),
        };
        match (keep, value.is_null()) {
            (true, false) => return,
            _ => map.remove(field.name),
        };
    }
    let zero = match field.presence {
        FieldPresence::Always => Some(zero(&field.shape)),
        // Go never considers a struct empty: `omitempty` has no effect on it.
        FieldPresence::OmitEmpty => is_struct(&field.shape).then(|| zero(&field.shape)),
        FieldPresence::OmitZero => None,
    };
    if let Some(zero) = zero {
        map.insert(field.name.to_string(), zero);
    }
}

fn normalize_value(shape: &FieldShape, value: &mut Value) {
    match (shape, &mut *value) {
        (_, Value::Null) => {}
        (FieldShape::Pointer(inner), _) => normalize_value(inner, value),
        (FieldShape::Struct(name), _) => normalize(name, value),
        // After storage as protobuf, an empty list or map is absent.
        (FieldShape::List(_), Value::Array(items)) if items.is_empty() => *value = Value::Null,
        (FieldShape::Map(_), Value::Object(items)) if items.is_empty() => *value = Value::Null,
        (FieldShape::List(inner), Value::Array(items)) => items.iter_mut().for_each(|v| normalize_item(inner, v)),
        (FieldShape::Map(inner), Value::Object(items)) => items.values_mut().for_each(|v| normalize_item(inner, v)),
        (shape, _) => scalar::canonical(shape, value),
    }
}

/// Normalizes an item of a list or map, where null is the zero value.
fn normalize_item(shape: &FieldShape, value: &mut Value) {
    if value.is_null() {
        *value = zero(shape);
    } else {
        normalize_value(shape, value);
    }
}

fn is_struct(shape: &FieldShape) -> bool {
    use FieldShape::{Duration, IntOrString, MicroTime, Quantity, Raw, Struct, Time};
    matches!(shape, Struct(_) | Time | MicroTime | Quantity | IntOrString | Raw | Duration)
}

/// Whether `omitempty` omits the value.
fn is_empty(shape: &FieldShape, value: &Value) -> bool {
    match shape {
        FieldShape::Text => value.as_str() == Some(""),
        FieldShape::Number => value.as_f64() == Some(0.0),
        FieldShape::Bool => value.as_bool() == Some(false),
        FieldShape::Bytes => value.as_str() == Some(""),
        _ => value.is_null(),
    }
}

fn is_zero(shape: &FieldShape, value: &Value) -> bool {
    match shape {
        FieldShape::Pointer(_) => value.is_null(),
        _ => is_empty(shape, value) || *value == zero(shape),
    }
}

/// Returns the encoding of an unset field.
pub(crate) fn zero(shape: &FieldShape) -> Value {
    match shape {
        FieldShape::Text => json!(""),
        FieldShape::Number | FieldShape::IntOrString => json!(0),
        FieldShape::Bool => json!(false),
        FieldShape::Quantity => json!("0"),
        FieldShape::Duration => json!("0s"),
        FieldShape::Struct(name) => {
            let mut value = json!({});
            normalize(name, &mut value);
            value
        }
        _ => Value::Null,
    }
}
