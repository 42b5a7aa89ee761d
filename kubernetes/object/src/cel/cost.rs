//! Cost of a call, by the size of its arguments.

use super::value::CelValue;
use crate::Value;

/// Whether the cost of a function does not depend on the size of its arguments.
pub(super) fn is_shallow(name: &str) -> bool {
    const SHALLOW: [&str; 10] =
        ["size", "_[_]", "_[?_]", "_?._", "type", "dyn", "hasValue", "value", "optional.of", "optional.none"];
    SHALLOW.contains(&name)
}

/// Subtracts the size of a value from `left`, and stops at zero. Values may share parts, so that a value can be far
/// larger than the memory it uses.
pub(super) fn charge_size(value: &CelValue<'_>, left: &mut u64) {
    let mut take = |size: usize| *left = left.saturating_sub(size as u64);
    match value {
        CelValue::Text(text) => take(text.len() / 10),
        CelValue::Bytes(bytes) => take(bytes.len() / 10),
        CelValue::JsonList(items, _) => weigh_json(items.iter(), left),
        CelValue::JsonMap(map, _) | CelValue::Object(map, _) => weigh_json(map.values(), left),
        CelValue::List(items) => {
            for item in items.iter() {
                if *left == 0 {
                    return;
                }
                *left -= 1;
                charge_size(item, left);
            }
        }
        CelValue::Map(map) => {
            for item in map.values() {
                if *left == 0 {
                    return;
                }
                *left -= 1;
                charge_size(item, left);
            }
        }
        CelValue::Optional(Some(inner)) => charge_size(inner, left),
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
