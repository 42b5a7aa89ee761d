//! From and to decoded JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use crate::value::{Str, Type, Value};

/// What whole numbers of JSON become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// `float64` for all, as `encoding/json` decodes and as Helm's values are.
    Float,
    /// `int` for whole numbers and `float64` for the others, as in data that Go code wrote by hand.
    Int,
    /// `int64` for whole numbers and `float64` for the others, as Kubernetes decodes objects.
    Int64,
}

impl Value {
    /// A value of decoded JSON: `map[string]interface {}`, `[]interface {}`, strings, bools, nil and numbers.
    pub fn from_json(json: &Json, numbers: Numbers) -> Value {
        match json {
            Json::Null => Value::Nil,
            Json::Bool(bool) => Value::Bool(*bool),
            Json::Number(number) => from_number(number, numbers),
            Json::String(text) => Value::string(text),
            Json::Array(items) => Value::list(items.iter().map(|item| Value::from_json(item, numbers)).collect()),
            Json::Object(entries) => Value::typed_map(
                Type::MAP,
                entries.iter().map(|(key, value)| (Str::new(key), Value::from_json(value, numbers))).collect(),
            ),
        }
    }

    /// The value as decoded JSON, where it can be: objects by what they write, not-a-number and functions as null, bytes
    /// that are no UTF-8 replaced as `encoding/json` does.
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

fn from_number(number: &serde_json::Number, numbers: Numbers) -> Value {
    match (numbers, number.as_i64()) {
        (Numbers::Int, Some(whole)) => Value::Int(whole),
        (Numbers::Int64, Some(whole)) => Value::Int64(whole),
        _ => Value::Float64(number.as_f64().unwrap_or(0.0)),
    }
}
