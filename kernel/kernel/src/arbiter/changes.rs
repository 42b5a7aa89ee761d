//! Fields of an object that a write has changed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

/// Maximum number of changed fields of one write that are compared.
pub const MAX_CHANGES: usize = 256;

/// Metadata fields that change with every write or that the API server sets.
pub(crate) const BOOKKEEPING: [&str; 6] =
    ["resourceVersion", "generation", "managedFields", "uid", "creationTimestamp", "selfLink"];

/// Keys that identify the items of a list: `name` for containers, `type` for conditions.
const ITEM_KEYS: [&str; 2] = ["name", "type"];

/// Changed field, with hashes of its value before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChangedField {
    pub field: String,
    pub before: u64,
    pub after: u64,
}

/// Returns the paths of the fields that differ, at most [`MAX_CHANGES`]. If the object was created or deleted, the only
/// path is `.`, because no other writer shares its fields. A terminating object counts as deleted.
pub(super) fn changes(before: Option<&Value>, after: Option<&Value>) -> Vec<ChangedField> {
    let mut found = Vec::new();
    let there = |object: Option<&Value>| object.is_some_and(|object| !is_terminating(object));
    match (before, after) {
        (Some(before), Some(after)) if is_terminating(before) == is_terminating(after) => {
            walk(before, after, "", &mut found)
        }
        _ if there(before) != there(after) => {
            let (before, after) = (hash(there(before)), hash(there(after)));
            found.push(ChangedField { field: ".".to_string(), before, after });
        }
        _ => {}
    }
    found
}

/// Whether an object is deleted and waits for its finalizers or its grace period.
pub(super) fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// Whether two objects are equal apart from bookkeeping metadata. An absent map differs from an empty one: a write that
/// changes nothing is better than a missing one.
pub(super) fn equal_ignoring_bookkeeping(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a == b };
    let metadata = |fields: &Map<String, Value>| match fields.get("metadata") {
        Some(Value::Object(metadata)) => {
            let kept = metadata.iter().filter(|(key, _)| !BOOKKEEPING.contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), value.clone())).collect()
        }
        _ => Map::new(),
    };
    let rest = |one: &Map<String, Value>, other: &Map<String, Value>| {
        one.iter().all(|(key, value)| key == "metadata" || other.get(key) == Some(value))
    };
    rest(a, b) && rest(b, a) && metadata(a) == metadata(b)
}

fn walk(before: &Value, after: &Value, path: &str, found: &mut Vec<ChangedField>) {
    if before == after || found.len() >= MAX_CHANGES {
        return;
    }
    let (old, new) = match (parts(before, path), parts(after, path)) {
        // An added or removed map is compared by its fields.
        (Some(old), Some(new)) if before.is_object() == after.is_object() => (old, new),
        (Some(old), None) if after.is_null() && !old.is_empty() => (old, BTreeMap::new()),
        (None, Some(new)) if before.is_null() && !new.is_empty() => (BTreeMap::new(), new),
        _ => {
            found.push(ChangedField { field: path.to_string(), before: hash(before), after: hash(after) });
            return;
        }
    };
    let known = found.len();
    let gone = old.keys().filter(|step| !new.contains_key(*step));
    for step in new.keys().chain(gone) {
        let part = |parts: &BTreeMap<String, &Value>| parts.get(step).map_or(Value::Null, |value| (*value).clone());
        walk(&part(&old), &part(&new), &format!("{path}{step}"), found);
    }
    // The items are the same in another order.
    if found.len() == known && after.is_array() {
        found.push(ChangedField { field: path.to_string(), before: hash(before), after: hash(after) });
    }
}

/// Returns the parts that different operators may own: the fields of a map, the keyed items of a list, and the
/// finalizers.
fn parts<'a>(value: &'a Value, path: &str) -> Option<BTreeMap<String, &'a Value>> {
    match value {
        Value::Object(fields) => {
            let bookkeeping = |key: &str| path == ".metadata" && BOOKKEEPING.contains(&key);
            Some(
                fields
                    .iter()
                    .filter(|(key, _)| !bookkeeping(key))
                    .map(|(key, value)| (path_step(key), value))
                    .collect(),
            )
        }
        Value::Array(items) if path == ".metadata.finalizers" => {
            items.iter().map(|item| Some((format!("[{item}]"), item))).collect()
        }
        Value::Array(items) => ITEM_KEYS.iter().find_map(|key| items_by_key(items, key)),
        _ => None,
    }
}

/// Returns the items by `key`, or `None` if the key is missing or not unique.
fn items_by_key<'a>(items: &'a [Value], key: &str) -> Option<BTreeMap<String, &'a Value>> {
    let by_name: Option<BTreeMap<_, _>> =
        items.iter().map(|item| Some((format!("[{key}={}]", item.get(key)?.as_str()?), item))).collect();
    by_name.filter(|by_name| by_name.len() == items.len())
}

/// Formats a path step: `.replicas`, or `["example.com/team"]` for keys with other characters.
fn path_step(key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if plain { format!(".{key}") } else { format!("[{}]", Value::from(key)) }
}

pub(super) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
