//! Values formatted as in Go, for warnings and errors.

use switchboard_object::Value as Json;
use switchboard_template::{JsonNumbers, Value, format};

/// Formats with `%v`.
pub fn verb_v(value: &Json) -> String {
    printed("%v", value)
}

/// Formats with `%T`.
pub fn verb_type(value: &Json) -> String {
    printed("%T", value)
}

/// Formats with `%t`. For a value that is not a bool, Go prints a bad verb text.
pub fn verb_t(value: &Json) -> String {
    printed("%t", value)
}

fn printed(verb: &str, value: &Json) -> String {
    String::from_utf8_lossy(&format::sprintf(verb, &[Value::from_json(value, JsonNumbers::Int64)])).into_owned()
}

/// Formats a float with `%v`.
pub fn float(number: f64) -> String {
    String::from_utf8_lossy(&format::sprint(&[Value::Float64(number)])).into_owned()
}
