//! Correlation of values with the old object's values that they replace.

use super::{ListType, Schema};
use crate::Value;

/// Returns the item of the old list with the same keys. Only lists of type `map` can be correlated.
pub(crate) fn same_item<'a>(schema: &Schema, item: &Value, old: &'a Value) -> Option<&'a Value> {
    if schema.list_type != Some(ListType::Map) {
        return None;
    }
    old.as_array()?.iter().find(|old| schema.map_keys.iter().all(|key| old.get(key.as_ref()) == item.get(key.as_ref())))
}

/// Whether a value is known to be unchanged. List maps are compared regardless of order.
pub(crate) fn unchanged(schema: &Schema, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(new_items), Value::Array(old_items)) if schema.list_type == Some(ListType::Map) => {
            new_items.len() == old_items.len()
                && new_items.iter().all(|item| {
                    let items = schema.items.clone().unwrap_or_default();
                    same_item(schema, item, old).is_some_and(|old| unchanged(&items, item, old))
                })
        }
        (Value::Object(new_map), Value::Object(old_map)) => {
            new_map.len() == old_map.len()
                && new_map.iter().all(|(key, new)| {
                    let Some(old) = old_map.get(key) else { return false };
                    match schema.properties.get(key.as_str()).or(schema.additional.as_ref()) {
                        Some(child) => unchanged(child, new, old),
                        // Values without a schema cannot be correlated.
                        None => false,
                    }
                })
        }
        _ => new == old,
    }
}
