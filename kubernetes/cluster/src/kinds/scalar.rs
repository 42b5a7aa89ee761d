//! Canonical forms of scalars with several notations: times, durations, quantities, base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchboard_object::quantity::Quantity;

use super::go_struct::FieldShape;

/// Rewrites `value` to the form of Go's encoder. An invalid value stays, because the decoder has already refused it.
pub(crate) fn canonical(shape: &FieldShape, value: &mut Value) {
    let Some(text) = value.as_str() else {
        if let (FieldShape::Quantity, Value::Number(number)) = (shape, &*value) {
            let text = number.to_string();
            *value = json!(quantity(&text).unwrap_or(text));
        }
        return;
    };
    let better = match shape {
        FieldShape::Time => time(text, 0),
        FieldShape::MicroTime => time(text, 6),
        FieldShape::Bytes => bytes(text),
        FieldShape::Quantity => quantity(text),
        _ => None,
    };
    if let Some(better) = better {
        *value = json!(better);
    }
}

fn time(text: &str, digits: usize) -> Option<String> {
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(if digits == 0 {
        time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    } else {
        time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
    })
}

/// Normalizes base64. Go's decoder skips line breaks inside it.
fn bytes(text: &str) -> Option<String> {
    if !text.contains(['\r', '\n']) {
        return None;
    }
    let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    STANDARD.decode(&joined).ok().map(|bytes| STANDARD.encode(bytes))
}

fn quantity(text: &str) -> Option<String> {
    Quantity::parse(text).ok().map(|q| q.to_string())
}
