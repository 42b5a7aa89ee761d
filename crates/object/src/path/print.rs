//! How found values are shown.

use std::borrow::Cow;

use crate::{Value, gofmt, json};

/// Results beside each other, with spaces between: maps and lists as JSON, the rest as text.
pub(super) fn results(results: &[Cow<'_, Value>]) -> String {
    results.iter().map(|value| text(value)).collect::<Vec<_>>().join(" ")
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Array(_) | Value::Object(_) => json::to_string(value),
        other => gofmt::value(other),
    }
}
