//! Modifiers `@name` and `@name:argument`, which transform a whole value.

use super::component::balanced;
use super::get::PathSearch;
use super::node::JsonNode;
use super::pretty;

const NAMES: [&str; 13] = [
    "pretty", "ugly", "reverse", "this", "flatten", "join", "valid", "keys", "values", "tostr", "fromstr", "group",
    "dig",
];

/// Whether a modifier exists.
pub(super) fn exists(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Runs the modifier at the beginning of a path. Returns its result and the remainder, or `None` if the modifier does
/// not exist.
pub(super) fn run<'a>(
    search: &mut PathSearch,
    value: Option<&JsonNode>,
    path: &'a str,
) -> Option<(Option<JsonNode>, &'a str)> {
    let text = &path[1..];
    let end = text.find([':', '|', '.']).unwrap_or(text.len());
    let (name, behind) = text.split_at(end);
    if !exists(name) {
        return None;
    }
    let (argument, behind) = match behind.strip_prefix(':') {
        Some(behind) => argument(behind),
        None => ("", behind),
    };
    Some((modified(search, name, argument, value), behind))
}

/// Splits the argument off: JSON ends at its closing bracket, other text at a pipe.
fn argument(text: &str) -> (&str, &str) {
    if text.starts_with(['{', '[', '"']) {
        return text.split_at(balanced(text));
    }
    let mut at = 0;
    while at < text.len() && !text[at..].starts_with('|') {
        let here = &text[at..];
        let plain = here.chars().next().map_or(1, char::len_utf8);
        at += if here.starts_with(['{', '[', '"', '(']) { balanced(here) } else { plain };
    }
    text.split_at(at)
}

fn modified(search: &mut PathSearch, name: &str, argument: &str, value: Option<&JsonNode>) -> Option<JsonNode> {
    match (name, value) {
        ("keys" | "values", None) => Some(JsonNode::Array(Vec::new())),
        ("tostr", None) => Some(JsonNode::String(String::new())),
        ("dig", value) => Some(dig(search, value, argument)),
        (_, None) => None,
        ("pretty", Some(value)) => Some(pretty::pretty(value, &options(argument))),
        // Already compact values stay unchanged; pretty-printed values become compact.
        ("ugly", Some(value)) => Some(compact(value)),
        ("reverse", Some(value)) => Some(reversed(value)),
        ("this" | "valid", Some(value)) => Some(value.clone()),
        ("flatten", Some(value)) => Some(flattened(value, truth(argument, "deep"))),
        ("join", Some(value)) => Some(joined(value, truth(argument, "preserve"))),
        ("keys", Some(value)) => Some(keys(value)),
        ("values", Some(value)) => Some(values(value)),
        ("tostr", Some(value)) => Some(JsonNode::String(value.json())),
        ("fromstr", Some(value)) => JsonNode::leading(&value.text()),
        ("group", Some(value)) => grouped(value),
        _ => None,
    }
}

fn fields(argument: &str) -> Vec<(String, JsonNode)> {
    match JsonNode::leading(argument) {
        Some(JsonNode::Object(fields)) => fields,
        _ => Vec::new(),
    }
}

fn truth(argument: &str, name: &str) -> bool {
    fields(argument).iter().any(|(own, node)| own == name && is_true(node))
}

fn is_true(node: &JsonNode) -> bool {
    match node {
        JsonNode::Bool(truth) => *truth,
        JsonNode::Number(_) => node.number() != 0.0,
        JsonNode::String(text) => matches!(text.to_lowercase().as_str(), "1" | "t" | "true"),
        _ => false,
    }
}

fn options(argument: &str) -> pretty::PrettyOptions {
    let blanks =
        |node: &JsonNode| node.text().chars().filter(|c| matches!(c, ' ' | '\t' | '\n' | '\r')).collect::<String>();
    let mut options = pretty::PrettyOptions::default();
    for (name, node) in fields(argument) {
        match name.as_str() {
            "sortKeys" => options.sort_keys = is_true(&node),
            "indent" => options.indent = blanks(&node),
            "prefix" => options.prefix = blanks(&node),
            "width" => options.width = node.number() as i64,
            _ => {}
        }
    }
    options
}

fn compact(node: &JsonNode) -> JsonNode {
    match node {
        JsonNode::Pretty(_, inner) => compact(inner),
        JsonNode::Array(items) => JsonNode::Array(items.iter().map(compact).collect()),
        JsonNode::Object(fields) => {
            JsonNode::Object(fields.iter().map(|(name, node)| (name.clone(), compact(node))).collect())
        }
        other => other.clone(),
    }
}

fn reversed(node: &JsonNode) -> JsonNode {
    match node.plain() {
        JsonNode::Array(items) => JsonNode::Array(items.iter().rev().cloned().collect()),
        JsonNode::Object(fields) => JsonNode::Object(fields.iter().rev().cloned().collect()),
        _ => node.clone(),
    }
}

fn flattened(node: &JsonNode, deep: bool) -> JsonNode {
    let JsonNode::Array(items) = node.plain() else { return node.clone() };
    let mut flat = Vec::new();
    for item in items {
        let item = if deep { flattened(item, true) } else { item.clone() };
        match item.plain() {
            JsonNode::Array(inner) => flat.extend(inner.iter().cloned()),
            _ => flat.push(item),
        }
    }
    JsonNode::Array(flat)
}

fn joined(node: &JsonNode, preserve: bool) -> JsonNode {
    let JsonNode::Array(items) = node.plain() else { return node.clone() };
    let mut fields: Vec<(String, JsonNode)> = Vec::new();
    for item in items {
        let JsonNode::Object(own) = item.plain() else { continue };
        for (name, node) in own {
            match fields.iter_mut().find(|(known, _)| known == name).filter(|_| !preserve) {
                Some((_, known)) => *known = node.clone(),
                None => fields.push((name.clone(), node.clone())),
            }
        }
    }
    JsonNode::Object(fields)
}

fn keys(node: &JsonNode) -> JsonNode {
    JsonNode::Array(match node.plain() {
        JsonNode::Object(fields) => fields.iter().map(|(name, _)| JsonNode::String(name.clone())).collect(),
        JsonNode::Array(items) => items.iter().map(|_| JsonNode::Null).collect(),
        _ => vec![JsonNode::Null],
    })
}

fn values(node: &JsonNode) -> JsonNode {
    match node.plain() {
        JsonNode::Array(_) => node.clone(),
        JsonNode::Object(fields) => JsonNode::Array(fields.iter().map(|(_, node)| node.clone()).collect()),
        _ => JsonNode::Array(vec![node.clone()]),
    }
}

/// Converts columns to a list of rows.
fn grouped(node: &JsonNode) -> Option<JsonNode> {
    let JsonNode::Object(fields) = node.plain() else { return None };
    let mut rows: Vec<Vec<(String, JsonNode)>> = Vec::new();
    for (name, column) in fields {
        let JsonNode::Array(items) = column.plain() else { continue };
        for (index, item) in items.iter().enumerate() {
            if index == rows.len() {
                rows.push(Vec::new());
            }
            rows[index].push((name.clone(), item.clone()));
        }
    }
    Some(JsonNode::Array(rows.into_iter().map(JsonNode::Object).collect()))
}

/// Evaluates the path in the value and in all nested values.
fn dig(search: &mut PathSearch, value: Option<&JsonNode>, path: &str) -> JsonNode {
    let mut found = Vec::new();
    descend(search, value, path, &mut found);
    JsonNode::Array(found)
}

fn descend(search: &mut PathSearch, value: Option<&JsonNode>, path: &str, found: &mut Vec<JsonNode>) {
    if search.is_exhausted() {
        return;
    }
    found.extend(search.get(value, path));
    match value.map(JsonNode::plain) {
        Some(JsonNode::Array(items)) => items.iter().for_each(|item| descend(search, Some(item), path, found)),
        Some(JsonNode::Object(fields)) => fields.iter().for_each(|(_, node)| descend(search, Some(node), path, found)),
        _ => {}
    }
}
