//! Strategic merge patch: a merge patch that knows, from the schema, which lists are merged and by which key.
//!
//! Directives in the patch steer it: `$patch` (`delete`, `replace`), `$retainKeys`, `$setElementOrder/<list>` and
//! `$deleteFromPrimitiveList/<list>`.

mod lists;
mod lookup;
mod order;

use super::PatchError;
use crate::schema::{Definitions, Schema};
use crate::{Map, Value, gofmt};
use lookup::{Field, Typed};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

type Outcome<T> = Result<T, PatchError>;

/// Merges `patch` into `target`, which is of the given schema.
///
/// # Errors
/// When the patch is not an object, a directive is malformed, or a list's items lack their merge key.
pub fn apply(definitions: &Definitions, schema: &Schema, target: Value, patch: Value) -> Outcome<Value> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => Map::new(),
        other => {
            return Err(PatchError::BadRequest(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                gofmt::json_type(&other)
            )));
        }
    };
    let Value::Object(target) = target else { return Err(bad_request("invalid JSON document")) };
    merge_maps(target, patch, Typed { definitions, schema: Some(schema) }).map(Value::Object)
}

fn bad_request(words: &str) -> PatchError {
    PatchError::BadRequest(words.to_string())
}

fn unexpected(words: String) -> PatchError {
    PatchError::Unexpected(words)
}

fn bad_type(expected: &str, found: &Value) -> PatchError {
    unexpected(format!("expected a {expected}, but received a {}", gofmt::type_name(found)))
}

fn no_merge_key(item: &Map, key: &str) -> PatchError {
    let item = gofmt::value(&Value::Object(item.clone()));
    unexpected(format!("map: {item} does not contain declared merge key: {key}"))
}

fn merge_maps(mut target: Map, mut patch: Map, typed: Typed<'_>) -> Outcome<Map> {
    if let Some(directive) = patch.get(DIRECTIVE).cloned() {
        return directed(&directive, patch);
    }
    retain_keys(&mut target, &mut patch)?;
    lists::merge_ordered(&mut target, &mut patch, typed)?;
    for (key, value) in patch {
        merge_field(&mut target, key, value, typed)?;
    }
    Ok(target)
}

// A map whose patch says what becomes of it as a whole.
fn directed(directive: &Value, mut patch: Map) -> Outcome<Map> {
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
    let patch = gofmt::value(&Value::Object(patch.clone()));
    unexpected(format!("unknown patch type: {} in map: {patch}", gofmt::value(directive)))
}

// `$retainKeys` lists every field that may remain; all others go.
fn retain_keys(target: &mut Map, patch: &mut Map) -> Outcome<()> {
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

fn merge_field(target: &mut Map, key: String, value: Value, typed: Typed<'_>) -> Outcome<()> {
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
            // Scalars of one type are taken as they are; anything else is new here, and nulls in it remove nothing.
            let same_scalar = old.is_some_and(|old| gofmt::type_name(&old) == gofmt::type_name(&new));
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

// The list a directive is about: `$setElementOrder/containers` names `containers`.
fn directive_key<'a>(key: &'a str, prefix: &str, words: &str) -> Outcome<&'a str> {
    match key.split_once('/') {
        Some((found, key)) if found == prefix => Ok(key),
        _ => Err(bad_request(words)),
    }
}

// The strategy besides `retainKeys`, which says nothing about merging.
fn strategy<'a>(field: &Field<'a>) -> Outcome<&'a str> {
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

// What is left of a value that had nothing to be merged with: items and maps with a directive vanish.
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
