//! Strategic merge patch: a merge patch that uses the schema to merge lists by key.
//!
//! Directives in the patch control the merge: `$patch` (`delete`, `replace`), `$retainKeys`, `$setElementOrder/<list>`
//! and `$deleteFromPrimitiveList/<list>`.

mod lists;
mod lookup;
mod order;

use super::PatchError;
use crate::schema::{Definitions, Schema};
use crate::{Map, Value, go_format};
use lookup::{PatchField, PatchSchema};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

type StrategicResult<T> = Result<T, PatchError>;

/// Merges `patch` into `target`, which has the given schema.
///
/// # Errors
/// When the patch is not an object, a directive is malformed, or a list's items lack their merge key.
pub fn apply(definitions: &Definitions, schema: &Schema, target: Value, patch: Value) -> StrategicResult<Value> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => Map::new(),
        other => {
            return Err(PatchError::BadRequest(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                go_format::json_type(&other)
            )));
        }
    };
    let Value::Object(target) = target else { return Err(bad_request("invalid JSON document")) };
    merge_maps(target, patch, PatchSchema { definitions, schema: Some(schema) }).map(Value::Object)
}

fn bad_request(words: &str) -> PatchError {
    PatchError::BadRequest(words.to_string())
}

fn unexpected(words: String) -> PatchError {
    PatchError::Unexpected(words)
}

fn bad_type(expected: &str, found: &Value) -> PatchError {
    unexpected(format!("expected a {expected}, but received a {}", go_format::type_name(found)))
}

fn no_merge_key(item: &Map, key: &str) -> PatchError {
    let item = go_format::value(&Value::Object(item.clone()));
    unexpected(format!("map: {item} does not contain declared merge key: {key}"))
}

fn merge_maps(mut target: Map, mut patch: Map, typed: PatchSchema<'_>) -> StrategicResult<Map> {
    if let Some(directive) = patch.get(DIRECTIVE).cloned() {
        return apply_map_directive(&directive, patch);
    }
    retain_keys(&mut target, &mut patch)?;
    lists::merge_ordered(&mut target, &mut patch, typed)?;
    for (key, value) in patch {
        merge_field(&mut target, key, value, typed)?;
    }
    Ok(target)
}

// Applies the `$patch` directive of a map.
fn apply_map_directive(directive: &Value, mut patch: Map) -> StrategicResult<Map> {
    match directive.as_str() {
        Some("replace") => {
            patch.remove(DIRECTIVE);
            Ok(patch)
        }
        Some("delete") => Ok(Map::new()),
        _ => Err(bad_patch_type(directive, &patch)),
    }
}

fn bad_patch_type(directive: &Value, patch: &Map) -> PatchError {
    let patch = go_format::value(&Value::Object(patch.clone()));
    unexpected(format!("unknown patch type: {} in map: {patch}", go_format::value(directive)))
}

// Applies `$retainKeys`, which lists every field that remains; all others are removed.
fn retain_keys(target: &mut Map, patch: &mut Map) -> StrategicResult<()> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || bad_request("invalid patch format of retainKeys");
    let keys = keys.as_array().ok_or_else(malformed)?;
    let listed = |key: &str| keys.iter().any(|k| k.as_str() == Some(key));
    let is_directive = |key: &str| key.starts_with(DELETE_FROM_PRIMITIVE_LIST) || key.starts_with(SET_ELEMENT_ORDER);
    if patch.iter().any(|(key, value)| !value.is_null() && !is_directive(key) && !listed(key)) {
        return Err(malformed());
    }
    target.retain(|key, _| listed(key));
    Ok(())
}

fn merge_field(target: &mut Map, key: String, value: Value, typed: PatchSchema<'_>) -> StrategicResult<()> {
    if key.starts_with(DELETE_FROM_PRIMITIVE_LIST) {
        let key = directive_key(&key, DELETE_FROM_PRIMITIVE_LIST, "invalid patch format of primitive list")?;
        return lists::delete_from(target, key, value, typed);
    }
    if value.is_null() {
        target.remove(&key);
        return Ok(());
    }
    let merged = match (target.remove(&key), value) {
        (Some(Value::Object(old)), Value::Object(new)) => {
            let field = typed.field(&key)?;
            let replace = strategy(&field)? == "replace";
            Some(Value::Object(if replace { new } else { merge_maps(old, new, field.typed)? }))
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let field = typed.list(&key)?;
            let merge = strategy(&field)? == "merge";
            Some(Value::Array(if merge { lists::merge(old, new, &field)? } else { new }))
        }
        (old, mut new) => {
            // A scalar replaces a scalar of the same type as it is. Any other value is new, and nulls in it remove
            // nothing.
            let same_scalar = old.is_some_and(|old| go_format::type_name(&old) == go_format::type_name(&new));
            if !same_scalar {
                discard_nulls(&mut new);
            }
            without_directives(new)
        }
    };
    if let Some(merged) = merged {
        target.insert(key, merged);
    }
    Ok(())
}

// Returns the list that a directive names: `$setElementOrder/containers` names `containers`.
fn directive_key<'a>(key: &'a str, prefix: &str, words: &str) -> StrategicResult<&'a str> {
    match key.split_once('/') {
        Some((found, key)) if found == prefix => Ok(key),
        _ => Err(bad_request(words)),
    }
}

// Returns the merge strategy. `retainKeys` does not count as one.
fn strategy<'a>(field: &PatchField<'a>) -> StrategicResult<&'a str> {
    let others: Vec<&str> = field.strategies.iter().map(AsRef::as_ref).filter(|s| *s != "retainKeys").collect();
    match others.as_slice() {
        [] => Ok(""),
        [one] => Ok(one),
        _ => Err(unexpected(format!("unexpected patch strategy: [{}]", field.strategies.join(" ")))),
    }
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(discard_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

// Removes items and maps with a directive from a value that had nothing to merge with.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => {
            let kept = map.into_iter().filter_map(|(k, v)| Some((k, without_directives(v)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(list) => Some(Value::Array(list.into_iter().filter_map(without_directives).collect())),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests;
