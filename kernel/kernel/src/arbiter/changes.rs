//! Which fields of an object a write has changed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

/// How many changed fields of one write are looked at.
pub const MAX_CHANGES: usize = 256;

/// Metadata that every write moves, or that the API server keeps.
pub(crate) const BOOKKEEPING: [&str; 6] =
    ["resourceVersion", "generation", "managedFields", "uid", "creationTimestamp", "selfLink"];

/// What tells the items of a list apart, as containers by `name` and conditions by `type`.
const ITEM_KEYS: [&str; 2] = ["name", "type"];

/// A changed field, with hashes of what it was and is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub field: String,
    pub before: u64,
    pub after: u64,
}

/// The fields that differ, by path, at most [`MAX_CHANGES`]. When the object came or went that is all there is to say, and
/// the path is `.`: nobody else had or has a say in its fields. One that is deleted has gone, however long it stays.
pub(super) fn changes(before: Option<&Value>, after: Option<&Value>) -> Vec<Change> {
    let mut found = Vec::new();
    let there = |object: Option<&Value>| object.is_some_and(|object| !is_going(object));
    match (before, after) {
        (Some(before), Some(after)) if is_going(before) == is_going(after) => walk(before, after, "", &mut found),
        _ if there(before) != there(after) => {
            let (before, after) = (hash(there(before)), hash(there(after)));
            found.push(Change { field: ".".to_string(), before, after });
        }
        _ => {}
    }
    found
}

/// Whether an object is deleted and waits for its finalizers or its grace period.
pub(super) fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// Whether two objects say the same, metadata aside that every write moves. Strict otherwise: an absent map is not an empty
/// one, and it is better to send what changes nothing than to keep back what changes something.
pub(super) fn same_but_for_bookkeeping(a: &Value, b: &Value) -> bool {
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

fn walk(before: &Value, after: &Value, path: &str, found: &mut Vec<Change>) {
    if before == after || found.len() >= MAX_CHANGES {
        return;
    }
    let (old, new) = match (parts(before, path), parts(after, path)) {
        // A map that comes or goes is the coming or going of what is in it.
        (Some(old), Some(new)) if before.is_object() == after.is_object() => (old, new),
        (Some(old), None) if after.is_null() && !old.is_empty() => (old, BTreeMap::new()),
        (None, Some(new)) if before.is_null() && !new.is_empty() => (BTreeMap::new(), new),
        _ => {
            found.push(Change { field: path.to_string(), before: hash(before), after: hash(after) });
            return;
        }
    };
    let known = found.len();
    let gone = old.keys().filter(|step| !new.contains_key(*step));
    for step in new.keys().chain(gone) {
        let part = |parts: &BTreeMap<String, &Value>| parts.get(step).map_or(Value::Null, |value| (*value).clone());
        walk(&part(&old), &part(&new), &format!("{path}{step}"), found);
    }
    // The same items in another order.
    if found.len() == known && after.is_array() {
        found.push(Change { field: path.to_string(), before: hash(before), after: hash(after) });
    }
}

/// The parts that different operators may own: the fields of a map, the items of a list that have names, the finalizers.
fn parts<'a>(value: &'a Value, path: &str) -> Option<BTreeMap<String, &'a Value>> {
    match value {
        Value::Object(fields) => {
            let bookkeeping = |key: &str| path == ".metadata" && BOOKKEEPING.contains(&key);
            Some(fields.iter().filter(|(key, _)| !bookkeeping(key)).map(|(key, value)| (step(key), value)).collect())
        }
        Value::Array(items) if path == ".metadata.finalizers" => {
            items.iter().map(|item| Some((format!("[{item}]"), item))).collect()
        }
        Value::Array(items) => ITEM_KEYS.iter().find_map(|key| named(items, key)),
        _ => None,
    }
}

/// The items by the key that tells them apart; nothing when it does not.
fn named<'a>(items: &'a [Value], key: &str) -> Option<BTreeMap<String, &'a Value>> {
    let by_name: Option<BTreeMap<_, _>> =
        items.iter().map(|item| Some((format!("[{key}={}]", item.get(key)?.as_str()?), item))).collect();
    by_name.filter(|by_name| by_name.len() == items.len())
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
