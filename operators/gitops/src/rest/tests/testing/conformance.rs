//! Checks that a response conforms to the document: its status belongs to the operation, its body matches the schema.

use regex::Regex;
use serde_json::Value;

use super::TestResponse;

/// Panics if the document does not describe a response.
pub fn assert_conforms(document: &Value, method: &str, path: &str, answer: &TestResponse) {
    let status = answer.status.as_u16();
    let summary = format!("{method} {path} answered {status}: {}", answer.body);
    assert!(status < 500, "{summary}");
    let path = path.split('?').next().unwrap();
    let Some(operation) = find(document, method, path) else {
        assert!(status == 404 || status == 405, "{summary}, but the document has no such operation");
        assert!(answer.body.is_object(), "{summary}, without a problem");
        return assert_valid(document, &document["components"]["schemas"]["Problem"], &answer.body, "$");
    };
    let response = &operation["responses"][status.to_string()];
    assert!(response.is_object(), "{summary}, which the document does not describe");
    let response = resolve(document, response);
    let Some(content) = response["content"].as_object() else {
        return assert!(answer.body.is_null(), "{summary}, which should have no body");
    };
    let media = answer.headers["content-type"].to_str().unwrap();
    let schema = content.get(media).unwrap_or_else(|| panic!("{summary} is {media}"));
    assert_valid(document, &schema["schema"], &answer.body, "$");
    for (name, _) in response["headers"].as_object().into_iter().flatten() {
        assert!(answer.headers.contains_key(name.to_ascii_lowercase()), "{summary} lacks {name}");
    }
}

/// Finds the operation of a path; path parameters match any text.
fn find<'a>(document: &'a Value, method: &str, path: &str) -> Option<&'a Value> {
    let paths = document["paths"].as_object()?;
    let same = |template: &str| {
        let (a, b): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a == b || (a.starts_with('{') && !b.is_empty()))
    };
    let (_, operations) = paths.iter().find(|(template, _)| same(template))?;
    operations.get(method.to_ascii_lowercase())
}

fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(pointer) => document.pointer(&pointer[1..]).unwrap_or_else(|| panic!("{pointer} does not resolve")),
        None => value,
    }
}

/// Panics unless a value matches a schema. Supports the part of JSON Schema that the document uses for responses.
pub fn assert_valid(document: &Value, schema: &Value, value: &Value, at: &str) {
    let schema = resolve(document, schema);
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().map(|one| one.as_str().unwrap()).collect(),
        _ => Vec::new(),
    };
    assert!(types.is_empty() || types.iter().any(|one| has_type(one, value)), "{at} is {value}, not of {types:?}");
    if let Some(known) = schema["enum"].as_array() {
        assert!(known.contains(value), "{at} is {value}, none of {known:?}");
    }
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str()) {
        assert!(Regex::new(pattern).unwrap().is_match(text), "{at} is {text}, not {pattern}");
    }
    if schema["format"] == "date-time" {
        value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap_or_else(|e| panic!("{at}: {e}"));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        assert_valid(document, &schema["items"], item, &format!("{at}[{index}]"));
    }
    let Some(fields) = value.as_object() else { return };
    for required in schema["required"].as_array().into_iter().flatten() {
        assert!(fields.contains_key(required.as_str().unwrap()), "{at} lacks {required}");
    }
    for (name, field) in fields {
        match schema["properties"].get(name) {
            Some(schema) => assert_valid(document, schema, field, &format!("{at}.{name}")),
            None => {
                assert!(
                    schema["additionalProperties"] != false,
                    "{at} has {name}, which the document does not describe"
                )
            }
        }
    }
}

fn has_type(r#type: &str, value: &Value) -> bool {
    match r#type {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the document has a type {other}"),
    }
}
