//! The objects in one file.

use serde_json::Value;
use switchboard_object::yaml;

use crate::kinds::kind_of;

/// What is wrong with a file, and on which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub line: Option<usize>,
    pub message: String,
}

/// An object of a file, and where it stands there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub value: Value,
    /// The first line of its document.
    pub line: usize,
    /// Which item of the document's list it is, counted from nought.
    pub item: Option<usize>,
}

/// The objects of a file of one or more YAML documents: singles, and lists taken apart.
///
/// Empty documents are nothing; a document that is no object is what is wrong.
pub(crate) fn objects(text: &str) -> Result<Vec<Found>, Wrong> {
    let documents = yaml::read_all(text).map_err(|error| Wrong { line: Some(error.line), message: error.problem })?;
    let mut found = Vec::new();
    for document in documents {
        let (document, line) = (document.value, document.line);
        match document {
            Value::Null => {}
            Value::Object(_) if is_list(&document) => {
                let items = items(document).into_iter().enumerate();
                found.extend(items.map(|(item, value)| Found { value, line, item: Some(item) }));
            }
            Value::Object(_) => found.push(Found { value: document, line, item: None }),
            other => {
                let message = format!("expected an object, found {}", type_name(&other));
                return Err(Wrong { line: Some(line), message });
            }
        }
    }
    Ok(found)
}

/// What an object lacks that has to have a kind and a name.
pub(crate) fn lack(value: &Value) -> Option<String> {
    let named = || value.pointer("/metadata/name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    match value {
        Value::Object(_) if kind_of(value).is_none() => Some("an object without apiVersion and kind".into()),
        Value::Object(_) if !named() => Some("an object without metadata.name".into()),
        Value::Object(_) => None,
        other => Some(format!("expected an object, found {}", type_name(other))),
    }
}

/// Says of bad objects where they stand. The text is looked through again, once, and only when there are any.
pub(crate) fn locate(text: &str, bad: Vec<(Found, String)>) -> Vec<Wrong> {
    let lists = if bad.iter().any(|(found, _)| found.item.is_some()) { yaml::item_lines(text) } else { Vec::new() };
    let locate = |(found, what): (Found, String)| match found.item {
        None => Wrong { line: Some(found.line), message: what },
        Some(item) => {
            let list = lists.iter().find(|list| list.document == found.line);
            let line = list.and_then(|list| list.items.get(item)).copied();
            Wrong { line: Some(line.unwrap_or(found.line)), message: format!("item {}: {what}", item + 1) }
        }
    };
    bad.into_iter().map(locate).collect()
}

fn is_list(document: &Value) -> bool {
    let named = document.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    // An empty list may have lost its items.
    named && document.get("items").is_none_or(|items| items.is_array() || items.is_null())
}

/// Items of a list. They inherit group, version and kind where they do not state them.
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
