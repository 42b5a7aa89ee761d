//! How found values are shown.

use std::borrow::Cow;

use super::{MAX_OUTPUT_BYTES, PathError};
use crate::{Value, gofmt, json};

/// Appends results beside each other, with spaces between: maps and lists as JSON, the rest as text.
pub(super) fn results(results: &[Cow<'_, Value>], out: &mut String) -> Result<(), PathError> {
    for (index, value) in results.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        out.push_str(&text(value));
        if out.len() > MAX_OUTPUT_BYTES {
            return Err(PathError(format!("the result is longer than {MAX_OUTPUT_BYTES} bytes")));
        }
    }
    Ok(())
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Array(_) | Value::Object(_) => json::to_string(value),
        other => gofmt::value(other),
    }
}
