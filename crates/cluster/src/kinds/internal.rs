//! Values as Go prints its internal types: refusals show them, and differences between them.

use serde_json::Value;
use switchboard_object::field::{FieldError, FieldErrorKind};

/// An invalid value of the internal type `definition`.
pub(super) fn invalid(path: &str, definition: &str, value: &Value, detail: &str) -> FieldError {
    let shown = shown(definition, value);
    // The value stands in the detail, since its fields have an order that a JSON value does not keep.
    FieldError { kind: FieldErrorKind::Invalid, field: path.into(), value: None, detail: format!("{shown}: {detail}") }
}

/// An unsupported value of the internal type `definition`.
pub(super) fn not_supported(path: &str, definition: &str, value: &Value, supported: &[&str]) -> FieldError {
    let error = FieldError::not_supported(path, Value::Null, supported);
    FieldError { value: None, detail: format!("{}: {}", shown(definition, value), error.detail), ..error }
}

fn shown(_definition: &str, value: &Value) -> String {
    value.to_string()
}

/// A refusal's text followed by what changed from `old` to `new`, both of the internal type `definition`.
pub(super) fn with_diff(text: &str, definition: &str, old: &Value, new: &Value) -> String {
    let _ = (definition, old, new);
    text.to_string()
}
