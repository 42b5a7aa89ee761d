//! CEL values. What comes from the object is borrowed from its JSON and read by the schema when it is looked at.

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
use crate::schema::{Schema, Type, formats, gobase64, gotime};
use crate::{Map, Value};

/// Text of the object or the rule, or made on the way.
#[derive(Clone)]
pub(super) enum Text<'a> {
    Borrowed(&'a str),
    Made(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// A map's key. Integers of both kinds are the same key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Text(Arc<str>),
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Text<'a>),
    Bytes(Arc<[u8]>),
    /// Nanoseconds.
    Duration(i64),
    /// Nanoseconds since 1970, UTC.
    Timestamp(i128),
    List(Arc<Vec<Val<'a>>>),
    Map(Arc<BTreeMap<Key, Val<'a>>>),
    /// An object with named fields.
    Object(&'a Map, &'a Schema),
    /// An object whose values all have one schema.
    JsonMap(&'a Map, &'a Schema),
    /// A list; the schema is the list's own.
    JsonList(&'a [Value], &'a Schema),
    Optional(Option<Box<Val<'a>>>),
    Type(Arc<str>),
    Url(Arc<Url>),
    Ip(IpAddr),
    Cidr(Cidr),
    Quantity(Arc<Quantity>),
    Semver(Arc<Semver>),
    Format(&'static str),
}

/// Why an evaluation has no value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fail {
    /// An error that `&&`, `||` and the macros over lists may absorb.
    Error(String),
    /// The evaluation costs more than it may.
    Limit,
}

impl Fail {
    pub fn overload() -> Self {
        Self::Error("no such overload".into())
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::Error(text.into())
    }
}

pub(super) type Outcome<'a> = Result<Val<'a>, Fail>;

impl<'a> Val<'a> {
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(Text::Made(text.into()))
    }

    pub fn list(items: Vec<Val<'a>>) -> Self {
        Self::List(Arc::new(items))
    }

    pub fn some(value: Val<'a>) -> Self {
        Self::Optional(Some(Box::new(value)))
    }

    /// The name of the value's type, as `type(x)` shows it.
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

    /// As a key of a map.
    pub fn key(&self) -> Option<Key> {
        Some(match self {
            Self::Bool(b) => Key::Bool(*b),
            Self::Int(n) => Key::Int(*n),
            Self::Uint(n) => i64::try_from(*n).map_or(Key::Uint(*n), Key::Int),
            Self::Double(f) if f.fract() == 0.0 && f.abs() < 9e18 => Key::Int(*f as i64),
            Self::Text(text) => Key::Text(Arc::from(&**text)),
            _ => return None,
        })
    }

    /// The items of a list.
    pub fn items(&self) -> Option<Result<Vec<Val<'a>>, Fail>> {
        match self {
            Self::List(items) => Some(Ok(items.to_vec())),
            Self::JsonList(items, schema) => {
                let schema = item_schema(schema);
                Some(items.iter().map(|item| typed(item, schema)).collect())
            }
            _ => None,
        }
    }

    /// The keys and values of a map.
    pub fn entries(&self) -> Option<Result<Vec<(Val<'a>, Val<'a>)>, Fail>> {
        match self {
            Self::Map(map) => Some(Ok(map.iter().map(|(key, value)| (key.to_val(), value.clone())).collect())),
            Self::JsonMap(map, schema) => {
                let entry =
                    |(key, value): (&'a String, &'a Value)| Ok((Val::Text(Text::Borrowed(key)), typed(value, schema)?));
                Some(map.iter().map(entry).collect())
            }
            Self::Object(map, schema) => {
                let entry = |(key, value): (&'a String, &'a Value)| {
                    let child = field_schema(schema, key)?;
                    Some(typed(value, child).map(|value| (Val::Text(Text::Borrowed(key)), value)))
                };
                Some(map.iter().filter_map(entry).collect())
            }
            _ => None,
        }
    }

    /// How many items, entries or characters; `None` for what has no size.
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

    /// The field of an object or the value at a text key; `Ok(None)` when there is none.
    pub fn field(&self, name: &str) -> Result<Option<Val<'a>>, Fail> {
        match self {
            Self::Object(map, schema) => {
                let property = unescape(name);
                let Some((key, value)) = map.get_key_value(property.as_ref()) else { return Ok(None) };
                match field_schema(schema, key) {
                    Some(child) => typed(value, child).map(Some),
                    None => Ok(None),
                }
            }
            Self::JsonMap(map, schema) => map.get(name).map(|value| typed(value, schema)).transpose(),
            Self::Map(map) => Ok(map.get(&Key::Text(Arc::from(name))).cloned()),
            // What has no fields has none of that name.
            _ => Ok(None),
        }
    }
}

impl Key {
    pub fn to_val<'a>(&self) -> Val<'a> {
        match self {
            Self::Bool(b) => Val::Bool(*b),
            Self::Int(n) => Val::Int(*n),
            Self::Uint(n) => Val::Uint(*n),
            Self::Text(text) => Val::Text(Text::Made(Arc::clone(text))),
        }
    }
}

/// What every resource shows of its own fields.
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

fn anything() -> &'static Schema {
    static ANYTHING: OnceLock<Schema> = OnceLock::new();
    ANYTHING.get_or_init(|| Schema { preserve_unknown: true, ..Schema::default() })
}

fn item_schema(list: &Schema) -> &Schema {
    list.items.as_deref().unwrap_or_else(|| anything())
}

/// The schema of a field, if rules can see it.
pub(super) fn field_schema<'a>(schema: &'a Schema, name: &str) -> Option<&'a Schema> {
    let own = schema.properties.get(name).map(|child| &**child);
    if schema.embedded_resource {
        // Root objects are marked as resources before they are read.
        let implied = resource_schema().properties.get(name).map(|child| &**child);
        return match (own, implied) {
            (Some(own), Some(implied)) if own.properties.is_empty() && !implied.properties.is_empty() => Some(implied),
            (own, implied) => own.or(implied),
        };
    }
    own
}

/// A JSON value as its schema types it.
pub(super) fn typed<'a>(value: &'a Value, schema: &'a Schema) -> Outcome<'a> {
    let wrong = |want: &str| Fail::text(format!("invalid data, expected {want}"));
    if value.is_null() {
        return match schema.nullable || schema.preserve_unknown {
            true => Ok(Val::Null),
            false => Err(Fail::text("invalid data, got null for schema with nullable=false")),
        };
    }
    if schema.int_or_string {
        return match value {
            Value::String(text) => Ok(Val::Text(Text::Borrowed(text))),
            Value::Number(n) => integer(n).map(Val::Int).ok_or_else(|| wrong("XIntOrString value")),
            _ => Err(wrong("XIntOrString value to be either a string or integer")),
        };
    }
    match (schema.kind, value) {
        (Type::Object, Value::Object(map)) => Ok(match &schema.additional {
            Some(values) if schema.properties.is_empty() => Val::JsonMap(map, values),
            _ => Val::Object(map, schema),
        }),
        (Type::Array, Value::Array(items)) => Ok(Val::JsonList(items, schema)),
        (Type::String, Value::String(text)) => string(text, schema.format.as_deref().unwrap_or("")),
        (Type::Number, Value::Number(n)) => Ok(Val::Double(n.as_f64().unwrap_or(0.0))),
        (Type::Integer, Value::Number(n)) => integer(n).map(Val::Int).ok_or_else(|| wrong("int")),
        (Type::Boolean, Value::Bool(b)) => Ok(Val::Bool(*b)),
        (Type::Any, value) => untyped(value),
        _ => Err(wrong("a value of the declared type")),
    }
}

fn untyped(value: &Value) -> Outcome<'_> {
    match value {
        Value::Bool(b) => Ok(Val::Bool(*b)),
        Value::String(text) => Ok(Val::Text(Text::Borrowed(text))),
        Value::Number(n) => Ok(n.as_i64().map_or_else(|| Val::Double(n.as_f64().unwrap_or(0.0)), Val::Int)),
        Value::Array(items) => Ok(Val::JsonList(items, anything())),
        Value::Object(map) => Ok(Val::JsonMap(map, anything())),
        Value::Null => Ok(Val::Null),
    }
}

fn integer(n: &serde_json::Number) -> Option<i64> {
    n.as_i64().or_else(|| n.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 9e18).map(|f| f as i64))
}

fn string<'a>(text: &'a str, format: &str) -> Outcome<'a> {
    let invalid = |what: &str| Fail::text(format!("Invalid {what} {text}"));
    match format {
        "duration" => {
            let nanoseconds = formats::parse_duration(text).ok_or_else(|| invalid("duration"))?;
            Ok(Val::Duration(nanoseconds))
        }
        "date" => timestamp(&format!("{text}T00:00:00Z")).map(Val::Timestamp).ok_or_else(|| invalid("date")),
        "date-time" => timestamp(text).map(Val::Timestamp).ok_or_else(|| invalid("date-time")),
        "byte" => {
            let bytes = gobase64::decode(text).map_err(|_| invalid("byte formatted string"))?;
            Ok(Val::Bytes(bytes.into()))
        }
        _ => Ok(Val::Text(Text::Borrowed(text))),
    }
}

/// Nanoseconds since 1970 of an RFC 3339 time.
pub(super) fn timestamp(text: &str) -> Option<i128> {
    let at = gotime::parse(text).ok()?;
    Some(i128::from(at.seconds) * 1_000_000_000 + i128::from(at.nanoseconds))
}
