//! Redaction of secrets in everything that is logged, recorded or shown.
//!
//! Three methods are combined, because each alone misses cases. [`redact_secrets`] masks the value fields of Secrets.
//! [`Redactor`] knows the values that were read, and finds copies of them in texts from operators and API servers.
//! [`redact_value`] also masks what looks like a secret by its name or form.

mod names;
mod text;
mod values;

use serde_json::{Map, Value};

use crate::plan::{Mutation, PatchType, WriteOp};

pub(crate) use names::redact_in_place;

pub use names::{is_secret_name, redact_leaves, redact_mutation, redact_value};
pub use text::{redact_message, redact_text};
pub use values::{MAX_VALUE_BYTES, MAX_VALUES, MIN_VALUE_BYTES, Redactor};

/// Placeholder for a secret value.
pub const REDACTED: &str = "<redacted>";

/// Annotation with a copy of the whole object, written by kubectl.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Fields of a Secret that hold values.
pub const VALUE_FIELDS: [&str; 2] = ["data", "stringData"];

/// Masks the values of Secrets in an object or list; keys stay. Secrets are found at any depth, as in lists and in
/// objects that contain manifests.
pub fn redact_secrets(value: &Value) -> Value {
    into_redacted_secrets(value.clone())
}

/// Masks the values of Secrets in place.
pub(crate) fn into_redacted_secrets(mut value: Value) -> Value {
    redact_tree(&mut value, false);
    value
}

/// Masks secret values in an object, or a part of one, of a known kind: a patch, for example, has no kind.
pub fn redact_secrets_of_kind(kind: &str, value: &Value) -> Value {
    let mut masked = value.clone();
    redact_tree(&mut masked, kind == "Secret");
    masked
}

/// Masks the values of a mutation of a Secret.
pub fn redact_secret_mutation(mutation: &Mutation) -> Mutation {
    let mut masked = mutation.clone();
    let secret = mutation.resource.kind == "Secret" && mutation.resource.group.is_empty();
    match &mut masked.operation {
        WriteOp::Patch { patch_type: PatchType::Json, body } if secret => redact_json_patch(body),
        WriteOp::Create(body) | WriteOp::Update(body) | WriteOp::Apply { body, .. } | WriteOp::Patch { body, .. } => {
            redact_tree(body, secret)
        }
        WriteOp::Delete { .. } => {}
    }
    masked
}

/// Whether the `kind` and `apiVersion` are those of a Secret.
pub(crate) fn is_secret(fields: &Map<String, Value>) -> bool {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    text("kind") == Some("Secret") && text("apiVersion").is_none_or(|v| v == "v1")
}

fn redact_tree(value: &mut Value, secret: bool) {
    match value {
        Value::Object(fields) => redact_object(fields, secret),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_tree(item, false)),
        _ => {}
    }
}

fn redact_object(fields: &mut Map<String, Value>, secret: bool) {
    let secret = secret || is_secret(fields);
    redact_serialized_write(fields);
    let secrets = fields.get("kind").and_then(Value::as_str) == Some("SecretList");
    if secret {
        VALUE_FIELDS.iter().filter_map(|f| fields.get_mut(*f).map(redact_values)).for_each(drop);
    }
    if let Some(Value::String(text)) = fields.get_mut(LAST_APPLIED) {
        redact_last_applied(text);
    }
    for (key, inner) in fields.iter_mut() {
        match inner {
            Value::Array(items) if secrets && key == "items" => {
                items.iter_mut().for_each(|item| redact_tree(item, true))
            }
            _ if secret && VALUE_FIELDS.contains(&key.as_str()) => {}
            _ => redact_tree(inner, false),
        }
    }
}

/// Masks a serialized write to a Secret, as hosted programs and plans represent it: its body may have no kind.
fn redact_serialized_write(fields: &mut Map<String, Value>) {
    let is = |field: &str, key: &str, name: &str| {
        fields.get(field).is_some_and(|kind| kind["group"] == "" && kind[key] == name)
    };
    let (wanted, planned) = (is("of", "resource", "secrets"), is("resource", "kind", "Secret"));
    if let Some(body) = fields.get_mut("body").filter(|_| wanted) {
        redact_body(body);
    }
    for (verb, operation) in
        fields.get_mut("operation").and_then(Value::as_object_mut).filter(|_| planned).into_iter().flatten()
    {
        match verb.as_str() {
            "apply" | "patch" => operation.get_mut("body").into_iter().for_each(redact_body),
            _ => redact_body(operation),
        }
    }
}

fn redact_body(body: &mut Value) {
    match body {
        Value::Array(_) => redact_json_patch(body),
        body => redact_tree(body, true),
    }
}

fn redact_last_applied(text: &mut String) {
    match serde_json::from_str::<Value>(text) {
        Ok(mut applied) => {
            redact_tree(&mut applied, false);
            *text = applied.to_string();
        }
        // The content is unknown.
        Err(_) => *text = REDACTED.to_string(),
    }
}

/// Masks the values of a map and keeps its keys; masks any other value as a whole. Null only removes a value.
fn redact_values(value: &mut Value) {
    match value {
        Value::Null => {}
        Value::Object(fields) => fields.values_mut().filter(|v| !v.is_null()).for_each(|v| *v = REDACTED.into()),
        other => *other = REDACTED.into(),
    }
}

/// Masks a JSON patch of a Secret. Only its paths show what it sets, so everything except plain metadata is masked.
fn redact_json_patch(body: &mut Value) {
    for operation in body.as_array_mut().into_iter().flatten() {
        let path = operation.get("path").and_then(Value::as_str).unwrap_or_default();
        let open = path.starts_with("/metadata/") && !path.starts_with("/metadata/annotations");
        if let Some(value) = operation.get_mut("value").filter(|_| !open) {
            redact_values(value);
        }
    }
}

#[cfg(test)]
mod tests;
