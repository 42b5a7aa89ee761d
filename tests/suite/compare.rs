//! Comparison of a masked answer with the recorded one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::case::{CaseAnswer, CaseStep};

/// Maximum number of reported differences for one step; the first ones show the cause.
const MAX_DIFFERENCES: usize = 6;

/// Returns the differences of one step as readable lines.
pub fn differences(step: &CaseStep, real: &CaseAnswer, ours: &CaseAnswer, decided: bool) -> Vec<String> {
    if step.quiet {
        return if real.code == ours.code {
            Vec::new()
        } else {
            vec![format!("code: real {}, ours {} {}", real.code, ours.code, brief(&ours.body))]
        };
    }
    let mut left = value(real);
    let mut right = value(ours);
    if decided {
        for pointer in step.differs.values().flatten() {
            remove(&mut left, pointer);
            remove(&mut right, pointer);
        }
    }
    let mut found = Vec::new();
    walk("", &left, &right, &mut found);
    let more = found.len().saturating_sub(MAX_DIFFERENCES);
    found.truncate(MAX_DIFFERENCES);
    if more > 0 {
        found.push(format!("... and {more} more"));
    }
    found
}

fn value(answer: &CaseAnswer) -> Value {
    json!({
        "code": answer.code,
        "type": answer.content_type,
        "warnings": answer.warnings,
        "body": answer.body,
        "events": answer.events,
    })
}

fn walk(path: &str, real: &Value, ours: &Value, found: &mut Vec<String>) {
    match (real, ours) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                match (a.get(key), b.get(key)) {
                    (Some(x), Some(y)) => walk(&path, x, y, found),
                    (Some(x), None) => found.push(format!("{path}: real {}, ours has none", brief(x))),
                    (None, Some(y)) => found.push(format!("{path}: real has none, ours {}", brief(y))),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                found.push(format!("{path}: real has {} items, ours {}: {}", a.len(), b.len(), brief(ours)));
            }
            for (index, (x, y)) in a.iter().zip(b).enumerate() {
                walk(&format!("{path}/{index}"), x, y, found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(format!("{path}:\n      real {}\n      ours {}", brief(a), brief(b))),
    }
}

fn brief(value: &Value) -> String {
    const LONGEST: usize = 600;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Removes the value at a JSON pointer; `*` stands for every key or index.
pub fn remove(value: &mut Value, pointer: &str) {
    let Some(rest) = pointer.strip_prefix('/') else { return };
    let (head, tail) = match rest.split_once('/') {
        Some((head, tail)) => (head, Some(format!("/{tail}"))),
        None => (rest, None),
    };
    let name = head.replace("~1", "/").replace("~0", "~");
    match (value, tail) {
        (Value::Object(map), None) if head == "*" => map.clear(),
        (Value::Object(map), None) => {
            map.remove(&name);
        }
        (Value::Object(map), Some(tail)) if head == "*" => map.values_mut().for_each(|v| remove(v, &tail)),
        (Value::Object(map), Some(tail)) => {
            if let Some(next) = map.get_mut(&name) {
                remove(next, &tail);
            }
        }
        (Value::Array(items), Some(tail)) if head == "*" => items.iter_mut().for_each(|v| remove(v, &tail)),
        (Value::Array(items), Some(tail)) => {
            if let Some(next) = name.parse::<usize>().ok().and_then(|i| items.get_mut(i)) {
                remove(next, &tail);
            }
        }
        (Value::Array(items), None) => {
            if let Some(slot) = name.parse::<usize>().ok().and_then(|i| items.get_mut(i)) {
                *slot = Value::Null;
            }
        }
        _ => {}
    }
}
