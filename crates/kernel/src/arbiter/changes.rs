//! Which fields of an object a write has changed.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

/// How many changed fields of one write are looked at.
pub const MAX_CHANGES: usize = 256;

/// Metadata that every write moves, or that the API server keeps.
pub(crate) const BOOKKEEPING: [&str; 6] =
    ["resourceVersion", "generation", "managedFields", "uid", "creationTimestamp", "selfLink"];

/// A changed field, with hashes of what it was and is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub field: String,
    pub before: u64,
    pub after: u64,
}

/// The fields that differ, by path, at most [`MAX_CHANGES`]. The path of the object itself is `.`: it came or went.
pub(super) fn changes(before: Option<&Value>, after: Option<&Value>) -> Vec<Change> {
    let mut found = Vec::new();
    if before.is_some() != after.is_some() {
        let there = |value: Option<&Value>| hash(Value::Bool(value.is_some()));
        found.push(Change { field: ".".to_string(), before: there(before), after: there(after) });
    }
    // What a deleted object held is nobody's any more.
    if let Some(after) = after {
        walk(before.unwrap_or(&Value::Null), after, "", &mut found);
    }
    found
}

/// Whether two objects say the same, metadata aside that every write moves.
pub(super) fn same_but_for_bookkeeping(a: &Value, b: &Value) -> bool {
    changes(Some(a), Some(b)).is_empty()
}

fn walk(before: &Value, after: &Value, path: &str, found: &mut Vec<Change>) {
    if before == after || found.len() >= MAX_CHANGES {
        return;
    }
    let empty = Map::new();
    match (before, after) {
        (Value::Object(_) | Value::Null, Value::Object(new)) => {
            let old = before.as_object().unwrap_or(&empty);
            let gone = old.keys().filter(|key| !new.contains_key(*key));
            for key in
                new.keys().chain(gone).filter(|key| !(path == ".metadata" && BOOKKEEPING.contains(&key.as_str())))
            {
                let part = |fields: &Map<String, Value>| fields.get(key).cloned().unwrap_or(Value::Null);
                walk(&part(old), &part(new), &format!("{path}{}", step(key)), found);
            }
        }
        // A map that goes is the going of what was in it.
        (Value::Object(old), Value::Null) => {
            for (key, value) in old {
                walk(value, &Value::Null, &format!("{path}{}", step(key)), found);
            }
        }
        _ => found.push(Change { field: path.to_string(), before: hash(before), after: hash(after) }),
    }
}

/// `.replicas`, or `["example.com/team"]` for keys that are no plain words.
fn step(key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if plain { format!(".{key}") } else { format!("[{}]", Value::from(key)) }
}

pub(super) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
