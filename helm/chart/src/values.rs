//! Values: files and merging.

use std::borrow::Cow;

use serde_json::Number;
use switchboard_object::{Map, Value, yaml};

use crate::typed::{self, DecodeError};

/// Parses values from a YAML text. Later documents override earlier ones.
///
/// All numbers become floats, as Go decodes them from JSON.
///
/// # Errors
/// If a document is not YAML or not a mapping.
pub fn read(text: &str) -> Result<Map, DecodeError> {
    let mut values = Map::new();
    for document in documents(text)? {
        let map = typed::read_map(&document);
        let map = map.map_err(|error| DecodeError(format!("cannot unmarshal yaml document: {error}")))?;
        merge(&mut values, floats_in(map));
    }
    Ok(values)
}

/// Parses values from bytes, which may not be text.
///
/// # Errors
/// If the bytes are not YAML or not a mapping.
pub fn read_bytes(bytes: &[u8]) -> Result<Map, DecodeError> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return read(text);
    }
    let failed = |error| DecodeError(format!("cannot unmarshal yaml document: error converting YAML to JSON: {error}"));
    // Go's document reader ends every document with a line break. In UTF-16, this byte is half of a character.
    let mut bytes = Cow::Borrowed(bytes);
    if !bytes.ends_with(b"\n") {
        bytes.to_mut().push(b'\n');
    }
    read(&yaml::decode(&bytes).map_err(failed)?)
}

/// Splits a stream into documents at `---` lines, like the reader of Kubernetes.
fn documents(text: &str) -> Result<Vec<Cow<'_, str>>, DecodeError> {
    if !text.contains("---") {
        return Ok(if text.is_empty() { Vec::new() } else { vec![text.into()] });
    }
    let mut documents = Vec::new();
    let mut current = String::new();
    for line in text.split_inclusive('\n') {
        if let Some(behind) = line.strip_prefix("---") {
            let behind = behind.trim();
            if !behind.is_empty() && !behind.starts_with('#') {
                let text = format!("error reading yaml document: invalid Yaml document separator: {behind}");
                return Err(DecodeError(text));
            }
            if !current.is_empty() {
                documents.push(std::mem::take(&mut current).into());
                continue;
            }
        }
        current.push_str(line);
    }
    if !current.is_empty() {
        documents.push(current.into());
    }
    Ok(documents)
}

/// Merges values into others: mappings are merged, everything else is replaced.
pub fn merge(under: &mut Map, over: Map) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Object(under)), Value::Object(over)) => merge(under, over),
            (_, value) => {
                under.insert(key, value);
            }
        }
    }
}

/// Converts all numbers of a value to floats.
pub fn floats(value: Value) -> Value {
    match value {
        Value::Number(number) if !number.is_f64() => {
            number.as_f64().and_then(Number::from_f64).map_or(Value::Null, Value::Number)
        }
        Value::Array(list) => Value::Array(list.into_iter().map(floats).collect()),
        Value::Object(map) => Value::Object(floats_in(map)),
        other => other,
    }
}

fn floats_in(mut map: Map) -> Map {
    for value in map.values_mut() {
        match value {
            Value::String(_) | Value::Bool(_) | Value::Null => {}
            value => *value = floats(value.take()),
        }
    }
    map
}

/// Returns the mapping at a path such as `image.pull`, or `None` if a part is missing or not a mapping.
pub fn table<'a>(values: &'a Map, path: &str) -> Option<&'a Map> {
    path.split('.').try_fold(values, |table, part| table.get(part)?.as_object())
}

/// Returns the value at a path unless it is a mapping.
pub fn value_at<'a>(values: &'a Map, path: &str) -> Option<&'a Value> {
    let value = match path.rsplit_once('.') {
        Some((parents, key)) => table(values, parents)?.get(key),
        None => values.get(path),
    };
    value.filter(|value| !value.is_object())
}

#[cfg(test)]
mod tests;
