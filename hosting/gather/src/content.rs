//! Objects in one file.

use serde_json::Value;
use switchboard_object::yaml;

use crate::kinds::kind_of;

/// Problem in a file and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContentError {
    pub line: Option<usize>,
    pub message: String,
}

/// An object in a file and its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LocatedObject {
    pub value: Value,
    /// First line of its document.
    pub line: usize,
    /// Index of the item if the document is a list, counted from 0.
    pub item: Option<usize>,
}

/// Returns the objects of a file with one or more YAML documents: single objects, and the items of lists.
///
/// Empty documents are ignored. A document that is not an object is an error.
pub(crate) fn objects(text: &str) -> Result<Vec<LocatedObject>, ContentError> {
    let documents =
        yaml::read_all(text).map_err(|error| ContentError { line: Some(error.line), message: error.problem })?;
    let mut found = Vec::new();
    for document in documents {
        let (document, line) = (document.value, document.line);
        match document {
            Value::Null => {}
            Value::Object(_) if is_list(&document) => {
                let items = items(document).into_iter().enumerate();
                found.extend(items.map(|(item, value)| LocatedObject { value, line, item: Some(item) }));
            }
            Value::Object(_) => found.push(LocatedObject { value: document, line, item: None }),
            other => {
                let message = format!("expected an object, found {}", type_name(&other));
                return Err(ContentError { line: Some(line), message });
            }
        }
    }
    Ok(found)
}

/// Returns the problem of an object without kind or name.
pub(crate) fn missing_field(value: &Value) -> Option<String> {
    let named = || value.pointer("/metadata/name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    match value {
        Value::Object(_) if kind_of(value).is_none() => Some("an object without apiVersion and kind".into()),
        Value::Object(_) if !named() => Some("an object without metadata.name".into()),
        Value::Object(_) => None,
        other => Some(format!("expected an object, found {}", type_name(other))),
    }
}

/// Adds line numbers to the problems of objects. The text is scanned again, once, and only if there are problems.
pub(crate) fn locate(text: &str, bad: Vec<(LocatedObject, String)>) -> Vec<ContentError> {
    let lists = if bad.iter().any(|(found, _)| found.item.is_some()) { yaml::item_lines(text) } else { Vec::new() };
    let locate = |(found, what): (LocatedObject, String)| match found.item {
        None => ContentError { line: Some(found.line), message: what },
        Some(item) => {
            let list = lists.iter().find(|list| list.document == found.line);
            let line = list.and_then(|list| list.items.get(item)).copied();
            ContentError { line: Some(line.unwrap_or(found.line)), message: format!("item {}: {what}", item + 1) }
        }
    };
    bad.into_iter().map(locate).collect()
}

fn is_list(document: &Value) -> bool {
    let named = document.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    // An empty list may lack its items.
    named && document.get("items").is_none_or(|items| items.is_array() || items.is_null())
}

/// Returns the items of a list. They inherit group, version and kind if they do not specify them.
fn items(mut list: Value) -> Vec<Value> {
    let version = list.get("apiVersion").cloned();
    let kind = list.get("kind").and_then(Value::as_str).and_then(|k| k.strip_suffix("List")).unwrap_or_default();
    let kind = (!kind.is_empty()).then(|| Value::from(kind));
    let Some(Value::Array(mut items)) = list.get_mut("items").map(Value::take) else { return Vec::new() };
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        for (key, inherited) in [("apiVersion", &version), ("kind", &kind)] {
            if let (false, Some(value)) = (item.contains_key(key), inherited) {
                item.insert(key.into(), value.clone());
            }
        }
    }
    items
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
