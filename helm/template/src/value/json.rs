//! Conversion between values and decoded JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::value::{ReflectType, Str, Value};

/// Type of whole numbers decoded from JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonNumbers {
    /// `float64` for all numbers, as `encoding/json` decodes them and as Helm's values have.
    Float,
    /// `int` for whole numbers and `float64` for others, as in data created by Go code.
    Int,
    /// `int64` for whole numbers and `float64` for others, as Kubernetes decodes objects.
    Int64,
}

impl Value {
    /// Converts decoded JSON: to `map[string]interface {}`, `[]interface {}`, strings, bools, nil and numbers.
    pub fn from_json(json: &Json, numbers: JsonNumbers) -> Value {
        match json {
            Json::Null => Value::Nil,
            Json::Bool(bool) => Value::Bool(*bool),
            Json::Number(number) => from_number(number, numbers),
            Json::String(text) => Value::string(text),
            Json::Array(items) => Value::list(items.iter().map(|item| Value::from_json(item, numbers)).collect()),
            Json::Object(entries) => Value::typed_map(
                ReflectType::MAP,
                entries.iter().map(|(key, value)| (Str::new(key), Value::from_json(value, numbers))).collect(),
            ),
        }
    }

    /// Converts the value to decoded JSON. Objects become their JSON, NaN and functions null; bytes that are not UTF-8
    /// are replaced as in `encoding/json`.
    pub fn to_json(&self) -> Json {
        match self {
            Value::Nil | Value::Func(_) | Value::Complex(..) => Json::Null,
            Value::Bool(bool) => Json::Bool(*bool),
            Value::String(text) => Json::String(text.to_text().into_owned()),
            Value::Bytes(bytes) => Json::String(STANDARD.encode(bytes)),
            Value::List(_, list) if list.is_nil() => Json::Null,
            Value::List(_, list) => Json::Array(list.iter().map(Value::to_json).collect()),
            Value::Map(_, map) if map.is_nil() => Json::Null,
            Value::Map(_, map) => {
                let entries = map.entries();
                let pairs = entries.iter().map(|(key, value)| (key.to_text().into_owned(), value.to_json()));
                Json::Object(pairs.collect())
            }
            Value::Object(object) => match (object.json(), object.scalar()) {
                (Some(text), _) => serde_json::from_str(&text).unwrap_or(Json::Null),
                (None, Some(scalar)) => scalar.to_json(),
                (None, None) => Json::Object(
                    object.fields().into_iter().map(|(name, value)| (name.to_string(), value.to_json())).collect(),
                ),
            },
            number => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(number), ..) => Json::from(number),
                (_, Some(number), _) => Json::from(number),
                (.., number) => number.and_then(serde_json::Number::from_f64).map_or(Json::Null, Json::Number),
            },
        }
    }
}

fn from_number(number: &serde_json::Number, numbers: JsonNumbers) -> Value {
    match (numbers, number.as_i64()) {
        (JsonNumbers::Int, Some(whole)) => Value::Int(whole),
        (JsonNumbers::Int64, Some(whole)) => Value::Int64(whole),
        _ => Value::Float64(number.as_f64().unwrap_or(0.0)),
    }
}
