//! Evaluation of queries.

use std::cmp::Ordering;

use super::component::ElementQuery;
use super::node::JsonNode;
use super::plain_glob;

/// Whether an element matches. `found` is the value at the query's path in the element.
pub(super) fn matches(query: &ElementQuery, found: Option<&JsonNode>) -> bool {
    let found = found.map(JsonNode::plain);
    let Some(kind) = query.value.strip_prefix('~') else {
        return found.is_some_and(|found| compares(query, found, &query.value));
    };
    let is = match kind {
        "*" => found.is_some(),
        "null" => matches!(found, None | Some(JsonNode::Null)),
        "true" => truth(found) == Some(true),
        "false" => matches!(found, None | Some(JsonNode::Null)) || truth(found) == Some(false),
        _ => return false,
    };
    compares(query, &JsonNode::Bool(is), "true")
}

/// Converts a value to a boolean.
fn truth(found: Option<&JsonNode>) -> Option<bool> {
    match found? {
        JsonNode::Bool(truth) => Some(*truth),
        JsonNode::Number(_) => found.map(|number| number.number() != 0.0),
        JsonNode::String(text) => match text.to_lowercase().as_str() {
            "1" | "t" | "true" => Some(true),
            "0" | "f" | "false" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn compares(query: &ElementQuery, found: &JsonNode, wanted: &str) -> bool {
    let op = query.op.as_str();
    match found {
        _ if op.is_empty() => true,
        JsonNode::String(text) if op == "%" => plain_glob(wanted, text),
        JsonNode::String(text) if op == "!%" => !plain_glob(wanted, text),
        JsonNode::String(text) => holds(op, Some(text.as_bytes().cmp(wanted.as_bytes()))),
        JsonNode::Number(_) => holds(op, found.number().partial_cmp(&wanted.parse().unwrap_or(0.0))),
        JsonNode::Bool(true) => match op {
            "=" => wanted == "true",
            "!=" => wanted != "true",
            ">" => wanted == "false",
            ">=" => true,
            _ => false,
        },
        JsonNode::Bool(false) => match op {
            "=" => wanted == "false",
            "!=" => wanted != "false",
            "<" => wanted == "true",
            "<=" => true,
            _ => false,
        },
        _ => false,
    }
}

fn holds(op: &str, order: Option<Ordering>) -> bool {
    match op {
        "=" => order == Some(Ordering::Equal),
        "!=" => order != Some(Ordering::Equal),
        "<" => order == Some(Ordering::Less),
        "<=" => order.is_some_and(Ordering::is_le),
        ">" => order == Some(Ordering::Greater),
        ">=" => order.is_some_and(Ordering::is_ge),
        _ => false,
    }
}
