//! Pruning of fields that a structural schema does not declare.

use super::Schema;
use crate::{Map, Value};

/// Drops the fields of a custom resource that its schema does not declare, except `apiVersion`, `kind` and `metadata`.
/// Returns their paths, sorted.
pub fn prune(schema: &Schema, object: &mut Value) -> Vec<String> {
    let mut pruner = Pruner::default();
    pruner.value(schema, object, true, false);
    pruner.unknown.sort();
    pruner.unknown
}

/// Prunes a part of an object, such as a default.
pub(super) fn prune_part(schema: &Schema, value: &mut Value) -> Vec<String> {
    let mut pruner = Pruner::default();
    pruner.value(schema, value, schema.embedded_resource, false);
    pruner.unknown
}

pub(super) fn is_meta(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}

#[derive(Default)]
struct Pruner {
    path: String,
    unknown: Vec<String>,
}

impl Pruner {
    /// Prunes a value. `keep` is set below a list whose schema preserves unknown fields: its items preserve them too,
    /// regardless of their own schema.
    fn value(&mut self, schema: &Schema, value: &mut Value, resource: bool, keep: bool) {
        let keep = keep || schema.preserve_unknown;
        match value {
            Value::Object(map) => self.object(schema, map, resource || schema.embedded_resource, keep),
            Value::Array(items) => {
                if keep && schema.items.is_none() {
                    return;
                }
                let item_schema = schema.items.clone().unwrap_or_default();
                for (index, item) in items.iter_mut().enumerate() {
                    self.below(&format!("[{index}]"), |pruner| pruner.value(&item_schema, item, false, keep));
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, schema: &Schema, map: &mut Map, resource: bool, keep: bool) {
        let at_root = self.path.is_empty();
        let mut dropped = Vec::new();
        for (key, value) in map.iter_mut() {
            if resource && is_meta(key) {
                continue;
            }
            if let Some(child) = schema.properties.get(key.as_str()).or(schema.additional.as_ref()) {
                let dot = if self.path.is_empty() { "" } else { "." };
                self.below(&format!("{dot}{key}"), |pruner| pruner.value(child, value, false, false));
            } else if !keep {
                dropped.push(key.clone());
            }
        }
        for key in dropped {
            map.remove(&key);
            if !is_meta(&key) || !at_root {
                let dot = if at_root { "" } else { "." };
                self.unknown.push(format!("{}{dot}{key}", self.path));
            }
        }
    }

    fn below(&mut self, step: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(step);
        visit(self);
        self.path.truncate(length);
    }
}
