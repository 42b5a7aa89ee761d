//! CEL values. Values of the object are borrowed from its JSON and typed by the schema when they are accessed.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::libraries::cidr::Cidr;
use super::libraries::semver::Semver;
use super::libraries::url::Url;
use super::names::unescape;
use crate::quantity::Quantity;
use crate::schema::{Schema, SchemaType, formats, go_base64, go_time};
use crate::{Map, Value};

/// String: borrowed from the object or the rule, or created during evaluation.
#[derive(Clone)]
pub(super) enum CelText<'a> {
    Borrowed(&'a str),
    Made(Arc<str>),
}

impl Deref for CelText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl fmt::Debug for CelText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Key of a map. Signed and unsigned integers of equal value are the same key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CelKey {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Text(Arc<str>),
}

/// CEL value.
#[derive(Clone, Debug)]
pub(super) enum CelValue<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(CelText<'a>),
    Bytes(Arc<[u8]>),
    /// Nanoseconds.
    Duration(i64),
    /// Nanoseconds since 1970, UTC.
    Timestamp(i128),
    List(Arc<Vec<CelValue<'a>>>),
    Map(Arc<BTreeMap<CelKey, CelValue<'a>>>),
    /// Object with named fields.
    Object(&'a Map, &'a Schema),
    /// Object whose values all have one schema.
    JsonMap(&'a Map, &'a Schema),
    /// List, with the schema of the list itself.
    JsonList(&'a [Value], &'a Schema),
    Optional(Option<Box<CelValue<'a>>>),
    Type(Arc<str>),
    Url(Arc<Url>),
    Ip(IpAddr),
    Cidr(Cidr),
    Quantity(Arc<Quantity>),
    Semver(Arc<Semver>),
    Format(&'static str),
}

/// Error of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EvalError {
    /// Error that `&&`, `||` and the list macros may absorb.
    Error(String),
    /// Cost limit exceeded.
    Limit,
}

impl EvalError {
    pub fn overload() -> Self {
        Self::Error("no such overload".into())
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::Error(text.into())
    }
}

pub(super) type EvalResult<'a> = Result<CelValue<'a>, EvalError>;

impl<'a> CelValue<'a> {
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(CelText::Made(text.into()))
    }

    pub fn list(items: Vec<CelValue<'a>>) -> Self {
        Self::List(Arc::new(items))
    }

    pub fn some(value: CelValue<'a>) -> Self {
        Self::Optional(Some(Box::new(value)))
    }

    /// Returns the name of the value's type, as `type(x)` shows it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::List(_) | Self::JsonList(..) => "list",
            Self::Map(_) | Self::JsonMap(..) | Self::Object(..) => "map",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
        }
    }

    /// Converts the value to a map key.
    pub fn key(&self) -> Option<CelKey> {
        Some(match self {
            Self::Bool(b) => CelKey::Bool(*b),
            Self::Int(n) => CelKey::Int(*n),
            Self::Uint(n) => i64::try_from(*n).map_or(CelKey::Uint(*n), CelKey::Int),
            Self::Double(f) if f.fract() == 0.0 && f.abs() < 9e18 => CelKey::Int(*f as i64),
            Self::Text(text) => CelKey::Text(Arc::from(&**text)),
            _ => return None,
        })
    }

    /// Returns the items of a list.
    pub fn items(&self) -> Option<Result<Vec<CelValue<'a>>, EvalError>> {
        match self {
            Self::List(items) => Some(Ok(items.to_vec())),
            Self::JsonList(items, schema) => {
                let schema = item_schema(schema);
                Some(items.iter().map(|item| typed_value(item, schema)).collect())
            }
            _ => None,
        }
    }

    /// Returns the keys and values of a map.
    pub fn entries(&self) -> Option<Result<Vec<(CelValue<'a>, CelValue<'a>)>, EvalError>> {
        match self {
            Self::Map(map) => Some(Ok(map.iter().map(|(key, value)| (key.to_val(), value.clone())).collect())),
            Self::JsonMap(map, schema) => {
                let entry = |(key, value): (&'a String, &'a Value)| {
                    Ok((CelValue::Text(CelText::Borrowed(key)), typed_value(value, schema)?))
                };
                Some(map.iter().map(entry).collect())
            }
            Self::Object(map, schema) => {
                let entry = |(key, value): (&'a String, &'a Value)| {
                    let child = field_schema(schema, key)?;
                    Some(typed_value(value, child).map(|value| (CelValue::Text(CelText::Borrowed(key)), value)))
                };
                Some(map.iter().filter_map(entry).collect())
            }
            _ => None,
        }
    }

    /// Returns the number of items, entries or characters; `None` for values without a size.
    pub fn size(&self) -> Option<usize> {
        Some(match self {
            Self::Text(text) => text.chars().count(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(items) => items.len(),
            Self::JsonList(items, _) => items.len(),
            Self::Map(map) => map.len(),
            Self::JsonMap(map, _) | Self::Object(map, _) => map.len(),
            _ => return None,
        })
    }

    /// Returns the field of an object, or the value at a string key; `Ok(None)` if there is none.
    pub fn field(&self, name: &str) -> Result<Option<CelValue<'a>>, EvalError> {
        match self {
            Self::Object(map, schema) => {
                let property = unescape(name);
                let Some((key, value)) = map.get_key_value(property.as_ref()) else { return Ok(None) };
                match field_schema(schema, key) {
                    Some(child) => typed_value(value, child).map(Some),
                    None => Ok(None),
                }
            }
            Self::JsonMap(map, schema) => map.get(name).map(|value| typed_value(value, schema)).transpose(),
            Self::Map(map) => Ok(map.get(&CelKey::Text(Arc::from(name))).cloned()),
            // Values without fields have no field of that name.
            _ => Ok(None),
        }
    }
}

impl CelKey {
    pub fn to_val<'a>(&self) -> CelValue<'a> {
        match self {
            Self::Bool(b) => CelValue::Bool(*b),
            Self::Int(n) => CelValue::Int(*n),
            Self::Uint(n) => CelValue::Uint(*n),
            Self::Text(text) => CelValue::Text(CelText::Made(Arc::clone(text))),
        }
    }
}

/// Returns the schema of the fields that rules see in every resource.
fn resource_schema() -> &'static Schema {
    static RESOURCE: OnceLock<Schema> = OnceLock::new();
    RESOURCE.get_or_init(|| {
        let text = serde_json::json!({"type": "string"});
        Schema::from_json(&serde_json::json!({"type": "object", "properties": {
            "apiVersion": text, "kind": text,
            "metadata": {"type": "object", "properties": {"name": text, "generateName": text}},
        }}))
    })
}

fn any_schema() -> &'static Schema {
    static ANYTHING: OnceLock<Schema> = OnceLock::new();
    ANYTHING.get_or_init(|| Schema { preserve_unknown: true, ..Schema::default() })
}

fn item_schema(list: &Schema) -> &Schema {
    list.items.as_deref().unwrap_or_else(|| any_schema())
}

/// Returns the schema of a field, if rules can see it.
pub(super) fn field_schema<'a>(schema: &'a Schema, name: &str) -> Option<&'a Schema> {
    let own = schema.properties.get(name).map(|child| &**child);
    if schema.embedded_resource {
        // Root objects are marked as embedded resources before they are read.
        let implied = resource_schema().properties.get(name).map(|child| &**child);
        return match (own, implied) {
            (Some(own), Some(implied)) if own.properties.is_empty() && !implied.properties.is_empty() => Some(implied),
            (own, implied) => own.or(implied),
        };
    }
    own
}

/// Converts a JSON value to the type of its schema.
pub(super) fn typed_value<'a>(value: &'a Value, schema: &'a Schema) -> EvalResult<'a> {
    let wrong = |want: &str| EvalError::text(format!("invalid data, expected {want}"));
    if value.is_null() {
        return match schema.nullable || schema.preserve_unknown {
            true => Ok(CelValue::Null),
            false => Err(EvalError::text("invalid data, got null for schema with nullable=false")),
        };
    }
    if schema.int_or_string {
        return match value {
            Value::String(text) => Ok(CelValue::Text(CelText::Borrowed(text))),
            Value::Number(n) => integer(n).map(CelValue::Int).ok_or_else(|| wrong("XIntOrString value")),
            _ => Err(wrong("XIntOrString value to be either a string or integer")),
        };
    }
    match (schema.kind, value) {
        (SchemaType::Object, Value::Object(map)) => Ok(match &schema.additional {
            Some(values) if schema.properties.is_empty() => CelValue::JsonMap(map, values),
            _ => CelValue::Object(map, schema),
        }),
        (SchemaType::Array, Value::Array(items)) => Ok(CelValue::JsonList(items, schema)),
        (SchemaType::String, Value::String(text)) => string(text, schema.format.as_deref().unwrap_or("")),
        (SchemaType::Number, Value::Number(n)) => Ok(CelValue::Double(n.as_f64().unwrap_or(0.0))),
        (SchemaType::Integer, Value::Number(n)) => integer(n).map(CelValue::Int).ok_or_else(|| wrong("int")),
        (SchemaType::Boolean, Value::Bool(b)) => Ok(CelValue::Bool(*b)),
        (SchemaType::Any, value) => untyped(value),
        _ => Err(wrong("a value of the declared type")),
    }
}

fn untyped(value: &Value) -> EvalResult<'_> {
    match value {
        Value::Bool(b) => Ok(CelValue::Bool(*b)),
        Value::String(text) => Ok(CelValue::Text(CelText::Borrowed(text))),
        Value::Number(n) => Ok(n.as_i64().map_or_else(|| CelValue::Double(n.as_f64().unwrap_or(0.0)), CelValue::Int)),
        Value::Array(items) => Ok(CelValue::JsonList(items, any_schema())),
        Value::Object(map) => Ok(CelValue::JsonMap(map, any_schema())),
        Value::Null => Ok(CelValue::Null),
    }
}

fn integer(n: &serde_json::Number) -> Option<i64> {
    n.as_i64().or_else(|| n.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 9e18).map(|f| f as i64))
}

fn string<'a>(text: &'a str, format: &str) -> EvalResult<'a> {
    let invalid = |what: &str| EvalError::text(format!("Invalid {what} {text}"));
    match format {
        "duration" => {
            let nanoseconds = formats::parse_duration(text).ok_or_else(|| invalid("duration"))?;
            Ok(CelValue::Duration(nanoseconds))
        }
        "date" => timestamp(&format!("{text}T00:00:00Z")).map(CelValue::Timestamp).ok_or_else(|| invalid("date")),
        "date-time" => timestamp(text).map(CelValue::Timestamp).ok_or_else(|| invalid("date-time")),
        "byte" => {
            let bytes = go_base64::decode(text).map_err(|_| invalid("byte formatted string"))?;
            Ok(CelValue::Bytes(bytes.into()))
        }
        _ => Ok(CelValue::Text(CelText::Borrowed(text))),
    }
}

/// Parses an RFC 3339 time to nanoseconds since 1970.
pub(super) fn timestamp(text: &str) -> Option<i128> {
    let at = go_time::parse(text).ok()?;
    Some(i128::from(at.seconds) * 1_000_000_000 + i128::from(at.nanoseconds))
}
