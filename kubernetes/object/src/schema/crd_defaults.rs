//! Validation of the defaults in a CRD's schema: they must be valid and have no unknown fields.

use super::embedded::{child, coerce};
use super::prune::prune_part;
use super::structural::property;
use super::validate::validate_at;
use super::{Schema, validate_embedded};
use crate::Value;
use crate::field::FieldError;

/// Validates the defaults in a schema.
pub(super) fn validate_defaults(schema: &Schema, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    visit(schema, path, false, true, &mut errors);
    errors
}

fn visit(schema: &Schema, path: &str, inside_metadata: bool, root: bool, errors: &mut Vec<FieldError>) {
    let resource = root || schema.embedded_resource;
    let inside_metadata = inside_metadata && !resource;
    if let Some(default) = &schema.default {
        check(schema, default, &child(path, "default"), inside_metadata, errors);
    }
    if let Some(items) = &schema.items {
        visit(items, &child(path, "items"), inside_metadata, false, errors);
    }
    for (name, field) in &schema.properties {
        let metadata = inside_metadata || (resource && super::prune::is_meta(name));
        visit(field, &property(path, "properties", name), metadata, false, errors);
    }
}

fn check(schema: &Schema, default: &Value, at: &str, inside_metadata: bool, errors: &mut Vec<FieldError>) {
    let mut value = default.clone();
    if !inside_metadata {
        let unknown = prune_part(schema, &mut value);
        if !unknown.is_empty() {
            errors.push(FieldError::invalid(at, default.clone(), "must not have unknown fields"));
        }
        value = default.clone();
        if let Err(error) = coerce(schema, &mut value, at, &mut Vec::new()) {
            errors.push(error);
            return;
        }
        let before = errors.len();
        validate_embedded(schema, &value, at, &|_, _| Vec::new(), errors);
        if errors.len() > before {
            return;
        }
    }
    errors.extend(validate_at(schema, default, None, at, ""));
}
