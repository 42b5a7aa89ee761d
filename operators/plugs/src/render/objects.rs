//! Objects rendered from templates.

use serde_json::Value;
use switchboard_object::yaml;
use switchboard_template::Value as Root;

use super::engine::TemplateEngine;
use super::{ComputeError, TemplateRenderError};
use crate::model::{CouplingEvent, ObjectTemplate, PlugMeta, ResourceAction, ResourceEntry};

/// An object rendered from an entry of `resources` or `resultResources`.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedObject {
    /// Path of the entry in the spec, such as `spec.resources[0]`.
    pub path: String,
    /// Action on the object.
    pub action: ResourceAction,
    /// Whether decoupling removes the object.
    pub removed_when_decoupled: bool,
    /// Whether the apply takes over fields of other field managers.
    pub force: bool,
    /// Events that trigger the action.
    pub events: std::collections::BTreeSet<CouplingEvent>,
    /// Object, with its namespace.
    pub object: Value,
}

/// Renders the entries that `takes` selects, in order. The objects stay in the namespace of `own`.
///
/// # Errors
/// [`ComputeError`] if a template fails or does not render an object.
pub fn objects(
    engine: &TemplateEngine,
    own: &PlugMeta,
    entries: &[ResourceEntry],
    takes: impl Fn(&ResourceEntry) -> bool,
    root: &Root,
) -> Result<Vec<RenderedObject>, ComputeError> {
    let mut all = Vec::new();
    for entry in entries.iter().filter(|entry| takes(entry)) {
        for template in &entry.templates {
            for (place, object) in documents(engine, template, root)? {
                all.push(RenderedObject {
                    path: entry.path.clone(),
                    action: entry.action,
                    removed_when_decoupled: entry.is_removed_when_decoupled(),
                    force: entry.force,
                    events: entry.when.clone(),
                    object: in_own_namespace(own, &place, object)?,
                });
            }
        }
    }
    Ok(all)
}

fn documents(
    engine: &TemplateEngine,
    template: &ObjectTemplate,
    root: &Root,
) -> Result<Vec<(String, Value)>, ComputeError> {
    let (place, text) = match template {
        ObjectTemplate::Tree { path: place, tree } => {
            return Ok(vec![(place.clone(), engine.tree(place, tree, root)?)]);
        }
        ObjectTemplate::Text { path: place, text } => (place, engine.text(place, text, root)?),
    };
    let problem = |problem: String| ComputeError::from(TemplateRenderError { path: place.clone(), problem });
    // The rendered text may contain secrets: report the line only.
    let read =
        yaml::read_all(&text).map_err(|error| problem(format!("renders to invalid YAML at line {}", error.line)))?;
    let documents = read.into_iter().map(|document| document.value).filter(|value| !is_empty_document(value));
    Ok(documents.enumerate().map(|(number, value)| (format!("{place} document {number}"), value)).collect())
}

/// Whether the document is empty, as after a false condition.
fn is_empty_document(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn in_own_namespace(own: &PlugMeta, place: &str, mut object: Value) -> Result<Value, ComputeError> {
    let wrong = |problem: &str| ComputeError::Invalid(format!("{place}: {problem}"));
    for (pointer, name) in [("/apiVersion", "apiVersion"), ("/kind", "kind"), ("/metadata/name", "metadata.name")] {
        if object.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(wrong(&format!("the object has no {name}")));
        }
    }
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if !is_name(name) {
        // The name may come from a Secret.
        return Err(wrong(
            "metadata.name must be a valid object name: at most 253 bytes, neither `.` nor `..`, without `/`, `%`, `?`, `#` and spaces",
        ));
    }
    match object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default() {
        "" => object["metadata"]["namespace"] = own.namespace.as_str().into(),
        namespace if namespace != own.namespace => {
            return Err(wrong(&format!("resource namespace {namespace} must be {}", own.namespace)));
        }
        _ => {}
    }
    Ok(object)
}

/// Whether the name can be the last segment of a URL path. The API server validates further rules of a kind.
pub fn is_name(name: &str) -> bool {
    const MAX_NAME_BYTES: usize = 253;
    let strange =
        |letter: char| matches!(letter, '/' | '%' | '?' | '#' | '\\') || letter.is_whitespace() || letter.is_control();
    !matches!(name, "." | "..") && name.len() <= MAX_NAME_BYTES && !name.contains(strange)
}
