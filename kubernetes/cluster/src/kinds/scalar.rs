//! Scalars with more than one spelling: times, durations, quantities, base64. Go answers with one of them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchboard_object::quantity::Quantity;

use super::shape::Shape;

/// Rewrites `value` to the spelling Go's encoder uses. What cannot be read stays: the decoder has already refused it.
pub(crate) fn canonical(shape: &Shape, value: &mut Value) {
    let Some(text) = value.as_str() else {
        if let (Shape::Quantity, Value::Number(number)) = (shape, &*value) {
            let text = number.to_string();
            *value = json!(quantity(&text).unwrap_or(text));
        }
        return;
    };
    let better = match shape {
        Shape::Time => time(text, 0),
        Shape::MicroTime => time(text, 6),
        Shape::Bytes => bytes(text),
        Shape::Quantity => quantity(text),
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

/// Go's decoder skips line ends inside base64.
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
