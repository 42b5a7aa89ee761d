//! What a call costs by the size of what it is given.

use super::value::Val;
use crate::Value;

/// Functions whose work does not depend on how large their arguments are.
pub(super) fn is_shallow(name: &str) -> bool {
    const SHALLOW: [&str; 10] =
        ["size", "_[_]", "_[?_]", "_?._", "type", "dyn", "hasValue", "value", "optional.of", "optional.none"];
    SHALLOW.contains(&name)
}

/// Takes the size of a value from `left`, and stops when nothing is left: parts may be shared, so that a value can be
/// far larger than the memory it takes.
pub(super) fn weigh(value: &Val<'_>, left: &mut u64) {
    let mut take = |size: usize| *left = left.saturating_sub(size as u64);
    match value {
        Val::Text(text) => take(text.len() / 10),
        Val::Bytes(bytes) => take(bytes.len() / 10),
        Val::JsonList(items, _) => weigh_json(items.iter(), left),
        Val::JsonMap(map, _) | Val::Object(map, _) => weigh_json(map.values(), left),
        Val::List(items) => {
            for item in items.iter() {
                if *left == 0 {
                    return;
                }
                *left -= 1;
                weigh(item, left);
            }
        }
        Val::Map(map) => {
            for item in map.values() {
                if *left == 0 {
                    return;
                }
                *left -= 1;
                weigh(item, left);
            }
        }
        Val::Optional(Some(inner)) => weigh(inner, left),
        _ => {}
    }
}

fn weigh_json<'v>(values: impl Iterator<Item = &'v Value>, left: &mut u64) {
    for value in values {
        if *left == 0 {
            return;
        }
        *left -= 1;
        match value {
            Value::Array(items) => weigh_json(items.iter(), left),
            Value::Object(map) => weigh_json(map.values(), left),
            Value::String(text) => *left = left.saturating_sub((text.len() / 10) as u64),
            _ => {}
        }
    }
}
