//! `@name` and `@name:argument`: what is made of a value as a whole.

use super::component::balanced;
use super::get::Search;
use super::node::Node;
use super::pretty;

const NAMES: [&str; 13] = [
    "pretty", "ugly", "reverse", "this", "flatten", "join", "valid", "keys", "values", "tostr", "fromstr", "group",
    "dig",
];

/// Whether there is a modifier of that name.
pub(super) fn exists(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Runs the modifier a path begins with; says what it made and what stands behind. Nothing when there is no such modifier.
pub(super) fn run<'a>(search: &mut Search, value: Option<&Node>, path: &'a str) -> Option<(Option<Node>, &'a str)> {
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
    Some((made(search, name, argument, value), behind))
}

/// JSON ends where it is closed, anything else at a pipe.
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

fn made(search: &mut Search, name: &str, argument: &str, value: Option<&Node>) -> Option<Node> {
    match (name, value) {
        ("keys" | "values", None) => Some(Node::Array(Vec::new())),
        ("tostr", None) => Some(Node::String(String::new())),
        ("dig", value) => Some(dig(search, value, argument)),
        (_, None) => None,
        ("pretty", Some(value)) => Some(pretty::laid(value, &options(argument))),
        // What is compact already stays so; what was laid out is taken apart again.
        ("ugly", Some(value)) => Some(compact(value)),
        ("reverse", Some(value)) => Some(reversed(value)),
        ("this" | "valid", Some(value)) => Some(value.clone()),
        ("flatten", Some(value)) => Some(flattened(value, truth(argument, "deep"))),
        ("join", Some(value)) => Some(joined(value, truth(argument, "preserve"))),
        ("keys", Some(value)) => Some(keys(value)),
        ("values", Some(value)) => Some(values(value)),
        ("tostr", Some(value)) => Some(Node::String(value.json())),
        ("fromstr", Some(value)) => Node::leading(&value.text()),
        ("group", Some(value)) => grouped(value),
        _ => None,
    }
}

fn fields(argument: &str) -> Vec<(String, Node)> {
    match Node::leading(argument) {
        Some(Node::Object(fields)) => fields,
        _ => Vec::new(),
    }
}

fn truth(argument: &str, name: &str) -> bool {
    fields(argument).iter().any(|(own, node)| own == name && is_true(node))
}

fn is_true(node: &Node) -> bool {
    match node {
        Node::Bool(truth) => *truth,
        Node::Number(_) => node.number() != 0.0,
        Node::String(text) => matches!(text.to_lowercase().as_str(), "1" | "t" | "true"),
        _ => false,
    }
}

fn options(argument: &str) -> pretty::Options {
    let blanks =
        |node: &Node| node.text().chars().filter(|c| matches!(c, ' ' | '\t' | '\n' | '\r')).collect::<String>();
    let mut options = pretty::Options::default();
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

fn compact(node: &Node) -> Node {
    match node {
        Node::Laid(_, inner) => compact(inner),
        Node::Array(items) => Node::Array(items.iter().map(compact).collect()),
        Node::Object(fields) => Node::Object(fields.iter().map(|(name, node)| (name.clone(), compact(node))).collect()),
        other => other.clone(),
    }
}

fn reversed(node: &Node) -> Node {
    match node.plain() {
        Node::Array(items) => Node::Array(items.iter().rev().cloned().collect()),
        Node::Object(fields) => Node::Object(fields.iter().rev().cloned().collect()),
        _ => node.clone(),
    }
}

fn flattened(node: &Node, deep: bool) -> Node {
    let Node::Array(items) = node.plain() else { return node.clone() };
    let mut flat = Vec::new();
    for item in items {
        let item = if deep { flattened(item, true) } else { item.clone() };
        match item.plain() {
            Node::Array(inner) => flat.extend(inner.iter().cloned()),
            _ => flat.push(item),
        }
    }
    Node::Array(flat)
}

fn joined(node: &Node, preserve: bool) -> Node {
    let Node::Array(items) = node.plain() else { return node.clone() };
    let mut fields: Vec<(String, Node)> = Vec::new();
    for item in items {
        let Node::Object(own) = item.plain() else { continue };
        for (name, node) in own {
            match fields.iter_mut().find(|(known, _)| known == name).filter(|_| !preserve) {
                Some((_, known)) => *known = node.clone(),
                None => fields.push((name.clone(), node.clone())),
            }
        }
    }
    Node::Object(fields)
}

fn keys(node: &Node) -> Node {
    Node::Array(match node.plain() {
        Node::Object(fields) => fields.iter().map(|(name, _)| Node::String(name.clone())).collect(),
        Node::Array(items) => items.iter().map(|_| Node::Null).collect(),
        _ => vec![Node::Null],
    })
}

fn values(node: &Node) -> Node {
    match node.plain() {
        Node::Array(_) => node.clone(),
        Node::Object(fields) => Node::Array(fields.iter().map(|(_, node)| node.clone()).collect()),
        _ => Node::Array(vec![node.clone()]),
    }
}

/// Lists of columns become a list of rows.
fn grouped(node: &Node) -> Option<Node> {
    let Node::Object(fields) = node.plain() else { return None };
    let mut rows: Vec<Vec<(String, Node)>> = Vec::new();
    for (name, column) in fields {
        let Node::Array(items) = column.plain() else { continue };
        for (index, item) in items.iter().enumerate() {
            if index == rows.len() {
                rows.push(Vec::new());
            }
            rows[index].push((name.clone(), item.clone()));
        }
    }
    Some(Node::Array(rows.into_iter().map(Node::Object).collect()))
}

/// The path in the value and in everything inside of it.
fn dig(search: &mut Search, value: Option<&Node>, path: &str) -> Node {
    let mut found = Vec::new();
    descend(search, value, path, &mut found);
    Node::Array(found)
}

fn descend(search: &mut Search, value: Option<&Node>, path: &str, found: &mut Vec<Node>) {
    if search.spent() {
        return;
    }
    found.extend(search.get(value, path));
    match value.map(Node::plain) {
        Some(Node::Array(items)) => items.iter().for_each(|item| descend(search, Some(item), path, found)),
        Some(Node::Object(fields)) => fields.iter().for_each(|(_, node)| descend(search, Some(node), path, found)),
        _ => {}
    }
}
