//! The annotation of client-side apply: moving to server-side apply without conflicts, and keeping it up to date.

use serde_json::json;

use crate::{Map, Value, json};

use super::collect::collect;
use super::compare::compare;
use super::set::Set;
use super::validate::validate;
use super::{Typed, Writer};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// All annotations of an object may have this many bytes.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// The only field manager the annotation is read and written for.
pub(crate) const MANAGER: &str = "kubectl";

/// The last applied configuration, when it is there and of the writer's version.
pub(crate) fn read(live: &Value, writer: &Writer<'_>) -> Option<Value> {
    let text = live.pointer("/metadata/annotations")?.get(ANNOTATION)?.as_str()?;
    let last: Value = serde_json::from_str(text).ok()?;
    (last.get("kind").is_some_and(Value::is_string) && last.get("apiVersion")? == writer.api_version).then_some(last)
}

/// The fields of the last applied configuration that the live object still has as applied: conflicts on those are ours.
pub(crate) fn unchanged<'a>(last: &'a Value, live: &'a Value, typed: Typed<'a>) -> Option<Set<'a>> {
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

/// Writes the configuration into the annotation of an object that has the annotation.
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
