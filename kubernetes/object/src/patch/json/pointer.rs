//! JSON pointers: the container an operation changes, and the key in it.

use crate::{Map, Value};

const INVALID_INDEX: &str = "invalid index referenced";

/// Target of a pointer. The key need not exist yet.
pub(super) struct PointerTarget<'a> {
    container: Container<'a>,
    key: String,
}

enum Container<'a> {
    Object(&'a mut Map),
    Array(&'a mut Vec<Value>),
}

/// Resolves `path`, if all its parents exist.
pub(super) fn find<'a>(target: &'a mut Value, path: &str) -> Option<PointerTarget<'a>> {
    let mut parts: Vec<&str> = path.split('/').collect();
    let last = parts.pop()?;
    // The text before the first slash is ignored.
    let way = parts.get(1..)?;
    let mut node = target;
    for part in way {
        let key = unescape(part);
        node = match node {
            Value::Object(map) => map.get_mut(&key)?,
            Value::Array(list) => {
                let index = existing(&key, list.len()).ok()?;
                list.get_mut(index)?
            }
            _ => return None,
        };
    }
    let container = match node {
        Value::Object(map) => Container::Object(map),
        Value::Array(list) => Container::Array(list),
        _ => return None,
    };
    Some(PointerTarget { container, key: unescape(last) })
}

impl PointerTarget<'_> {
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the target value. An absent field of an object is not an error.
    pub fn get(&self) -> Result<Option<&Value>, String> {
        match &self.container {
            Container::Object(map) => Ok(map.get(&self.key)),
            Container::Array(list) => Ok(list.get(existing(&self.key, list.len())?)),
        }
    }

    pub fn set(self, value: Value) -> Result<(), String> {
        match self.container {
            Container::Object(map) => {
                map.insert(self.key, value);
            }
            Container::Array(list) => {
                let index = existing(&self.key, list.len())?;
                list[index] = value;
            }
        }
        Ok(())
    }

    pub fn add(self, value: Value) -> Result<(), String> {
        match self.container {
            Container::Object(map) => {
                map.insert(self.key, value);
            }
            Container::Array(list) if self.key == "-" => list.push(value),
            Container::Array(list) => {
                let improper = |e| format!("value was not a proper array index: '{}': {e}", self.key);
                let index = integer(&self.key).map_err(improper)?;
                let index = check_index(index, list.len() + 1)?;
                list.insert(index, value);
            }
        }
        Ok(())
    }

    pub fn remove(self) -> Result<Value, String> {
        match self.container {
            Container::Object(map) => map
                .remove(&self.key)
                .ok_or_else(|| format!("Unable to remove nonexistent key: {}: missing value", self.key)),
            Container::Array(list) => {
                let index = existing(&self.key, list.len())?;
                Ok(list.remove(index))
            }
        }
    }
}

fn existing(key: &str, length: usize) -> Result<usize, String> {
    check_index(integer(key)?, length)
}

fn check_index(index: i64, length: usize) -> Result<usize, String> {
    let counted = if index < 0 { index + length as i64 } else { index };
    let inside = (0..length as i64).contains(&counted);
    if inside { Ok(counted as usize) } else { Err(format!("Unable to access invalid index: {index}: {INVALID_INDEX}")) }
}

fn integer(key: &str) -> Result<i64, String> {
    key.parse().map_err(|_| format!("strconv.Atoi: parsing {}: invalid syntax", crate::quote::quote(key)))
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}
