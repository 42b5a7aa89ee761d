//! Validation of `metadata`, for all objects and for updates.
//!
//! Errors are those of apimachinery's `ValidateObjectMeta`, with the same texts in the same order.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use switchboard_object::field::{FieldError, FieldErrorKind};
use switchboard_object::name;
use switchboard_object::quote::quote;

/// Largest size of an object's annotations, keys and values.
pub const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;
/// Longest name of a field manager.
pub const MAX_FIELD_MANAGER_BYTES: usize = 128;
/// Longest subresource in a managed fields entry.
pub const MAX_SUBRESOURCE_BYTES: usize = 256;
/// Error text for an update of an immutable field.
pub const IMMUTABLE: &str = "field is immutable";

/// Rule for the names of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// Segment of a URL path: RBAC objects and every kind without a rule of its own.
    PathSegment,
    /// DNS subdomain: most kinds.
    Subdomain,
    /// DNS label: namespaces.
    Label,
    /// DNS label that does not begin with a digit.
    Label1035,
}

impl NameRule {
    /// Validates `text` as a name, or as the beginning of one.
    pub fn check(self, text: &str, prefix: bool) -> Vec<String> {
        match self {
            Self::PathSegment if prefix => name::path_segment_prefix(text),
            Self::PathSegment => name::path_segment(text),
            Self::Subdomain => name::dns1123_subdomain(&masked(text, prefix)),
            Self::Label => name::dns1123_label(&masked(text, prefix)),
            Self::Label1035 => name::dns1035_label(&masked(text, prefix)),
        }
    }
}

/// Masks the dash at the end of a prefix, which is valid because characters follow. (Go drops one character too many
/// here, which is reproduced.)
fn masked(text: &str, prefix: bool) -> String {
    if prefix && text.len() > 1 && text.ends_with('-') && text.is_ascii() {
        format!("{}a", &text[..text.len() - 2])
    } else {
        text.to_string()
    }
}

/// Validates `metadata` of an object about to be stored, at `path` (`metadata` for the object itself).
pub fn validate(metadata: &Value, namespaced: bool, rule: NameRule, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let generate = text(metadata, "generateName");
    if !generate.is_empty() {
        for message in rule.check(generate, true) {
            errors.push(FieldError::invalid(format!("{path}.generateName"), generate, message));
        }
    }
    let own = text(metadata, "name");
    if own.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), "name or generateName is required"));
    } else {
        for message in rule.check(own, false) {
            errors.push(FieldError::invalid(format!("{path}.name"), own, message));
        }
    }
    errors.extend(beyond_the_name(metadata, namespaced, path));
    errors
}

fn beyond_the_name(metadata: &Value, namespaced: bool, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let namespace = text(metadata, "namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => errors.push(FieldError::required(format!("{path}.namespace"), "")),
        (true, false) => {
            for message in name::dns1123_label(namespace) {
                errors.push(FieldError::invalid(format!("{path}.namespace"), namespace, message));
            }
        }
        (false, false) => {
            errors.push(FieldError::forbidden(format!("{path}.namespace"), "not allowed on this type"));
        }
        (false, true) => {}
    }
    let generation = metadata["generation"].as_i64().unwrap_or(0);
    if generation < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(format!("{path}.generation"), generation, detail));
    }
    errors.extend(labels(&metadata["labels"], &format!("{path}.labels")));
    errors.extend(annotations(&metadata["annotations"], &format!("{path}.annotations")));
    errors.extend(owner_references(&metadata["ownerReferences"], &format!("{path}.ownerReferences")));
    errors.extend(finalizers(&metadata["finalizers"], &format!("{path}.finalizers")));
    errors.extend(managed_fields(&metadata["managedFields"], &format!("{path}.managedFields")));
    errors
}

/// Validates the metadata of an embedded resource.
pub fn validate_embedded(metadata: &Value, path: &str) -> Vec<FieldError> {
    validate(metadata, !text(metadata, "namespace").is_empty(), NameRule::PathSegment, path)
}

/// Validates an update of `metadata`.
pub fn validate_update(new: &Value, old: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !old["deletionTimestamp"].is_null() {
        errors.extend(new_finalizers(&new["finalizers"], &old["finalizers"], &format!("{path}.finalizers")));
    }
    if text(new, "resourceVersion").is_empty() {
        let detail = "must be specified for an update";
        errors.push(FieldError::invalid(format!("{path}.resourceVersion"), "", detail));
    }
    let (was, is) = (old["generation"].as_i64().unwrap_or(0), new["generation"].as_i64().unwrap_or(0));
    if is < was {
        errors.push(FieldError::invalid(format!("{path}.generation"), is, "must not be decremented"));
    }
    for field in ["name", "namespace", "uid"] {
        if text(new, field) != text(old, field) {
            errors.push(FieldError::invalid(format!("{path}.{field}"), text(new, field), IMMUTABLE));
        }
    }
    for field in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if new[field] != old[field] {
            errors.push(FieldError::invalid(format!("{path}.{field}"), new[field].clone(), IMMUTABLE));
        }
    }
    errors.extend(labels(&new["labels"], &format!("{path}.labels")));
    errors.extend(annotations(&new["annotations"], &format!("{path}.annotations")));
    errors.extend(owner_references(&new["ownerReferences"], &format!("{path}.ownerReferences")));
    errors.extend(managed_fields(&new["managedFields"], &format!("{path}.managedFields")));
    errors
}

/// Copies the system fields of the old metadata: generation, uid, creation and deletion.
pub fn keep_system_fields(new: &mut Value, old: &Value) {
    let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let old = &old["metadata"];
    for field in ["creationTimestamp", "deletionTimestamp"] {
        if !old[field].is_null() {
            metadata.insert(field.into(), old[field].clone());
        }
    }
    for field in ["uid", "deletionGracePeriodSeconds"] {
        if !old[field].is_null() && metadata.get(field).is_none_or(|v| v.is_null() || v == "") {
            metadata.insert(field.into(), old[field].clone());
        }
    }
}

/// Validates keys and values of labels.
pub fn labels(labels: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        errors.extend(label_name(key, path));
        let value = value.as_str().unwrap_or("");
        errors.extend(name::label_value(value).into_iter().map(|m| FieldError::invalid(path, value, m)));
    }
    errors
}

/// Validates the key of a label.
pub fn label_name(key: &str, path: &str) -> Vec<FieldError> {
    name::qualified_name(key).into_iter().map(|m| FieldError::invalid(path, key, m)).collect()
}

/// Validates keys of annotations, in any case, and the total size.
pub fn annotations(annotations: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let map = annotations.as_object();
    for key in map.into_iter().flat_map(Map::keys) {
        for message in name::qualified_name(&key.to_lowercase()) {
            errors.push(FieldError::invalid(path, key.as_str(), message));
        }
    }
    let bytes: usize = map.into_iter().flatten().map(|(k, v)| k.len() + v.as_str().map_or(0, str::len)).sum();
    if bytes > MAX_ANNOTATIONS_BYTES {
        errors.push(too_long(path, MAX_ANNOTATIONS_BYTES));
    }
    errors
}

/// Creates the error `Too long: may not be more than N bytes`.
pub fn too_long(path: impl Into<String>, limit: usize) -> FieldError {
    let unit = if limit == 1 { "byte" } else { "bytes" };
    let detail = format!("may not be more than {limit} {unit}");
    FieldError { kind: FieldErrorKind::TooLong, field: path.into(), value: None, detail }
}

fn owner_references(references: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    for reference in references.as_array().into_iter().flatten() {
        errors.extend(owner_reference(reference, path));
        if reference["controller"] == true {
            let this = format!("{}/{}", text(reference, "kind"), text(reference, "name"));
            match &controller {
                Some(first) => errors.push(two_controllers(references, path, first, &this)),
                None => controller = Some(this),
            }
        }
    }
    errors
}

fn two_controllers(references: &Value, path: &str, first: &str, second: &str) -> FieldError {
    let shown = crate::kinds::internal::print_internal("[]v1.OwnerReference", references);
    let detail = format!(
        "{shown}: Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
    );
    FieldError { kind: FieldErrorKind::Invalid, field: path.into(), value: None, detail }
}

fn owner_reference(reference: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let api_version = text(reference, "apiVersion");
    let version = match api_version.matches('/').count() {
        0 => api_version,
        1 => api_version.rsplit('/').next().unwrap_or(""),
        _ => "",
    };
    if version.is_empty() {
        errors.push(FieldError::invalid(format!("{path}.apiVersion"), api_version, "version must not be empty"));
    }
    for field in ["kind", "name", "uid"] {
        if text(reference, field).is_empty() {
            errors.push(FieldError::invalid(format!("{path}.{field}"), "", "must not be empty"));
        }
    }
    if api_version == "v1" && reference["kind"] == "Event" {
        let detail = "/v1, Kind=Event is disallowed from being an owner";
        errors.push(FieldError::invalid(path, reference.clone(), detail));
    }
    errors
}

fn finalizers(finalizers: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let all: Vec<&str> = strings(finalizers).collect();
    for finalizer in &all {
        errors.extend(name::qualified_name(finalizer).into_iter().map(|m| FieldError::invalid(path, *finalizer, m)));
    }
    if all.contains(&"orphan") && all.contains(&"foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, finalizers.clone(), detail));
    }
    errors
}

/// Checks that an object that is being deleted gets no new finalizers.
fn new_finalizers(new: &Value, old: &Value, path: &str) -> Vec<FieldError> {
    let old: BTreeSet<&str> = strings(old).collect();
    let extra: BTreeSet<&str> = strings(new).filter(|f| !old.contains(f)).collect();
    if extra.is_empty() {
        return Vec::new();
    }
    let quoted: Vec<String> = extra.iter().map(|f| quote(f)).collect();
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        quoted.join(", ")
    );
    vec![FieldError::forbidden(path, detail)]
}

fn managed_fields(entries: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, entry) in entries.as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}[{index}]");
        let operation = text(entry, "operation");
        if !matches!(operation, "Apply" | "Update") {
            let detail = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid(format!("{path}.operation"), operation, detail));
        }
        let kind = text(entry, "fieldsType");
        if !matches!(kind, "" | "FieldsV1") {
            errors.push(FieldError::invalid(format!("{path}.fieldsType"), kind, "must be `FieldsV1`"));
        }
        errors.extend(field_manager(text(entry, "manager"), &format!("{path}.manager")));
        if text(entry, "subresource").len() > MAX_SUBRESOURCE_BYTES {
            errors.push(too_long(format!("{path}.subresource"), MAX_SUBRESOURCE_BYTES));
        }
    }
    errors
}

/// Validates the name of a field manager: not too long, and printable.
pub fn field_manager(manager: &str, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > MAX_FIELD_MANAGER_BYTES {
        errors.push(too_long(path, MAX_FIELD_MANAGER_BYTES));
    }
    for (position, char) in manager.char_indices().filter(|(_, c)| c.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {position})", char as u32);
        errors.push(FieldError::invalid(path, manager, detail));
    }
    errors
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or("")
}
