//! Defaulting by a structural schema.

use super::Schema;
use crate::Value;

/// Sets absent fields, and nulls that are not allowed, to their defaults, recursively.
pub fn default(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                let missing = match map.get(name.as_ref()) {
                    None => true,
                    Some(value) => value.is_null() && !property.nullable,
                };
                if missing {
                    map.insert(name.to_string(), default.clone());
                }
            }
            for (key, value) in map.iter_mut() {
                if let Some(property) = schema.properties.get(key.as_str()) {
                    self::default(property, value);
                } else if let Some(additional) = &schema.additional {
                    replace_null(additional, value);
                    self::default(additional, value);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for item in items {
                replace_null(schema, item);
                self::default(schema, item);
            }
        }
        _ => {}
    }
}

/// Drops nulls that are neither allowed nor replaced by a default.
pub fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|key, value| {
            let child = schema.properties.get(key.as_str()).or(schema.additional.as_ref());
            // `additionalProperties: true` does not restrict its values.
            let Some(child) = child.filter(|child| !child.is_unconstrained()) else { return true };
            if value.is_null() && !child.nullable && child.default.is_none() {
                return false;
            }
            drop_nulls(child, value);
            true
        }),
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            items.iter_mut().for_each(|item| drop_nulls(schema, item));
        }
        _ => {}
    }
}

fn replace_null(schema: &Schema, value: &mut Value) {
    if let (true, false, Some(default)) = (value.is_null(), schema.nullable, &schema.default) {
        *value = default.clone();
    }
}
