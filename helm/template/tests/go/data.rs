//! Test data, decoded like the Go oracle does: `{"$type": T, "value": V}` is a value of a type that JSON lacks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use switchboard_template::{ReflectType, Str, TypeShape, Value};

const FLOATS: ReflectType = ReflectType(&TypeShape::Slice(ReflectType::FLOAT64));
const INT_MAP: ReflectType = ReflectType(&TypeShape::Map(ReflectType::STRING, ReflectType::INT));

pub fn decode(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(bool) => Value::Bool(*bool),
        Json::Number(number) => number.as_i64().map_or_else(|| Value::Float64(number.as_f64().unwrap()), Value::Int),
        Json::String(text) => Value::string(text),
        Json::Array(items) => Value::list(items.iter().map(decode).collect()),
        Json::Object(entries) => match entries.get("$type").and_then(Json::as_str) {
            Some(name) => typed(name, &entries["value"]),
            None => Value::map(entries.iter().map(|(key, value)| (key.as_str(), decode(value)))),
        },
    }
}

fn typed(name: &str, value: &Json) -> Value {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
    match name {
        "int" => Value::Int(text.parse().unwrap()),
        "int8" => Value::Int8(text.parse().unwrap()),
        "int16" => Value::Int16(text.parse().unwrap()),
        "int32" => Value::Int32(text.parse().unwrap()),
        "int64" => Value::Int64(text.parse().unwrap()),
        "uint" => Value::Uint(text.parse().unwrap()),
        "uint8" => Value::Uint8(text.parse().unwrap()),
        "uint16" => Value::Uint16(text.parse().unwrap()),
        "uint32" => Value::Uint32(text.parse().unwrap()),
        "uint64" => Value::Uint64(text.parse().unwrap()),
        "float32" => Value::Float32(text.parse().unwrap()),
        "float64" => Value::Float64(text.parse().unwrap()),
        "string" => Value::string(STANDARD.decode(text).unwrap()),
        "[]uint8" => Value::bytes(STANDARD.decode(text).unwrap()),
        "[]string" => list(ReflectType::STRINGS, value),
        "[]int" => list(ReflectType::INTS, value),
        "[]float64" => list(FLOATS, value),
        "[]interface {}" => list(ReflectType::LIST, value),
        "map[string]string" => map(ReflectType::STRING_MAP, value),
        "map[string]int" => map(INT_MAP, value),
        "map[string]interface {}" => map(ReflectType::MAP, value),
        other => panic!("no type {other}"),
    }
}

fn list(go_type: ReflectType, value: &Json) -> Value {
    match value.as_array() {
        Some(items) => Value::typed_list(go_type, items.iter().map(decode).collect()),
        None => Value::zero(go_type),
    }
}

fn map(go_type: ReflectType, value: &Json) -> Value {
    match value.as_object() {
        Some(entries) => Value::typed_map(go_type, entries.iter().map(|(k, v)| (Str::new(k), decode(v))).collect()),
        None => Value::zero(go_type),
    }
}
