//! Deserialization of text like Go's YAML reader for a string field, which also accepts numbers and booleans.

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

pub(super) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    match Value::deserialize(from)? {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(truth) => Ok(truth.to_string()),
        other => Err(de::Error::custom(format_args!("expected text, found {other}"))),
    }
}
