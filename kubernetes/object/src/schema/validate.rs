//! Validation of a custom resource against its schema, with the API server's error texts.
//!
//! On update, values that are unchanged since the old object do not fail again (ratcheting). List items are correlated
//! by their keys in lists of type `map`, other values by name.

use super::check_result::{CheckFailure, CheckResult};
use super::correlate::{same_item, unchanged};
use super::formats;
use super::numbers;
use super::pattern;
use super::{Schema, SchemaType, ValueValidation};
use crate::field::{FieldError, FieldErrorKind};
use crate::quote::quote;
use crate::{Map, Value};

/// Validates `value`, which replaces `old`.
pub fn validate(schema: &Schema, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    validate_at(schema, value, old, "", "")
}

/// Validates a part of an object. `parent` prefixes every field, and messages begin with `path`.
pub fn validate_at(schema: &Schema, value: &Value, old: Option<&Value>, parent: &str, path: &str) -> Vec<FieldError> {
    let outcome = Validator { at_root: path.is_empty() }.ratcheting(schema, value, old, path);
    outcome.failures.into_iter().map(|failure| failure.into_field_error(parent)).collect()
}

struct Validator {
    at_root: bool,
}

impl Validator {
    fn ratcheting(&self, schema: &Schema, value: &Value, old: Option<&Value>, path: &str) -> CheckResult {
        let mut outcome = self.node(schema, value, old, path);
        if !outcome.valid() && old.is_some_and(|old| unchanged(schema, value, old)) {
            outcome.failures.clear();
        }
        outcome
    }

    fn node(&self, schema: &Schema, value: &Value, old: Option<&Value>, path: &str) -> CheckResult {
        let mut outcome = CheckResult::default();
        let types = types(schema);
        let format = schema.format.as_deref().and_then(|format| formats::supported(format, &types));
        if value.is_null() {
            outcome.merge(null(schema, &types, path));
            outcome.merge(allowed(schema.checks.as_deref(), value, path));
            return outcome;
        }
        if !types.is_empty() || format.is_some() {
            outcome.merge(kind(&types, format, value, path));
            outcome.checked += 1;
        }
        outcome.merge(self.alternatives(schema.checks.as_deref(), value, path));
        outcome.checked += 1;
        match value {
            Value::String(text) => {
                outcome.merge(string(schema.checks.as_deref(), text, path));
                outcome.checked += 1;
                if let Some(format) = format.filter(|format| formats::is_known(format)) {
                    if !formats::matches(format, text) {
                        outcome.add(CheckFailure::wrong_type(path, format, text));
                    }
                    outcome.checked += 1;
                }
            }
            Value::Number(number) => {
                let failures = numbers::failures(schema.checks.as_deref(), &types, format, number, path);
                failures.into_iter().for_each(|failure| outcome.add(failure));
                outcome.checked += 2;
            }
            Value::Array(items) => {
                outcome.merge(self.list(schema, items, old, path));
                outcome.checked += 1;
            }
            _ => {}
        }
        outcome.merge(allowed(schema.checks.as_deref(), value, path));
        outcome.checked += 1;
        if let Value::Object(map) = value {
            outcome.merge(self.object(schema, map, old, path));
            outcome.checked += 1;
        }
        outcome.checked += 1;
        outcome
    }

    fn object(&self, schema: &Schema, map: &Map, old: Option<&Value>, path: &str) -> CheckResult {
        let mut outcome = CheckResult::default();
        let size = map.len() as i64;
        let checks = schema.checks.as_deref();
        if let Some(least) = checks.and_then(|c| c.min_properties).filter(|least| size < *least) {
            let text = format!("{path} in body should have at least {least} properties");
            outcome.add(CheckFailure::invalid(path, size, text));
        }
        if let Some(most) = checks.and_then(|c| c.max_properties).filter(|most| size > *most) {
            let text = format!("{path} in body should have at most {most} properties");
            outcome.add(too_many(path, size, most, text));
        }
        for (key, value) in map {
            if schema.properties.contains_key(key.as_str()) {
                continue;
            }
            if let Some(additional) = &schema.additional {
                let old = old.and_then(|old| old.get(key));
                outcome.merge(self.ratcheting(additional, value, old, &format!("{path}.{key}")));
            }
        }
        for (name, property) in &schema.properties {
            let Some(value) = map.get(name.as_ref()) else { continue };
            let below = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            let type_meta = self.at_root && path.is_empty() && matches!(name.as_ref(), "kind" | "apiVersion");
            let old = old.filter(|_| !type_meta).and_then(|old| old.get(name.as_ref()));
            outcome.merge(self.ratcheting(property, value, old, &below));
        }
        for name in schema.required.iter().filter(|name| !map.contains_key(name.as_ref())) {
            let name = format!("{path}.{name}");
            let text = format!("{name} in body is required");
            let detail = String::new();
            outcome.add(CheckFailure {
                kind: FieldErrorKind::Required,
                detail,
                ..CheckFailure::invalid(&name, "", text)
            });
        }
        outcome
    }

    fn list(&self, schema: &Schema, items: &[Value], old: Option<&Value>, path: &str) -> CheckResult {
        let mut outcome = CheckResult { checked: 1, ..CheckResult::default() };
        if let Some(item_schema) = &schema.items {
            for (index, item) in items.iter().enumerate() {
                let old = old.and_then(|old| same_item(schema, item, old));
                outcome.merge(self.ratcheting(item_schema, item, old, &format!("{path}[{index}]")));
            }
        }
        let Some(checks) = schema.checks.as_deref() else { return outcome };
        let size = items.len() as i64;
        if let Some(least) = checks.min_items.filter(|least| size < *least) {
            outcome.add(CheckFailure::invalid(
                path,
                size,
                format!("{path} in body should have at least {least} items"),
            ));
        }
        if let Some(most) = checks.max_items.filter(|most| size > *most) {
            let text = format!("{path} in body should have at most {most} items");
            outcome.add(too_many(path, size, most, text));
        }
        if checks.unique_items && (1..items.len()).any(|at| items[..at].contains(&items[at])) {
            outcome.add(CheckFailure::invalid(path, "", format!("{path} in body shouldn't contain duplicates")));
        }
        outcome
    }

    /// Validates `anyOf`, `oneOf`, `allOf` and `not`.
    fn alternatives(&self, checks: Option<&ValueValidation>, value: &Value, path: &str) -> CheckResult {
        let mut outcome = CheckResult { checked: 1, ..CheckResult::default() };
        let Some(checks) = checks else { return outcome };
        if !checks.any_of.is_empty() {
            self.any_of(checks, value, path, &mut outcome);
        }
        if !checks.one_of.is_empty() {
            self.one_of(checks, value, path, &mut outcome);
        }
        if !checks.all_of.is_empty() {
            let mut validated = 0;
            for schema in &checks.all_of {
                let result = self.node(schema, value, None, path);
                validated += usize::from(result.valid());
                outcome.merge(result);
            }
            if validated != checks.all_of.len() {
                let none = if validated == 0 { ". None validated" } else { "" };
                outcome.add(CheckFailure::combined(path, &format!("validate all the schemas (allOf){none}")));
            }
        }
        if checks.not.as_ref().is_some_and(|schema| self.node(schema, value, None, path).valid()) {
            outcome.add(CheckFailure::combined(path, "not validate the schema (not)"));
        }
        outcome
    }

    fn any_of(&self, checks: &ValueValidation, value: &Value, path: &str, outcome: &mut CheckResult) {
        let mut best: Option<CheckResult> = None;
        for schema in &checks.any_of {
            let result = self.node(schema, value, None, path);
            if result.valid() {
                outcome.merge(result);
                return;
            }
            if best.as_ref().is_none_or(|best| result.checked > best.checked) {
                best = Some(result);
            }
        }
        outcome.add(CheckFailure::combined(path, "validate at least one schema (anyOf)"));
        best.into_iter().for_each(|best| outcome.merge(best));
    }

    fn one_of(&self, checks: &ValueValidation, value: &Value, path: &str, outcome: &mut CheckResult) {
        let mut best: Option<CheckResult> = None;
        let mut first: Option<CheckResult> = None;
        let mut validated = 0;
        for schema in &checks.one_of {
            let result = self.node(schema, value, None, path);
            if result.valid() {
                validated += 1;
                best = None;
                first.get_or_insert(result);
            } else if validated == 0 && best.as_ref().is_none_or(|best| result.checked > best.checked) {
                best = Some(result);
            }
        }
        if validated == 1 {
            first.into_iter().for_each(|first| outcome.merge(first));
            return;
        }
        let found = match validated {
            0 => "Found none valid".to_string(),
            n => format!("Found {n} valid alternatives"),
        };
        outcome.add(CheckFailure::combined(path, &format!("validate one and only one schema (oneOf). {found}")));
        best.into_iter().for_each(|best| outcome.merge(best));
    }
}

fn too_many(path: &str, size: i64, most: i64, text: String) -> CheckFailure {
    let items = if most == 1 { "item" } else { "items" };
    let detail = format!("must have at most {most} {items}");
    CheckFailure { kind: FieldErrorKind::TooMany, detail, ..CheckFailure::invalid(path, size, text) }
}

fn types(schema: &Schema) -> Vec<&'static str> {
    if schema.int_or_string {
        return vec!["integer", "string"];
    }
    match schema.kind {
        SchemaType::Any => vec![],
        SchemaType::Object => vec!["object"],
        SchemaType::Array => vec!["array"],
        SchemaType::String => vec!["string"],
        SchemaType::Integer => vec!["integer"],
        SchemaType::Number => vec!["number"],
        SchemaType::Boolean => vec!["boolean"],
    }
}

fn null(schema: &Schema, types: &[&str], path: &str) -> CheckResult {
    if !types.is_empty() && !schema.nullable {
        return CheckResult::from_failure(CheckFailure::wrong_type(path, &types.join(","), "null"));
    }
    CheckResult { checked: 1, ..CheckResult::default() }
}

fn kind(types: &[&str], format: Option<&str>, value: &Value, path: &str) -> CheckResult {
    let (found, found_format) = match value {
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Number(n) if n.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::Array(_) => ("array", ""),
        _ => ("object", ""),
    };
    let whole = value.as_f64().is_some_and(numbers::is_whole);
    let float_as_int = found == "number" && whole && types.contains(&"integer");
    let int_as_float = found == "integer" && types.contains(&"number");
    let fits = types.contains(&found) || float_as_int || int_as_float;
    let listed = matches!(value, Value::String(_) | Value::Array(_));
    match format {
        Some(format) if !listed && !fits && format != found_format => {
            CheckResult::from_failure(CheckFailure::wrong_type(path, format, found_format))
        }
        Some(_) if listed && !types.contains(&"number") && !types.contains(&"integer") => {
            CheckResult { checked: 1, ..CheckResult::default() }
        }
        _ if !fits => CheckResult::from_failure(CheckFailure::wrong_type(path, &types.join(","), found)),
        _ => CheckResult { checked: 1, ..CheckResult::default() },
    }
}

fn string(checks: Option<&ValueValidation>, text: &str, path: &str) -> CheckResult {
    let Some(checks) = checks else { return CheckResult::default() };
    let length = text.chars().count() as i64;
    if let Some(most) = checks.max_length.filter(|most| length > *most) {
        let bytes = if most == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {most} {bytes}");
        let full = format!("{path} in body should be at most {most} chars long");
        let failure = CheckFailure { kind: FieldErrorKind::TooLong, detail, ..CheckFailure::invalid(path, "", full) };
        return CheckResult::from_failure(failure);
    }
    if let Some(least) = checks.min_length.filter(|least| length < *least) {
        let full = format!("{path} in body should be at least {least} chars long");
        return CheckResult::from_failure(CheckFailure::invalid(path, text, full));
    }
    if let Some(pattern) = checks.pattern.as_deref() {
        let shown = match pattern::compiled(pattern) {
            Ok(regex) if regex.is_match(text) => return CheckResult::default(),
            Ok(_) => pattern.to_string(),
            Err(error) => format!("{pattern}, but pattern is invalid: {error}"),
        };
        return CheckResult::from_failure(CheckFailure::invalid(
            path,
            text,
            format!("{path} in body should match '{shown}'"),
        ));
    }
    CheckResult::default()
}

fn allowed(checks: Option<&ValueValidation>, value: &Value, path: &str) -> CheckResult {
    let Some(checks) = checks.filter(|checks| !checks.allowed.is_empty()) else { return CheckResult::default() };
    if !value.is_null() && checks.allowed.iter().any(|allowed| same_scalar(value, allowed)) {
        return CheckResult::default();
    }
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToString::to_string);
    let quoted: Vec<String> = checks.allowed.iter().map(|value| quote(&shown(value))).collect();
    let detail = format!("supported values: {}", quoted.join(", "));
    let names: Vec<String> = checks.allowed.iter().map(shown).collect();
    let text = format!("{path} in body should be one of [{}]", names.join(" "));
    let failure =
        CheckFailure { kind: FieldErrorKind::NotSupported, detail, ..CheckFailure::invalid(path, value.clone(), text) };
    CheckResult::from_failure(failure)
}

/// Whether two scalars are equal after Go's conversion between number types.
fn same_scalar(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            (None, Some(b)) => a.as_f64().is_some_and(|a| a.trunc() == b as f64),
            _ => a.as_f64() == b.as_f64(),
        },
        _ => value == allowed,
    }
}
