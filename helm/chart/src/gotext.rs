//! Values in Go's words, for warnings and errors that name one.

use switchboard_object::Value as Json;
use switchboard_template::{Numbers, Value, format};

/// What `%v` prints.
pub fn verb_v(value: &Json) -> String {
    printed("%v", value)
}

/// What `%T` prints.
pub fn verb_type(value: &Json) -> String {
    printed("%T", value)
}

/// What `%t` prints: Go is annoyed when it gets no truth value.
pub fn verb_t(value: &Json) -> String {
    printed("%t", value)
}

fn printed(verb: &str, value: &Json) -> String {
    String::from_utf8_lossy(&format::sprintf(verb, &[Value::from_json(value, Numbers::Int64)])).into_owned()
}

/// A float as `%v` prints it.
pub fn float(number: f64) -> String {
    String::from_utf8_lossy(&format::sprint(&[Value::Float64(number)])).into_owned()
}
