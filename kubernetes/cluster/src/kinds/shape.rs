//! The Go structs behind the built-in kinds: which fields are always written, which disappear when empty.
//!
//! A kube-apiserver decodes every request into these structs and encodes every answer from them, so an answer has
//! `status: {}` that nobody sent and has not the `hostNetwork: false` that somebody did. [`settle`] brings an object to
//! that form. The table is carried as data because OpenAPI does not tell a pointer from a value.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::scalar;

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
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
    Pointer(Box<Shape>),
    List(Box<Shape>),
    Map(Box<Shape>),
}

/// When Go's encoder writes a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Presence {
    /// Always, as a zero value when there is none.
    Always,
    /// Unless it is empty; a struct is never empty.
    OmitEmpty,
    /// Unless it is zero, structs included.
    OmitZero,
}

/// One field of a struct.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub name: &'static str,
    pub presence: Presence,
    pub shape: Shape,
}

static STRUCTS: LazyLock<HashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    include_str!("../../data/structs.txt").lines().filter(|l| !l.starts_with('#')).map(line).collect()
});

/// The fields of a definition (`api.core.v1.Pod`), or nothing when it is unknown.
pub(crate) fn fields(definition: &str) -> &'static [Field] {
    STRUCTS.get(definition).map_or(&[], Vec::as_slice)
}

fn line(line: &'static str) -> (&'static str, Vec<Field>) {
    let mut words = line.split(' ');
    let name = words.next().unwrap_or("");
    (name, words.filter_map(field).collect())
}

fn field(word: &'static str) -> Option<Field> {
    let (name, rest) = word.split_once('=')?;
    let presence = match rest.as_bytes().first()? {
        b'a' => Presence::Always,
        b'z' => Presence::OmitZero,
        _ => Presence::OmitEmpty,
    };
    Some(Field { name, presence, shape: shape(&rest[1..]) })
}

fn shape(text: &'static str) -> Shape {
    if let Some(rest) = text.strip_prefix('*') {
        return Shape::Pointer(Box::new(shape(rest)));
    }
    if let Some(rest) = text.strip_prefix("[]") {
        return Shape::List(Box::new(shape(rest)));
    }
    if let Some(rest) = text.strip_prefix("{}") {
        return Shape::Map(Box::new(shape(rest)));
    }
    match text {
        "s" => Shape::Text,
        "n" => Shape::Number,
        "b" => Shape::Bool,
        "@time" => Shape::Time,
        "@micro" => Shape::MicroTime,
        "@duration" => Shape::Duration,
        "@quantity" => Shape::Quantity,
        "@intstr" => Shape::IntOrString,
        "@raw" => Shape::Raw,
        "@bytes" => Shape::Bytes,
        name => Shape::Struct(name),
    }
}

/// Brings `value` to the form Go would write for `definition`. Fields the definition does not know stay as they are.
pub(crate) fn settle(definition: &str, value: &mut Value) {
    let Some(map) = value.as_object_mut() else { return };
    for field in fields(definition) {
        settle_field(field, map);
    }
}

fn settle_field(field: &Field, map: &mut Map<String, Value>) {
    if let Some(value) = map.get_mut(field.name) {
        settle_value(&field.shape, value);
        let keep = match field.presence {
            Presence::Always => true,
            Presence::OmitEmpty => !is_empty(&field.shape, value),
            Presence::OmitZero => !is_zero(&field.shape, value),
        };
        match (keep, value.is_null()) {
            (true, false) => return,
            _ => map.remove(field.name),
        };
    }
    let zero = match field.presence {
        Presence::Always => Some(zero(&field.shape)),
        // Go never calls a struct empty: `omitempty` has no effect on it.
        Presence::OmitEmpty => is_struct(&field.shape).then(|| zero(&field.shape)),
        Presence::OmitZero => None,
    };
    if let Some(zero) = zero {
        map.insert(field.name.to_string(), zero);
    }
}

fn settle_value(shape: &Shape, value: &mut Value) {
    match (shape, &mut *value) {
        (_, Value::Null) => {}
        (Shape::Pointer(inner), _) => settle_value(inner, value),
        (Shape::Struct(name), _) => settle(name, value),
        // Stored as protobuf, an empty list or map comes back as none.
        (Shape::List(_), Value::Array(items)) if items.is_empty() => *value = Value::Null,
        (Shape::Map(_), Value::Object(items)) if items.is_empty() => *value = Value::Null,
        (Shape::List(inner), Value::Array(items)) => items.iter_mut().for_each(|v| settle_item(inner, v)),
        (Shape::Map(inner), Value::Object(items)) => items.values_mut().for_each(|v| settle_item(inner, v)),
        (shape, _) => scalar::canonical(shape, value),
    }
}

/// Inside a list or a map a null is the zero value.
fn settle_item(shape: &Shape, value: &mut Value) {
    if value.is_null() {
        *value = zero(shape);
    } else {
        settle_value(shape, value);
    }
}

fn is_struct(shape: &Shape) -> bool {
    use Shape::{Duration, IntOrString, MicroTime, Quantity, Raw, Struct, Time};
    matches!(shape, Struct(_) | Time | MicroTime | Quantity | IntOrString | Raw | Duration)
}

/// Whether `omitempty` leaves the value out.
fn is_empty(shape: &Shape, value: &Value) -> bool {
    match shape {
        Shape::Text => value.as_str() == Some(""),
        Shape::Number => value.as_f64() == Some(0.0),
        Shape::Bool => value.as_bool() == Some(false),
        Shape::Bytes => value.as_str() == Some(""),
        _ => value.is_null(),
    }
}

fn is_zero(shape: &Shape, value: &Value) -> bool {
    match shape {
        Shape::Pointer(_) => value.is_null(),
        _ => is_empty(shape, value) || *value == zero(shape),
    }
}

/// What Go writes for a field nobody set.
pub(crate) fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!(""),
        Shape::Number | Shape::IntOrString => json!(0),
        Shape::Bool => json!(false),
        Shape::Quantity => json!("0"),
        Shape::Duration => json!("0s"),
        Shape::Struct(name) => {
            let mut value = json!({});
            settle(name, &mut value);
            value
        }
        _ => Value::Null,
    }
}
