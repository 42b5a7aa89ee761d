//! Annotation of client-side apply: migration to server-side apply without conflicts, and upkeep of the annotation.

use serde_json::json;

use crate::{Map, Value, json};

use super::collect::collect;
use super::compare::compare;
use super::set::FieldSet;
use super::validate::validate;
use super::{KindSchema, WriteOrigin};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Bound on the total size of an object's annotations.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// The only field manager for which the annotation is read and written.
pub(crate) const MANAGER: &str = "kubectl";

/// Returns the last applied configuration, if the annotation exists and has the writer's version.
pub(crate) fn read(live: &Value, writer: &WriteOrigin<'_>) -> Option<Value> {
    let text = live.pointer("/metadata/annotations")?.get(ANNOTATION)?.as_str()?;
    let last: Value = serde_json::from_str(text).ok()?;
    (last.get("kind").is_some_and(Value::is_string) && last.get("apiVersion")? == writer.api_version).then_some(last)
}

/// Returns the fields of the last applied configuration that the live object still has as applied. Conflicts on these
/// fields are the writer's own.
pub(crate) fn unchanged_fields<'a>(last: &'a Value, live: &'a Value, typed: KindSchema<'a>) -> Option<FieldSet<'a>> {
    let (ty, definitions) = (typed.root(), typed.definitions);
    validate(live, ty, definitions, false).ok()?;
    validate(last, ty, definitions, false).ok()?;
    let changes = compare(last, live, ty, definitions).ok()?;
    let mut set = collect(last, ty, definitions);
    for changed in [&changes.modified, &changes.added, &changes.removed] {
        set.subtract(changed);
    }
    Some(set)
}

/// Writes the configuration into the annotation, if the object has the annotation.
pub(crate) fn write(object: &mut Value, patch: &Value) {
    let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    let Some(annotations) = annotations else { return };
    if annotations.get(ANNOTATION).and_then(Value::as_str).is_none_or(str::is_empty) {
        return;
    }
    let mut patch = patch.clone();
    if let Some(own) = patch.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        own.remove(ANNOTATION);
    }
    annotations.insert(ANNOTATION.into(), json!(json::to_string(&patch) + "\n"));
    if size(annotations) > MAX_ANNOTATION_BYTES {
        annotations.remove(ANNOTATION);
    }
}

fn size(annotations: &Map) -> usize {
    annotations.iter().map(|(k, v)| k.len() + v.as_str().map_or(0, str::len)).sum()
}
