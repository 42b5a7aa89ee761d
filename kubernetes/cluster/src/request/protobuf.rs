//! Bodies in Kubernetes protobuf: kubectl and other typed clients send built-in kinds this way, and cannot be told not to.
//!
//! Only reading is done here, into the same values JSON is read into; answers are JSON, which those clients accept.
//! The messages come from a table: their numbers, JSON names and types as the API's own definitions have them.

mod table;
#[cfg(test)]
mod tests;
mod wire;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use self::table::{Field, Shape, Table};
use self::wire::{Reader, Wire};

/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";
/// Deeper nesting is refused; no kind comes near it.
const MAX_DEPTH: usize = 64;

/// Why a body cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtobufError {
    /// It is something else.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoPrefix,
    /// It ends too early, nests too deep or is not well formed.
    #[error("proto: the message is not well formed")]
    Malformed,
    /// The kind is not one of the built-in ones.
    #[error("no kind {kind:?} is registered for version {version:?}")]
    UnknownKind {
        /// `apps/v1`.
        version: String,
        /// `Deployment`.
        kind: String,
    },
}

/// Reads an object.
pub fn read(body: &[u8]) -> Result<Value, ProtobufError> {
    let message = body.strip_prefix(MAGIC).ok_or(ProtobufError::NoPrefix)?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in Reader::new(message) {
        match field? {
            (1, Wire::Bytes(meta)) => {
                for field in Reader::new(meta) {
                    match field? {
                        (1, Wire::Bytes(text)) => version = utf8(text)?.to_string(),
                        (2, Wire::Bytes(text)) => kind = utf8(text)?.to_string(),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let table = Table::get();
    let Some(name) = table.kind(&version, &kind) else { return Err(ProtobufError::UnknownKind { version, kind }) };
    let mut object = message_of(table, name, raw, 0)?;
    object["apiVersion"] = version.into();
    object["kind"] = kind.into();
    Ok(object)
}

fn message_of(table: &Table, name: &str, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
    if depth > MAX_DEPTH {
        return Err(ProtobufError::Malformed);
    }
    let mut out = Map::new();
    for field in Reader::new(bytes) {
        let (number, wire) = field?;
        let Some(field) = table.field(name, number) else { continue };
        let value = match field.shape {
            Shape::Map => {
                let (key, value) = entry(table, field, wire, depth)?;
                let map = out.entry(field.name).or_insert_with(|| json!({}));
                map[key] = value;
                continue;
            }
            Shape::List => {
                let value = single(table, field, wire, depth)?;
                let list = out.entry(field.name).or_insert_with(|| json!([]));
                list.as_array_mut().ok_or(ProtobufError::Malformed)?.push(value);
                continue;
            }
            Shape::One | Shape::Inline => single(table, field, wire, depth)?,
        };
        match (field.shape, value) {
            (Shape::Inline, Value::Object(inner)) => out.extend(inner),
            // What has no pointer in Go is always sent; its zero says nothing.
            (_, value) if !field.pointer && is_zero(&value) => {}
            (_, value) => drop(out.insert(field.name.into(), value)),
        }
    }
    Ok(unwrapped(name, out))
}

fn entry(table: &Table, field: &Field, wire: Wire<'_>, depth: usize) -> Result<(String, Value), ProtobufError> {
    let Wire::Bytes(bytes) = wire else { return Err(ProtobufError::Malformed) };
    let (mut key, mut value) = (String::new(), None);
    for part in Reader::new(bytes) {
        match part? {
            (1, Wire::Bytes(text)) => key = utf8(text)?.to_string(),
            (2, wire) => value = Some(single(table, field, wire, depth)?),
            _ => {}
        }
    }
    let empty = || if field.kind == "string" || field.kind == "bytes" { json!("") } else { json!({}) };
    Ok((key, value.unwrap_or_else(empty)))
}

fn single(table: &Table, field: &Field, wire: Wire<'_>, depth: usize) -> Result<Value, ProtobufError> {
    Ok(match (field.kind, wire) {
        ("string", Wire::Bytes(bytes)) => utf8(bytes)?.into(),
        ("bytes", Wire::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        ("bool", Wire::Number(number)) => (number != 0).into(),
        ("int32" | "int64" | "uint32" | "uint64", Wire::Number(number)) => (number as i64).into(),
        ("double", Wire::Fixed(bits)) => json!(f64::from_bits(bits)),
        ("quantity" | "time" | "microtime" | "intorstring" | "json" | "duration", Wire::Bytes(bytes)) => {
            special(field.kind, bytes)?
        }
        (message, Wire::Bytes(bytes)) => message_of(table, message, bytes, depth + 1)?,
        _ => return Err(ProtobufError::Malformed),
    })
}

/// Types that JSON writes in a way of their own.
fn special(kind: &str, bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut numbers, mut text) = ([0i64; 4], None);
    for field in Reader::new(bytes) {
        match field? {
            (at @ 1..=3, Wire::Number(number)) => numbers[at as usize] = number as i64,
            (_, Wire::Bytes(found)) => text = Some(found),
            _ => {}
        }
    }
    Ok(match kind {
        "quantity" => utf8(text.unwrap_or_default())?.into(),
        "json" => match text {
            Some(raw) => serde_json::from_slice(raw).map_err(|_| ProtobufError::Malformed)?,
            None => Value::Null,
        },
        "intorstring" if numbers[1] == 1 => utf8(text.unwrap_or_default())?.into(),
        "intorstring" => numbers[2].into(),
        "duration" => format!("{}ns", numbers[1]).into(),
        _ if numbers[1] == 0 && numbers[2] == 0 => Value::Null,
        _ => time(kind, numbers[1], numbers[2])?,
    })
}

fn time(kind: &str, seconds: i64, nanos: i64) -> Result<Value, ProtobufError> {
    let nanos = i32::try_from(nanos).map_err(|_| ProtobufError::Malformed)?;
    let time = jiff::Timestamp::new(seconds, nanos).map_err(|_| ProtobufError::Malformed)?;
    let format = if kind == "microtime" { "%Y-%m-%dT%H:%M:%S%.6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Ok(time.strftime(format).to_string().into())
}

/// Messages that stand for a list or a choice in JSON.
fn unwrapped(name: &str, mut fields: Map<String, Value>) -> Value {
    let mut take = |field: &str| fields.remove(field);
    match name.rsplit('.').next().unwrap_or_default() {
        "ExtraValue" => take("items").unwrap_or_else(|| json!([])),
        "JSONSchemaPropsOrBool" => take("schema").or_else(|| take("allows")).unwrap_or(Value::Bool(false)),
        "JSONSchemaPropsOrArray" => take("schema").or_else(|| take("jSONSchemas")).unwrap_or_else(|| json!([])),
        "JSONSchemaPropsOrStringArray" => take("schema").or_else(|| take("property")).unwrap_or_else(|| json!([])),
        _ => Value::Object(fields),
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Array(_) => false,
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, ProtobufError> {
    std::str::from_utf8(bytes).map_err(|_| ProtobufError::Malformed)
}
