//! `apiVersion`, `kind` and `metadata` of custom resources and of resources embedded in them.

use super::decode::decode_paths;
use super::defaulting::drop_nulls;
use super::numbers;
use super::prune::prune;
use super::{DecodeError, Schema};
use crate::field::FieldError;
use crate::kind::GroupVersion;
use crate::name::dns1035_label;
use crate::{Map, Value};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Decodes a custom resource: brings metadata to its canonical form, and drops unknown fields and forbidden nulls.
/// Returns the errors of strict decoding, such as `unknown field "spec.x"`. Without a schema, or if the schema
/// preserves unknown fields at the root, only metadata is decoded.
pub fn read_custom(schema: Option<&Schema>, prunes: bool, object: &mut Value) -> Result<Vec<String>, DecodeError> {
    let mut unknown = Vec::new();
    if let Some(metadata) = object.get_mut("metadata") {
        unknown.extend(coerce_metadata(metadata, "")?);
    }
    if let Some(schema) = schema {
        if prunes {
            unknown.extend(prune(schema, object));
            drop_nulls(schema, object);
        }
        let mut paths = Vec::new();
        coerce(schema, object, "", &mut paths).map_err(|error| DecodeError::Value(error.to_string()))?;
        paths.sort();
        unknown.extend(paths);
    }
    numbers::canonical(object);
    Ok(unknown.into_iter().map(|path| format!("unknown field \"{path}\"")).collect())
}

/// Brings a resource's metadata to its canonical form and returns the paths of unknown fields.
fn coerce_metadata(metadata: &mut Value, parent: &str) -> Result<Vec<String>, DecodeError> {
    let (canonical, unknown) = decode_paths(OBJECT_META, metadata.clone())?;
    *metadata = canonical;
    let prefix = child(parent, "metadata");
    Ok(unknown.into_iter().map(|path| format!("{prefix}.{path}")).collect())
}

/// Decodes the metadata of embedded resources.
pub(super) fn coerce(
    schema: &Schema,
    value: &mut Value,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    match value {
        Value::Object(map) => {
            if schema.embedded_resource {
                coerce_resource(map, path, unknown)?;
            }
            for (key, value) in map.iter_mut() {
                if let Some(property) = schema.properties.get(key.as_str()) {
                    coerce(property, value, &child(path, key), unknown)?;
                } else if let Some(additional) = &schema.additional {
                    coerce(additional, value, &format!("{path}[{key}]"), unknown)?;
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return Ok(()) };
            for (index, item) in items.iter_mut().enumerate() {
                coerce(schema, item, &format!("{path}[{index}]"), unknown)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn coerce_resource(map: &mut Map, path: &str, unknown: &mut Vec<String>) -> Result<(), FieldError> {
    for key in ["apiVersion", "kind"] {
        if let Some(value) = map.get(key).filter(|value| !value.is_string()) {
            return Err(FieldError::invalid(child(path, key), value.clone(), "must be a string"));
        }
    }
    if let Some(metadata) = map.get_mut("metadata") {
        let given = metadata.clone();
        let paths = coerce_metadata(metadata, path)
            .map_err(|error| FieldError::invalid(child(path, "metadata"), given, error.to_string()))?;
        unknown.extend(paths);
    }
    Ok(())
}

/// Validates the type and name of embedded resources. `metadata` validates their labels, annotations and owners; it
/// receives the path of the metadata.
pub fn validate_embedded(
    schema: &Schema,
    value: &Value,
    path: &str,
    metadata: &dyn Fn(&Value, &str) -> Vec<FieldError>,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(map) => {
            if schema.embedded_resource {
                resource(map, path, metadata, errors);
            }
            for (key, value) in map {
                if let Some(property) = schema.properties.get(key.as_str()) {
                    validate_embedded(property, value, &child(path, key), metadata, errors);
                } else if let Some(additional) = &schema.additional {
                    validate_embedded(additional, value, &format!("{path}[{key}]"), metadata, errors);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                validate_embedded(schema, item, &format!("{path}[{index}]"), metadata, errors);
            }
        }
        _ => {}
    }
}

fn resource(map: &Map, path: &str, metadata: &dyn Fn(&Value, &str) -> Vec<FieldError>, errors: &mut Vec<FieldError>) {
    for key in ["apiVersion", "kind"] {
        let at = child(path, key);
        match map.get(key) {
            None => errors.push(FieldError::required(at, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(at, "", "must not be empty"));
            }
            Some(Value::String(text)) if key == "apiVersion" => {
                if GroupVersion::parse(text).is_none() {
                    let detail = format!("unexpected GroupVersion string: {text}");
                    errors.push(FieldError::invalid(at, text.as_str(), detail));
                }
            }
            Some(Value::String(text)) => {
                if let Some(wrong) = kind_error(text) {
                    errors.push(FieldError::invalid(at, text.as_str(), wrong));
                }
            }
            Some(other) => errors.push(FieldError::invalid(at, other.clone(), "must be a string")),
        }
    }
    if let Some(given) = map.get("metadata") {
        errors.extend(metadata(given, &child(path, "metadata")));
    }
}

/// Explains why a kind is not a DNS label apart from its case.
pub(super) fn kind_error(kind: &str) -> Option<String> {
    let wrong = dns1035_label(&kind.to_lowercase());
    (!wrong.is_empty()).then(|| format!("may have mixed case, but should otherwise match: {}", wrong.join(",")))
}

pub(super) fn child(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}
