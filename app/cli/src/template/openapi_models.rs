//! Validation of objects by a cluster's OpenAPI document, like kubectl for types that the server does not validate.

use serde_json::Value;
use switchboard_object::quote::quote;

/// Maximum depth of schema references and nested values.
const MAX_DEPTH: usize = 200;
/// Extension with the kinds of a definition.
const OF_KIND: &str = "x-kubernetes-group-version-kind";
const DEFINITIONS: &str = "#/definitions/";

/// Schemas of a cluster: an OpenAPI v2 document.
pub struct OpenApiModels(Value);

impl OpenApiModels {
    /// Creates the schemas from the document.
    pub fn new(document: Value) -> Self {
        Self(document)
    }

    /// Returns the problems of an object. A kind without a schema is valid.
    pub fn problems(&self, object: &Value, group: &str, version: &str, kind: &str) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some((name, schema)) = self.of_kind(group, version, kind) {
            SchemaVisitor { models: self, problems: &mut problems }.visit(object, schema, kind, &name, 0);
        }
        problems
    }

    fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<(String, &Value)> {
        let is = |of: &Value| of["group"] == group && of["version"] == version && of["kind"] == kind;
        let named = |schema: &Value| schema[OF_KIND].as_array().is_some_and(|all| all.iter().any(is));
        let mut all = self.0["definitions"].as_object()?.iter();
        // Of several definitions, Go uses the last one by name.
        all.rfind(|(_, schema)| named(schema)).map(|(name, schema)| (name.clone(), schema))
    }

    fn definition(&self, reference: &str) -> Option<(String, &Value)> {
        let name = reference.strip_prefix(DEFINITIONS)?;
        Some((name.to_string(), self.0["definitions"].get(name)?))
    }
}

struct SchemaVisitor<'a> {
    models: &'a OpenApiModels,
    problems: &'a mut Vec<String>,
}

impl SchemaVisitor<'_> {
    /// Validates a value; `at` is the path in the object, `place` the path in the schemas.
    fn visit(&mut self, value: &Value, schema: &Value, at: &str, place: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(reference) = schema["$ref"].as_str() {
            if let Some((name, schema)) = self.models.definition(reference) {
                self.visit(value, schema, at, &name, depth + 1);
            }
            return;
        }
        let properties = schema["properties"].as_object();
        match (schema["type"].as_str(), properties) {
            (None, None) => {}
            (None | Some("object"), Some(_)) => self.visit_kind(value, schema, at, place, depth),
            (Some("object"), None) => self.visit_map(value, schema, at, place, depth),
            (Some("array"), _) => self.visit_array(value, schema, at, place, depth),
            (Some(expected), _) => self.visit_scalar(value, expected, at, place),
        }
    }

    fn visit_kind(&mut self, value: &Value, schema: &Value, at: &str, place: &str, depth: usize) {
        let Some(map) = value.as_object() else { return self.wrong_type(value, "map", at, place) };
        for (key, item) in sorted(map).into_iter().filter(|(_, item)| !item.is_null()) {
            match schema["properties"].get(key) {
                Some(inner) => self.visit(item, inner, &format!("{at}.{key}"), &format!("{place}.{key}"), depth + 1),
                None => self.add(at, format!("unknown field {} in {place}", quote(key))),
            }
        }
        for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if map.get(required).is_none_or(Value::is_null) {
                self.add(at, format!("missing required field {} in {place}", quote(required)));
            }
        }
    }

    fn visit_map(&mut self, value: &Value, schema: &Value, at: &str, place: &str, depth: usize) {
        let Some(map) = value.as_object() else { return self.wrong_type(value, "map", at, place) };
        for (key, item) in sorted(map) {
            let at = format!("{at}.{key}");
            match item.is_null() {
                true => self.problems.push(format!("unknown object type \"nil\" in {at}")),
                false => self.visit(item, &schema["additionalProperties"], &at, place, depth + 1),
            }
        }
    }

    fn visit_array(&mut self, value: &Value, schema: &Value, at: &str, place: &str, depth: usize) {
        let Some(items) = value.as_array() else { return self.wrong_type(value, "array", at, place) };
        for (index, item) in items.iter().enumerate() {
            let inner = format!("{at}[{index}]");
            match item.is_null() {
                true => self.add(at, format!("unknown object type \"nil\" in {inner}")),
                false => self.visit(item, &schema["items"], &inner, place, depth + 1),
            }
        }
    }

    fn visit_scalar(&mut self, value: &Value, expected: &str, at: &str, place: &str) {
        let fits = match (expected, value) {
            (_, Value::Array(_) | Value::Object(_)) => false,
            // Any scalar is accepted as a string.
            ("string", _) => true,
            ("boolean", value) => value.is_boolean(),
            ("integer" | "number", value) => value.is_number(),
            _ => false,
        };
        if !fits {
            self.wrong_type(value, expected, at, place);
        }
    }

    fn wrong_type(&mut self, value: &Value, expected: &str, at: &str, place: &str) {
        let got = match value {
            Value::Null => "nil",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "map",
        };
        self.add(at, format!("invalid type for {place}: got {}, expected {}", quote(got), quote(expected)));
    }

    fn add(&mut self, at: &str, problem: String) {
        self.problems.push(format!("ValidationError({at}): {problem}"));
    }
}

fn sorted(map: &serde_json::Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

#[cfg(test)]
mod tests;
