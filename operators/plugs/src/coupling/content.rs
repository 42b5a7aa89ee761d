//! Detects changes of a coupling.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde_json::{Value, json};
use switchboard_object::equality;

use crate::render::{PerSide, RenderedObject, Values};

/// Input of both sides. Only a change of this input causes an `updated` event.
#[derive(Serialize)]
pub struct CouplingContent<'a> {
    /// Configurations.
    pub config: &'a PerSide<Values>,
    /// Values of `spec.epoch`, which users change to cause an update.
    pub epochs: (&'a str, &'a str),
    /// Objects to apply.
    pub objects: Vec<(&'a str, &'a Value)>,
    /// Specs of both sides, if an apparatus takes part, because the apparatus receives them.
    pub apparatus_specs: Vec<&'a Value>,
}

impl<'a> CouplingContent<'a> {
    /// Lists the objects of both sides.
    pub fn objects(rendered: &'a [RenderedObject]) -> Vec<(&'a str, &'a Value)> {
        rendered.iter().map(|one| (one.path.as_str(), &one.object)).collect()
    }
}

/// Returns a hash of the content. The hash reveals no value.
pub fn hash(content: &impl Serialize) -> String {
    let text = serde_json::to_vec(content).unwrap_or_default();
    digest(&SHA256, &text).as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Converts `stringData` to `data`, as the API server stores a Secret.
pub fn fold_string_data(mut object: Value) -> Value {
    let Some(Value::Object(texts)) = object.as_object_mut().and_then(|fields| fields.remove("stringData")) else {
        return object;
    };
    if !object["data"].is_object() {
        object["data"] = json!({});
    }
    for (key, text) in texts {
        object["data"][key] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
    }
    object
}

/// Whether an object contains all wanted fields, regardless of further fields.
pub fn contains(object: &Value, wanted: &Value) -> bool {
    match wanted["stringData"].is_object() {
        true => contains_value(object, &fold_string_data(wanted.clone())),
        false => contains_value(object, wanted),
    }
}

fn contains_value(object: &Value, wanted: &Value) -> bool {
    match (object, wanted) {
        (Value::Object(object), Value::Object(wanted)) => {
            wanted.iter().filter(|(_, value)| !value.is_null()).all(|(name, value)| match object.get(name) {
                Some(found) => contains_value(found, value),
                None => is_empty(value),
            })
        }
        (Value::Array(object), Value::Array(wanted)) => {
            object.len() == wanted.len() && object.iter().zip(wanted).all(|(found, value)| contains_value(found, value))
        }
        (object, wanted) => equality::equal(object, wanted),
    }
}

/// Whether the API server drops the value when it stores an object.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
