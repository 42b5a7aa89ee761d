//! Uniqueness of items in lists of type `set` or `map`.

use std::collections::BTreeMap;

use super::embedded::child;
use super::{ListType, Schema};
use crate::field::FieldError;
use crate::{Map, Value};

/// Reports duplicate items in lists of type `set` or `map`.
pub fn validate_lists(schema: &Schema, value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(map) => {
            if let Some(additional) = &schema.additional {
                for (key, value) in map {
                    validate_lists(additional, value, &format!("{path}[{key}]"), errors);
                }
            }
            for (key, value) in map {
                if let Some(property) = schema.properties.get(key.as_str()) {
                    validate_lists(property, value, &child(path, key), errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type {
                Some(ListType::Set) => set(items, path, errors),
                Some(ListType::Map) => map(schema, items, path, errors),
                _ => {}
            }
            let Some(schema) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                validate_lists(schema, item, &format!("{path}[{index}]"), errors);
            }
        }
        _ => {}
    }
}

fn set(items: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    let texts = items.iter().map(ToString::to_string);
    for index in duplicate_positions(texts) {
        errors.push(FieldError::duplicate(format!("{path}[{index}]"), items[index].clone()));
    }
}

fn map(schema: &Schema, items: &[Value], path: &str, errors: &mut Vec<FieldError>) {
    for (index, item) in items.iter().enumerate() {
        if !item.is_null() && !item.is_object() {
            let detail = "must be an object for an array of list-type map";
            errors.push(FieldError::invalid(format!("{path}[{index}]"), item.clone(), detail));
            return;
        }
    }
    let key = |item: &Value| -> Map {
        let present = |name: &str| item.get(name).map(|value| (name.to_string(), value.clone()));
        schema.map_keys.iter().filter_map(|name| present(name)).collect()
    };
    let keys: Vec<Value> = items.iter().map(|item| Value::Object(key(item))).collect();
    for index in duplicate_positions(keys.iter().map(ToString::to_string)) {
        errors.push(FieldError::duplicate(format!("{path}[{index}]"), keys[index].clone()));
    }
}

/// Returns the second position of each text that occurs more than once.
fn duplicate_positions(texts: impl Iterator<Item = String>) -> Vec<usize> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut second = Vec::new();
    for (index, text) in texts.enumerate() {
        let times = seen.entry(text).or_default();
        *times += 1;
        if *times == 2 {
            second.push(index);
        }
    }
    second
}
