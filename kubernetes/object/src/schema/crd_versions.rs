//! Validation of a CRD's versions and of the parts that all versions share.

use super::crd_defaults::validate_defaults;
use super::crd_internal::internal_schema;
use super::embedded::child;
use super::field_path;
use super::openapi::{self, SchemaContext};
use super::structural::{fields, flag, list, text, violations};
use super::{Schema, formats};
use crate::Value;
use crate::cel::{RuleCost, TOO_EXPENSIVE};
use crate::field::{FieldError, FieldErrorKind};
use crate::name::dns1035_label;

/// Parts that are equal in all versions. kube-apiserver keeps them once, at the top of the spec.
pub(super) struct SharedSpec {
    schema: bool,
    subresources: bool,
    columns: bool,
    selectable: bool,
}

impl SharedSpec {
    pub fn of(versions: &[Value]) -> Self {
        let same = |key: &str| versions.windows(2).all(|pair| pair[0][key] == pair[1][key]);
        Self {
            schema: same("schema"),
            subresources: same("subresources"),
            columns: same("additionalPrinterColumns"),
            selectable: same("selectableFields"),
        }
    }
}

/// Validates one version, without the shared parts.
pub(super) fn version(version: &Value, at: &str, shared: &SharedSpec, unchanged: bool) -> Vec<FieldError> {
    let mut errors = deprecation(version, at);
    let status = !version["subresources"]["status"].is_null();
    if !shared.schema {
        errors.extend(schema(&version["schema"], &child(at, "schema"), status, unchanged));
    }
    if !shared.subresources {
        errors.extend(subresources(&version["subresources"], &child(at, "subresources")));
    }
    if !shared.columns {
        errors.extend(columns(version, &child(at, "additionalPrinterColumns")));
    }
    if !shared.selectable {
        errors.extend(selectable(version, &child(at, "selectableFields")));
    }
    errors
}

/// Validates the shared parts.
pub(super) fn shared(first: &Value, versions: &[Value], shared: &SharedSpec, unchanged: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if shared.schema {
        let status = versions.iter().any(|version| !version["subresources"]["status"].is_null());
        errors.extend(schema(&first["schema"], "spec.validation", status, unchanged));
    }
    if shared.subresources {
        errors.extend(subresources(&first["subresources"], "spec.subresources"));
    }
    if shared.columns {
        errors.extend(columns(first, "spec.additionalPrinterColumns"));
    }
    if shared.selectable {
        errors.extend(selectable(first, "spec.selectableFields"));
    }
    errors
}

/// Validates the set of versions: exactly one storage version, and unique names.
pub(super) fn version_set(versions: &[Value], absent: bool, shared: &SharedSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut refuse = |detail: &str| {
        let shown: Vec<String> = versions.iter().map(|version| internal_version(version, shared)).collect();
        let shown = if absent { "null".to_string() } else { format!("[{}]", shown.join(",")) };
        errors.push(go_struct_error("spec.versions", &shown, detail));
    };
    let repeated = |(index, version): (usize, &Value)| versions[..index].iter().any(|v| v["name"] == version["name"]);
    if versions.iter().enumerate().any(repeated) {
        refuse("must contain unique version names");
    }
    if versions.iter().filter(|version| flag(version, "storage")).count() != 1 {
        refuse("must have exactly one version marked as storage version");
    }
    let first = versions.first().map_or("", |version| text(version, "name"));
    let wrong = dns1035_label(first);
    if !versions.is_empty() && !first.is_empty() && !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.version", first, wrong.join(",")));
    }
    errors
}

/// Creates an error whose value is a Go struct, with its fields in Go's order.
pub(crate) fn go_struct_error(field: &str, shown: &str, detail: &str) -> FieldError {
    // Go's encoder escapes characters that have a meaning in HTML.
    let shown = shown.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
    let kind = FieldErrorKind::Invalid;
    FieldError { kind, field: field.to_string(), value: None, detail: format!("{shown}: {detail}") }
}

/// Returns the version as Go's `json` encodes kube-apiserver's internal struct, which has no JSON names.
fn internal_version(version: &Value, shared: &SharedSpec) -> String {
    let part = |key: &str, shared: bool| match shared || version[key].is_null() {
        true => "null".to_string(),
        false => version[key].to_string(),
    };
    let schema = match shared.schema || !version["schema"]["openAPIV3Schema"].is_object() {
        true => "null".to_string(),
        false => format!("{{\"OpenAPIV3Schema\":{}}}", internal_schema(&version["schema"]["openAPIV3Schema"])),
    };
    format!(
        "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{schema},\
         \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
        version["name"],
        flag(version, "served"),
        flag(version, "storage"),
        flag(version, "deprecated"),
        version["deprecationWarning"],
        part("subresources", shared.subresources),
        part("additionalPrinterColumns", shared.columns),
        part("selectableFields", shared.selectable),
    )
}

fn deprecation(version: &Value, at: &str) -> Vec<FieldError> {
    const MAX_CHARACTERS: usize = 256;
    let Some(warning) = version["deprecationWarning"].as_str() else { return Vec::new() };
    let mut details = Vec::new();
    if !flag(version, "deprecated") {
        details.push("can only be set for deprecated versions".to_string());
    } else {
        if warning.len() > MAX_CHARACTERS {
            details.push("must be <= 256 characters long".to_string());
        }
        if warning.is_empty() {
            details.push("must not be an empty string".to_string());
        }
        if let Some((index, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
            let words = "must only contain printable UTF-8 characters; non-printable character found at index";
            details.push(format!("{words} {index}"));
        }
    }
    let at = child(at, "deprecationWarning");
    details.into_iter().map(|detail| FieldError::invalid(at.clone(), warning, detail)).collect()
}

fn schema(validation: &Value, at: &str, status: bool, unchanged: bool) -> Vec<FieldError> {
    let schema = &validation["openAPIV3Schema"];
    if !schema.is_object() {
        return Vec::new();
    }
    let at = child(at, "openAPIV3Schema");
    let mut errors = Vec::new();
    if status {
        errors.extend(root_with_status(schema, &at));
    }
    if flag(schema, "nullable") {
        errors.push(FieldError::forbidden(child(&at, "nullable"), "nullable cannot be true at the root"));
    }
    let mut rules = false;
    if !unsupported(schema) {
        let mut found = violations(schema, &at);
        if found.is_empty() {
            found = validate_defaults(&Schema::from_json(schema), &at);
        }
        rules = found.is_empty() && !unchanged;
        errors.extend(found);
    }
    let found = openapi::validate(schema, &at, &SchemaContext::root(rules));
    errors.extend(found.schema);
    errors.extend(found.rules);
    errors.extend(total_cost(found.costs, &at));
    errors
}

/// Reports the rules that make the whole schema too expensive, most expensive first.
fn total_cost(mut costs: Vec<RuleCost>, at: &str) -> Vec<FieldError> {
    const MAX_NAMED: usize = 4;
    if costs.is_empty() {
        return Vec::new();
    }
    costs.sort_by_key(|rule| std::cmp::Reverse(rule.cost));
    let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    let named = costs.into_iter().take(MAX_NAMED).map(|rule| FieldError::forbidden(rule.field, detail));
    let total = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    named.chain([FieldError::forbidden(at, format!("{total} {TOO_EXPENSIVE}"))]).collect()
}

/// Checks that with the status subresource, the root only has keywords that mean the same for the status alone.
fn root_with_status(schema: &Value, at: &str) -> Vec<FieldError> {
    const FORBIDDEN: [&str; 16] = [
        "id",
        "$schema",
        "$ref",
        "default",
        "enum",
        "maxProperties",
        "minProperties",
        "allOf",
        "oneOf",
        "anyOf",
        "not",
        "additionalProperties",
        "nullable",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-map-type",
    ];
    let kind = text(schema, "type");
    if !kind.is_empty() && kind != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
                      enabled";
        return vec![FieldError::invalid(child(at, "type"), kind, detail)];
    }
    let set = |key: &str| !schema[key].is_null() && schema[key] != false;
    if FORBIDDEN.iter().any(|key| set(key)) {
        let detail = "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
                      MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties \
                      ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the \
                      schema if the status subresource is enabled";
        return vec![go_struct_error(at, &internal_schema(schema), detail)];
    }
    Vec::new()
}

/// Whether the schema has keywords that prevent reading it as a structural schema.
fn unsupported(schema: &Value) -> bool {
    let here = ["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"];
    let set = |key: &str| !schema[key].is_null() && schema[key] != "";
    here.iter().any(|key| set(key))
        || schema["items"].is_array()
        || schema["x-kubernetes-preserve-unknown-fields"] == false
        || children(schema).any(unsupported)
}

/// Returns the direct children of a schema.
fn children(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["allOf", "anyOf", "oneOf", "items"].into_iter().flat_map(|key| list(schema, key));
    let single = ["items", "not", "additionalProperties"].into_iter().map(|key| &schema[key]);
    lists.chain(single.filter(|s| s.is_object())).chain(fields(schema, "properties").map(|(_, s)| s))
}

pub(super) fn has_default(schema: &Value) -> bool {
    !schema["default"].is_null() || children(schema).any(has_default)
}

pub(super) fn unknown_formats(schema: &Value, out: &mut Vec<String>) {
    let format = text(schema, "format");
    let kinds: Vec<&str> = Some(text(schema, "type")).filter(|kind| !kind.is_empty()).into_iter().collect();
    if !format.is_empty() && formats::supported(format, &kinds).is_none() {
        out.push(format.to_string());
    }
    children(schema).for_each(|child| unknown_formats(child, out));
}

fn subresources(subresources: &Value, at: &str) -> Vec<FieldError> {
    let scale = &subresources["scale"];
    let mut errors = Vec::new();
    if !scale.is_object() {
        return errors;
    }
    for (key, prefix) in [("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")] {
        let (path, at) = (text(scale, key), child(at, &format!("scale.{key}")));
        if path.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else if let Some(error) = simple_path(path, &at) {
            errors.push(error);
        } else if !path.starts_with(prefix) {
            let detail = format!("should be a json path under {}", &prefix[..prefix.len() - 1]);
            errors.push(FieldError::invalid(at, path, detail));
        }
    }
    let (path, at) = (text(scale, "labelSelectorPath"), child(at, "scale.labelSelectorPath"));
    if let Some(error) = simple_path(path, &at).filter(|_| !path.is_empty()) {
        errors.push(error);
    } else if !path.is_empty() && !path.starts_with(".spec.") && !path.starts_with(".status.") {
        errors.push(FieldError::invalid(at, path, "should be a json path under either .spec or .status"));
    }
    errors
}

fn simple_path(path: &str, at: &str) -> Option<FieldError> {
    (!path.starts_with('.')).then(|| FieldError::invalid(at, path, "must be a simple json path starting with ."))
}

fn columns(version: &Value, at: &str) -> Vec<FieldError> {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    let mut errors = Vec::new();
    for (index, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
        let at = |key: &str| format!("{at}[{index}].{key}");
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(at("name"), ""));
        }
        let detail = format!("must be one of {}", TYPES.join(","));
        match text(column, "type") {
            "" => errors.push(FieldError::required(at("type"), detail)),
            kind if !TYPES.contains(&kind) => errors.push(FieldError::invalid(at("type"), kind, detail)),
            _ => {}
        }
        let format = text(column, "format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let detail = format!("must be one of {}", FORMATS.join(","));
            errors.push(FieldError::invalid(at("format"), format, detail));
        }
        match text(column, "jsonPath") {
            "" => errors.push(FieldError::required(at("JSONPath"), "")),
            path => errors.extend(simple_path(path, &at("JSONPath"))),
        }
    }
    errors
}

fn selectable(version: &Value, at: &str) -> Vec<FieldError> {
    const MAX_SELECTABLE_FIELDS: usize = 8;
    let mut errors = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (index, field) in list(version, "selectableFields").iter().enumerate() {
        let (path, at) = (text(field, "jsonPath"), format!("{at}[{index}].jsonPath"));
        if path.is_empty() {
            errors.push(FieldError::required(at, ""));
            continue;
        }
        match field_path::resolve(path, &version["schema"]["openAPIV3Schema"], false) {
            Err(why) => errors.push(FieldError::invalid(at, path, format!("is an invalid path: {why}"))),
            Ok((shown, found)) => {
                if shown == "metadata" || shown.starts_with("metadata.") {
                    let detail = "must not point to fields in metadata";
                    errors.push(FieldError::invalid(at.clone(), path, detail));
                }
                if !["string", "boolean", "integer"].contains(&text(found, "type")) {
                    let detail = "must point to a field of type string, boolean or integer. Enum string fields and \
                                  strings with formats are allowed.";
                    errors.push(FieldError::invalid(at.clone(), path, detail));
                }
                if seen.contains(&shown) {
                    errors.push(FieldError::duplicate(at, path));
                } else {
                    seen.push(shown);
                }
            }
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        let detail = format!("must have at most {MAX_SELECTABLE_FIELDS} items");
        let (kind, value) = (FieldErrorKind::TooMany, Some(Value::from(seen.len())));
        errors.push(FieldError { kind, field: at.to_string(), value, detail });
    }
    errors
}
