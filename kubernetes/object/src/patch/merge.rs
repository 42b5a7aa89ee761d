//! JSON merge patch (RFC 7396).

use super::PatchError;
use crate::{Map, Value, go_format};

/// Merges `patch` into `target`.
///
/// # Errors
/// When the patch is not an object.
pub fn apply(target: Value, patch: Value) -> Result<Value, PatchError> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => return Err(PatchError::BadRequest("Invalid JSON Patch".to_string())),
        other => {
            return Err(PatchError::BadRequest(format!(
                "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                go_format::json_type(&other)
            )));
        }
    };
    Ok(merge(target, Value::Object(patch)))
}

fn merge(target: Value, patch: Value) -> Value {
    match (target, patch) {
        (Value::Object(mut target), Value::Object(patch)) => {
            merge_fields(&mut target, patch);
            Value::Object(target)
        }
        (Value::Object(_), patch) => patch,
        (_, mut patch) => {
            prune_nulls(&mut patch);
            patch
        }
    }
}

fn merge_fields(target: &mut Map, patch: Map) {
    for (key, mut value) in patch {
        match target.get_mut(&key).map(Value::take) {
            _ if value.is_null() => {
                target.remove(&key);
            }
            None | Some(Value::Null) => {
                prune_nulls(&mut value);
                target.insert(key, value);
            }
            Some(current) => {
                target.insert(key, merge(current, value));
            }
        }
    }
}

// Removes the nulls of a patch, which have nothing to remove here. Nulls that are items of lists stay.
fn prune_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(prune_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(prune_nulls),
        _ => {}
    }
}

/// Returns the patch that turns `from` into `to`. Neither may contain nulls, which a merge patch cannot express.
pub fn diff(from: &Map, to: &Map) -> Map {
    let mut patch = Map::new();
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, new) in to {
        match (from.get(key), new) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                patch.insert(key.clone(), Value::Object(diff(old, new)));
            }
            _ => {
                patch.insert(key.clone(), new.clone());
            }
        }
    }
    patch
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn merges() {
        for (target, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [1]}), json!({"a": [null, {"x": null}]}), json!({"a": [null, {}]})),
            (json!({"a": {}}), json!({"a": [{"x": null}]}), json!({"a": [{"x": null}]})),
            (json!({"a": null}), json!({"b": {"c": null, "d": 1}}), json!({"a": null, "b": {"d": 1}})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            assert_eq!(apply(target.clone(), patch.clone()).unwrap(), expected, "{target} + {patch}");
        }
    }

    #[test]
    fn refuses_values_that_are_not_objects() {
        assert_eq!(apply(json!({}), json!(null)).unwrap_err().to_string(), "Invalid JSON Patch");
        assert_eq!(
            apply(json!({}), json!([])).unwrap_err().to_string(),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
    }
}
