//! Kubernetes protobuf in request bodies: kubectl and other typed clients always send built-in kinds this way.
//!
//! Bodies are decoded to the same values as JSON; responses are JSON, which those clients accept. The messages are in a
//! table, with the numbers, JSON names and types of the API's own definitions.

mod table;
#[cfg(test)]
mod tests;
mod wire;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use switchboard_object::quote::quote;

use self::table::{FieldLayout, MessageField, MessageTable};
use self::wire::{WireReader, WireValue};

/// Prefix of every body.
const MAGIC: &[u8] = b"k8s\0";
/// Nesting limit; no kind comes near it.
const MAX_DEPTH: usize = 64;

/// Decoding error of a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtobufError {
    /// The prefix is missing.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoPrefix,
    /// The body is truncated, nests too deep or is malformed.
    #[error("proto: the message is not well formed")]
    Malformed,
    /// The kind is not built in.
    #[error("no kind {} is registered for version {}", quote(.kind), quote(.version))]
    UnknownKind {
        /// `apps/v1`.
        version: String,
        /// `Deployment`.
        kind: String,
    },
}

/// Decodes an object.
pub fn read(body: &[u8]) -> Result<Value, ProtobufError> {
    let message = body.strip_prefix(MAGIC).ok_or(ProtobufError::NoPrefix)?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for field in WireReader::new(message) {
        match field? {
            (1, WireValue::Bytes(meta)) => {
                for field in WireReader::new(meta) {
                    match field? {
                        (1, WireValue::Bytes(text)) => version = utf8(text)?.to_string(),
                        (2, WireValue::Bytes(text)) => kind = utf8(text)?.to_string(),
                        _ => {}
                    }
                }
            }
            (2, WireValue::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let table = MessageTable::get();
    let Some(name) = table.kind(&version, &kind) else { return Err(ProtobufError::UnknownKind { version, kind }) };
    let mut object = message_of(table, name, raw, 0)?;
    object["apiVersion"] = version.into();
    object["kind"] = kind.into();
    Ok(object)
}

fn message_of(table: &MessageTable, name: &str, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
    if depth > MAX_DEPTH {
        return Err(ProtobufError::Malformed);
    }
    let mut out = Map::new();
    for field in WireReader::new(bytes) {
        let (number, wire) = field?;
        let Some(field) = table.field(name, number) else { continue };
        let value = match field.shape {
            FieldLayout::Map => {
                let (key, value) = entry(table, field, wire, depth)?;
                let map = out.entry(field.name).or_insert_with(|| json!({}));
                map[key] = value;
                continue;
            }
            FieldLayout::List => {
                let value = single(table, field, wire, depth)?;
                let list = out.entry(field.name).or_insert_with(|| json!([]));
                list.as_array_mut().ok_or(ProtobufError::Malformed)?.push(value);
                continue;
            }
            FieldLayout::One | FieldLayout::Inline => single(table, field, wire, depth)?,
        };
        match (field.shape, value) {
            (FieldLayout::Inline, Value::Object(inner)) => out.extend(inner),
            // A field without a pointer in Go is always sent, so its zero value has no meaning.
            (_, value) if !field.pointer && is_zero(&value) => {}
            (_, value) => drop(out.insert(field.name.into(), value)),
        }
    }
    Ok(unwrap_message(name, out))
}

fn entry(
    table: &MessageTable,
    field: &MessageField,
    wire: WireValue<'_>,
    depth: usize,
) -> Result<(String, Value), ProtobufError> {
    let WireValue::Bytes(bytes) = wire else { return Err(ProtobufError::Malformed) };
    let (mut key, mut value) = (String::new(), None);
    for part in WireReader::new(bytes) {
        match part? {
            (1, WireValue::Bytes(text)) => key = utf8(text)?.to_string(),
            (2, wire) => value = Some(single(table, field, wire, depth)?),
            _ => {}
        }
    }
    let empty = || if field.kind == "string" || field.kind == "bytes" { json!("") } else { json!({}) };
    Ok((key, value.unwrap_or_else(empty)))
}

fn single(
    table: &MessageTable,
    field: &MessageField,
    wire: WireValue<'_>,
    depth: usize,
) -> Result<Value, ProtobufError> {
    Ok(match (field.kind, wire) {
        ("string", WireValue::Bytes(bytes)) => utf8(bytes)?.into(),
        ("bytes", WireValue::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        ("bool", WireValue::Number(number)) => (number != 0).into(),
        ("int32" | "int64" | "uint32" | "uint64", WireValue::Number(number)) => (number as i64).into(),
        ("double", WireValue::Fixed(bits)) => json!(f64::from_bits(bits)),
        ("quantity" | "time" | "microtime" | "intorstring" | "json" | "duration", WireValue::Bytes(bytes)) => {
            special(field.kind, bytes)?
        }
        (message, WireValue::Bytes(bytes)) => message_of(table, message, bytes, depth + 1)?,
        _ => return Err(ProtobufError::Malformed),
    })
}

/// Decodes types with their own JSON form.
fn special(kind: &str, bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut numbers, mut text) = ([0i64; 4], None);
    for field in WireReader::new(bytes) {
        match field? {
            (at @ 1..=3, WireValue::Number(number)) => numbers[at as usize] = number as i64,
            (_, WireValue::Bytes(found)) => text = Some(found),
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

/// Unwraps messages that represent a list or a choice in JSON.
fn unwrap_message(name: &str, mut fields: Map<String, Value>) -> Value {
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
