//! Output of results.

use std::borrow::Cow;

use super::{JsonPathTemplateError, MAX_OUTPUT_BYTES};
use crate::{Value, go_format, json};

/// Appends results separated by spaces: maps and lists as JSON, other values as text.
pub(super) fn results(results: &[Cow<'_, Value>], out: &mut String) -> Result<(), JsonPathTemplateError> {
    for (index, value) in results.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        out.push_str(&text(value));
        if out.len() > MAX_OUTPUT_BYTES {
            return Err(JsonPathTemplateError(format!("the result is longer than {MAX_OUTPUT_BYTES} bytes")));
        }
    }
    Ok(())
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Array(_) | Value::Object(_) => json::to_string(value),
        other => go_format::value(other),
    }
}
