//! JSON pointers into a document: the container an operation works on, and the key in it.

use crate::{Map, Value};

const INVALID_INDEX: &str = "invalid index referenced";

/// A place in a document, which need not exist yet.
pub(super) struct Pointed<'a> {
    container: Container<'a>,
    key: String,
}

enum Container<'a> {
    Object(&'a mut Map),
    Array(&'a mut Vec<Value>),
}

/// The place `path` names, if everything on the way to it is there.
pub(super) fn find<'a>(target: &'a mut Value, path: &str) -> Option<Pointed<'a>> {
    let mut parts: Vec<&str> = path.split('/').collect();
    let last = parts.pop()?;
    // What stands before the first slash is not looked at.
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
    Some(Pointed { container, key: unescape(last) })
}

impl Pointed<'_> {
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value there; an absent field of an object is no error.
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
                let index = within(index, list.len() + 1)?;
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
    within(integer(key)?, length)
}

fn within(index: i64, length: usize) -> Result<usize, String> {
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
