//! Structural schemas: every field has a type, and value validations only restrict declared fields.

use super::Schema;
use super::embedded::child;
use super::pattern;
use crate::Value;
use crate::field::FieldError;

/// Parses the schema of a CRD version, or returns the reasons for which it is not structural. `path` prefixes every
/// field.
pub fn structural(schema: &Value, path: &str) -> Result<Schema, Vec<FieldError>> {
    let errors = violations(schema, path);
    if errors.is_empty() { Ok(Schema::from_json(schema)) } else { Err(errors) }
}

/// Returns the reasons for which a schema is not structural, sorted by text.
pub fn violations(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, SchemaLevel::Root, path, &mut errors);
    check_declared(schema, Some(schema), path, path, &mut errors);
    errors.sort_by_key(ToString::to_string);
    errors
}

#[derive(Clone, Copy, PartialEq)]
enum SchemaLevel {
    Root,
    Item,
    Field,
}

/// Returns the text of a keyword, empty if absent.
pub(super) fn text<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema[key].as_str().unwrap_or("")
}

pub(super) fn flag(schema: &Value, key: &str) -> bool {
    schema[key] == true
}

pub(super) fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema[key].as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn fields<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema[key].as_object().into_iter().flatten()
}

/// Returns the path `a.properties[b]`.
pub(super) fn property(path: &str, key: &str, name: &str) -> String {
    format!("{}[{name}]", child(path, key))
}

fn invariants(schema: &Value, level: SchemaLevel, path: &str, errors: &mut Vec<FieldError>) {
    let items = &schema["items"];
    if text(schema, "type") == "array" && items.is_null() {
        errors.push(FieldError::required(child(path, "items"), "must be specified"));
    }
    if items.is_object() {
        invariants(items, SchemaLevel::Item, &child(path, "items"), errors);
    }
    for (name, field) in fields(schema, "properties") {
        invariants(field, SchemaLevel::Field, &property(path, "properties", name), errors);
    }
    let additional = &schema["additionalProperties"];
    if !additional.is_null() {
        let at = child(path, "additionalProperties");
        if level == SchemaLevel::Root {
            errors.push(FieldError::forbidden(at.clone(), "must not be used at the root"));
        }
        if additional.is_object() {
            invariants(additional, SchemaLevel::Field, &at, errors);
        }
    }
    extensions(schema, path, errors);
    let skip_any_of = is_int_or_string(list(schema, "anyOf"));
    let skip_first_all_of = list(schema, "allOf").first().is_some_and(|s| is_int_or_string(list(s, "anyOf")));
    value_validation(schema, skip_any_of, skip_first_all_of, path, errors);
    types(schema, level, path, errors);
    metadata(schema, level, path, errors);
}

fn extensions(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !flag(schema, "x-kubernetes-int-or-string") {
        return;
    }
    for key in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if flag(schema, key) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(child(path, key), true, detail));
        }
    }
}

fn is_int_or_string(any_of: &[Value]) -> bool {
    match any_of {
        [a, b] => *a == serde_json::json!({"type": "integer"}) && *b == serde_json::json!({"type": "string"}),
        _ => false,
    }
}

fn types(schema: &Value, level: SchemaLevel, path: &str, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let preserve = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let at = child(path, "type");
    if embedded && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match kind {
            "" => FieldError::required(at.clone(), detail),
            kind => FieldError::invalid(at.clone(), kind, detail),
        });
    } else if kind.is_empty() && !flag(schema, "x-kubernetes-int-or-string") && !preserve {
        let detail = match level {
            SchemaLevel::Root => "must not be empty at the root",
            SchemaLevel::Item => "must not be empty for specified array items",
            SchemaLevel::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(at.clone(), detail));
    }
    if embedded && !schema["additionalProperties"].is_null() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(child(path, "additionalProperties"), detail));
    }
    if level == SchemaLevel::Root && !kind.is_empty() && kind != "object" {
        errors.push(FieldError::invalid(at, kind, "must be object at the root"));
    }
    if embedded && !preserve && fields(schema, "properties").next().is_none() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(child(path, "properties"), detail));
    }
}

/// Checks that of a resource's own fields only the name is restricted.
fn metadata(schema: &Value, level: SchemaLevel, path: &str, errors: &mut Vec<FieldError>) {
    let checked = level == SchemaLevel::Root || flag(schema, "x-kubernetes-embedded-resource");
    for name in ["kind", "apiVersion"] {
        let field = &schema["properties"][name];
        if checked && !field.is_null() && text(field, "type") != "string" {
            let at = child(&property(path, "properties", name), "type");
            errors.push(FieldError::invalid(at, text(field, "type"), "must be string"));
        }
    }
    let field = &schema["properties"]["metadata"];
    let Some(keywords) = field.as_object() else { return };
    let at = property(path, "properties", "metadata");
    if checked && text(field, "type") != "object" {
        errors.push(FieldError::invalid(child(&at, "type"), text(field, "type"), "must be object"));
    }
    let only_name = |(key, value): (&String, &Value)| match key.as_str() {
        "type" | "default" => true,
        "properties" => fields(field, "properties").all(|(name, _)| name == "name" || name == "generateName"),
        // A keyword without effect counts as absent.
        _ => *value == false || *value == "" || value.as_array().is_some_and(Vec::is_empty),
    };
    if level == SchemaLevel::Root && !keywords.iter().all(only_name) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(at, detail));
    }
}

fn value_validation(
    schema: &Value,
    skip_any_of: bool,
    skip_first_all_of: bool,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any_of {
        for (index, clause) in list(schema, "anyOf").iter().enumerate() {
            validate_clause(clause, false, &format!("{}[{index}]", child(path, "anyOf")), errors);
        }
    }
    for (index, clause) in list(schema, "allOf").iter().enumerate() {
        let skip = skip_first_all_of && index == 0;
        validate_clause(clause, skip, &format!("{}[{index}]", child(path, "allOf")), errors);
    }
    for (index, clause) in list(schema, "oneOf").iter().enumerate() {
        validate_clause(clause, false, &format!("{}[{index}]", child(path, "oneOf")), errors);
    }
    if schema["not"].is_object() {
        validate_clause(&schema["not"], false, &child(path, "not"), errors);
    }
    let pattern = text(schema, "pattern");
    if let Some(error) = pattern::compiled(pattern).err().filter(|_| !pattern.is_empty()) {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(child(path, "pattern"), pattern, detail));
    }
}

/// Checks that a clause under `anyOf`, `allOf`, `oneOf` or `not` only restricts values.
fn validate_clause(schema: &Value, skip_any_of: bool, path: &str, errors: &mut Vec<FieldError>) {
    value_validation(schema, skip_any_of, false, path, errors);
    if schema["items"].is_object() {
        validate_clause(&schema["items"], false, &child(path, "items"), errors);
    }
    for (name, field) in fields(schema, "properties") {
        validate_clause(field, false, &property(path, "properties", name), errors);
    }
    let mut forbid = |key: &str, set: bool, words: &str| {
        if set {
            errors.push(FieldError::forbidden(child(path, key), format!("must be {words} to be structural")));
        }
    };
    let given = |key: &str| !schema[key].is_null();
    let some = |key: &str| !text(schema, key).is_empty();
    forbid("type", some("type"), "empty");
    forbid(
        "additionalProperties",
        given("additionalProperties") && schema["additionalProperties"] != false,
        "undefined",
    );
    forbid("default", given("default"), "undefined");
    forbid("title", some("title"), "empty");
    forbid("description", some("description"), "empty");
    for key in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        forbid(key, flag(schema, key), "false");
    }
    forbid("x-kubernetes-list-map-keys", !list(schema, "x-kubernetes-list-map-keys").is_empty(), "empty");
    forbid("x-kubernetes-list-type", given("x-kubernetes-list-type"), "undefined");
    forbid("x-kubernetes-map-type", given("x-kubernetes-map-type"), "undefined");
    forbid("x-kubernetes-validations", !list(schema, "x-kubernetes-validations").is_empty(), "empty");
    if given("properties") && !schema["properties"]["metadata"].is_null() {
        let at = property(path, "properties", "metadata");
        errors.push(FieldError::forbidden(at, "must not be specified in a nested context"));
    }
}

/// Checks that every field restricted by a clause is declared outside clauses.
fn check_declared(clauses: &Value, declared: Option<&Value>, at: &str, via: &str, errors: &mut Vec<FieldError>) {
    if clauses["not"].is_object() {
        complete_nested(&clauses["not"], declared, at, &child(via, "not"), errors);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (index, clause) in list(clauses, key).iter().enumerate() {
            complete_nested(clause, declared, at, &format!("{}[{index}]", child(via, key)), errors);
        }
    }
}

fn complete_nested(clause: &Value, declared: Option<&Value>, at: &str, via: &str, errors: &mut Vec<FieldError>) {
    let Some(declared) = declared else {
        errors.push(FieldError::required(at, format!("because it is defined in {via}")));
        return;
    };
    check_declared(clause, Some(declared), at, via, errors);
    if clause["items"].is_object() {
        let items = Some(&declared["items"]).filter(|items| items.is_object());
        complete_nested(&clause["items"], items, &child(at, "items"), &child(via, "items"), errors);
    }
    for (name, field) in fields(clause, "properties") {
        let (at, via) = (property(at, "properties", name), property(via, "properties", name));
        match declared["properties"].get(name) {
            Some(declared) => complete_nested(field, Some(declared), &at, &via, errors),
            None => errors.push(FieldError::required(at, format!("because it is defined in {via}"))),
        }
    }
}
