//! Secrets stay where they are: what is logged, journalled or shown is masked first.
//!
//! Three nets, because each alone leaks. [`redact`] knows where a Secret keeps its values; [`Secrets`] knows the values that
//! were read, and finds them wherever an operator or an API server has copied them to; [`conceal`] knows what secrets look
//! like when nobody said that they are.

mod scrub;
mod telling;
mod text;

use serde_json::{Map, Value};

use crate::plan::{Act, Mutation, PatchForm};

pub(crate) use telling::conceal_in;

pub use scrub::{MAX_VALUE_BYTES, MAX_VALUES, MIN_VALUE_BYTES, Secrets};
pub use telling::{conceal, conceal_mutation, hide, tells};
pub use text::{conceal_text, conceal_words};

/// What stands in place of a secret value.
pub const HIDDEN: &str = "<hidden>";

/// The annotation in which kubectl keeps a whole object, values and all.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The fields of a Secret that hold values.
pub const VALUE_FIELDS: [&str; 2] = ["data", "stringData"];

/// The object, or list of objects, with every value of a Secret masked; keys stay. Secrets are found at any depth, as in
/// lists and in objects that carry manifests.
pub fn redact(value: &Value) -> Value {
    redacted(value.clone())
}

/// The same, of a value that nobody else needs.
pub(crate) fn redacted(mut value: Value) -> Value {
    mask(&mut value, false);
    value
}

/// The same for an object, or a part of one, whose kind is known from elsewhere: a patch does not say what it patches.
pub fn redact_kind(kind: &str, value: &Value) -> Value {
    let mut masked = value.clone();
    mask(&mut masked, kind == "Secret");
    masked
}

/// The write with every value of a Secret masked.
pub fn redact_mutation(mutation: &Mutation) -> Mutation {
    let mut masked = mutation.clone();
    let secret = mutation.resource.kind == "Secret" && mutation.resource.group.is_empty();
    match &mut masked.act {
        Act::Patch { form: PatchForm::Json, body } if secret => mask_operations(body),
        Act::Create(body) | Act::Update(body) | Act::Apply { body, .. } | Act::Patch { body, .. } => mask(body, secret),
        Act::Delete { .. } => {}
    }
    masked
}

/// Whether this is a Secret by its own words.
pub(crate) fn is_secret(fields: &Map<String, Value>) -> bool {
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    text("kind") == Some("Secret") && text("apiVersion").is_none_or(|v| v == "v1")
}

fn mask(value: &mut Value, secret: bool) {
    match value {
        Value::Object(fields) => mask_object(fields, secret),
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, false)),
        _ => {}
    }
}

fn mask_object(fields: &mut Map<String, Value>, secret: bool) {
    let secret = secret || is_secret(fields);
    mask_written(fields);
    let secrets = fields.get("kind").and_then(Value::as_str) == Some("SecretList");
    if secret {
        VALUE_FIELDS.iter().filter_map(|f| fields.get_mut(*f).map(mask_values)).for_each(drop);
    }
    if let Some(Value::String(text)) = fields.get_mut(LAST_APPLIED) {
        mask_last_applied(text);
    }
    for (key, inner) in fields.iter_mut() {
        match inner {
            Value::Array(items) if secrets && key == "items" => items.iter_mut().for_each(|item| mask(item, true)),
            _ if secret && VALUE_FIELDS.contains(&key.as_str()) => {}
            _ => mask(inner, false),
        }
    }
}

/// A write to a Secret, as programs and plans word it: what it sets does not say what it is.
fn mask_written(fields: &mut Map<String, Value>) {
    let is = |field: &str, key: &str, name: &str| {
        fields.get(field).is_some_and(|kind| kind["group"] == "" && kind[key] == name)
    };
    let (wanted, planned) = (is("of", "resource", "secrets"), is("resource", "kind", "Secret"));
    if let Some(body) = fields.get_mut("body").filter(|_| wanted) {
        mask_body(body);
    }
    for (verb, act) in fields.get_mut("act").and_then(Value::as_object_mut).filter(|_| planned).into_iter().flatten() {
        match verb.as_str() {
            "apply" | "patch" => act.get_mut("body").into_iter().for_each(mask_body),
            _ => mask_body(act),
        }
    }
}

fn mask_body(body: &mut Value) {
    match body {
        Value::Array(_) => mask_operations(body),
        body => mask(body, true),
    }
}

fn mask_last_applied(text: &mut String) {
    match serde_json::from_str::<Value>(text) {
        Ok(mut applied) => {
            mask(&mut applied, false);
            *text = applied.to_string();
        }
        // It cannot be told what is in it.
        Err(_) => *text = HIDDEN.to_string(),
    }
}

/// Masks the values of a map and keeps its keys; anything else is masked whole. Null says only that a value goes.
fn mask_values(value: &mut Value) {
    match value {
        Value::Null => {}
        Value::Object(fields) => fields.values_mut().filter(|v| !v.is_null()).for_each(|v| *v = HIDDEN.into()),
        other => *other = HIDDEN.into(),
    }
}

/// A JSON patch of a Secret: what it sets is told apart by its path only, so everything but plain metadata is masked.
fn mask_operations(body: &mut Value) {
    for operation in body.as_array_mut().into_iter().flatten() {
        let path = operation.get("path").and_then(Value::as_str).unwrap_or_default();
        let open = path.starts_with("/metadata/") && !path.starts_with("/metadata/annotations");
        if let Some(value) = operation.get_mut("value").filter(|_| !open) {
            mask_values(value);
        }
    }
}

#[cfg(test)]
mod tests;
