//! Building blocks of schemas.

use serde_json::{Value, json};

pub(super) fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

pub(super) fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

pub(super) fn count(description: &str) -> Value {
    json!({"type": "integer", "format": "int32", "minimum": 0, "description": description})
}

pub(super) fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

pub(super) fn map_of(values: Value, description: &str) -> Value {
    json!({"type": "object", "additionalProperties": values, "description": description})
}

pub(super) fn list(items: Value, description: &str) -> Value {
    json!({"type": "array", "items": items, "description": description})
}

/// Returns the schema of an object with arbitrary fields.
pub(super) fn free_object(description: &str) -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": description})
}

pub(super) fn string_enum(words: &[&str], default: &str, description: &str) -> Value {
    json!({"type": "string", "enum": words, "default": default, "description": description})
}

pub(super) fn rule(mut schema: Value, rule: &str, message: &str) -> Value {
    schema["x-kubernetes-validations"] = json!([{"rule": rule, "message": message}]);
    schema
}

pub(super) fn column(name: &str, of_type: &str, path: &str) -> Value {
    json!({"name": name, "type": of_type, "jsonPath": path})
}
