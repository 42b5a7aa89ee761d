//! Types of expressions, and which type a schema gives a value.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::names::escape;
use crate::schema::{Schema, Type};

/// A type.
#[derive(Clone, Debug)]
pub(super) enum Ty {
    /// Checked at run time.
    Dyn,
    /// The type of what is wrong; nothing more is said about it.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Duration,
    Timestamp,
    List(Arc<Ty>),
    Map(Arc<Ty>, Arc<Ty>),
    /// An object, and the name errors give its type.
    Object(Arc<Schema>, Arc<str>),
    Optional(Arc<Ty>),
    Type(Arc<Ty>),
    Named(&'static str),
    /// A type that is not known yet.
    Var(usize),
}

/// Types that have only a name.
pub(super) const NAMED: [&str; 6] =
    ["kubernetes.URL", "net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.NamedFormat"];

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Var(_) => f.write_str("dyn"),
            Self::Error => f.write_str("!error!"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::Text => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Duration => f.write_str("duration"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::List(item) => write!(f, "list({item})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Object(_, name) => f.write_str(name),
            Self::Optional(inner) => write!(f, "optional_type({inner})"),
            Self::Type(inner) => write!(f, "type({inner})"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl Ty {
    /// Reads `list<string>`, `map<A,B>`; letters stand for the given variables.
    pub fn parse(text: &str, variables: usize) -> Ty {
        let inner = |prefix: &str| text.strip_prefix(prefix).and_then(|t| t.strip_suffix('>'));
        if let Some(item) = inner("list<") {
            return Ty::List(Arc::new(Ty::parse(item, variables)));
        }
        if let Some(item) = inner("optional<") {
            return Ty::Optional(Arc::new(Ty::parse(item, variables)));
        }
        if let Some((key, value)) = inner("map<").and_then(|inner| inner.split_once(',')) {
            return Ty::Map(Arc::new(Ty::parse(key, variables)), Arc::new(Ty::parse(value, variables)));
        }
        match text {
            "A" => Ty::Var(variables),
            "B" => Ty::Var(variables + 1),
            "null" => Ty::Null,
            "bool" => Ty::Bool,
            "int" => Ty::Int,
            "uint" => Ty::Uint,
            "double" => Ty::Double,
            "string" => Ty::Text,
            "bytes" => Ty::Bytes,
            "duration" => Ty::Duration,
            "timestamp" => Ty::Timestamp,
            "type" => Ty::Type(Arc::new(Ty::Dyn)),
            other => NAMED.into_iter().find(|name| *name == other).map_or(Ty::Dyn, Ty::Named),
        }
    }
}

/// The type of values of a schema; `None` when rules do not see them. `name` is what errors call it.
pub(super) fn declared(schema: &Arc<Schema>, name: &str) -> Option<Ty> {
    if schema.int_or_string {
        return Some(Ty::Dyn);
    }
    match schema.kind {
        Type::Array => Some(Ty::List(Arc::new(declared(schema.items.as_ref()?, &format!("{name}.@idx"))?))),
        Type::Object => match &schema.additional {
            Some(values) if !values.says_nothing() => {
                let value = declared(values, &format!("{name}.@elem"))?;
                Some(Ty::Map(Arc::new(Ty::Text), Arc::new(value)))
            }
            _ => Some(Ty::Object(Arc::clone(schema), Arc::from(name))),
        },
        Type::String => Some(match schema.format.as_deref() {
            Some("byte") => Ty::Bytes,
            Some("duration") => Ty::Duration,
            Some("date" | "date-time") => Ty::Timestamp,
            _ => Ty::Text,
        }),
        Type::Boolean => Some(Ty::Bool),
        Type::Number => Some(Ty::Double),
        Type::Integer => Some(Ty::Int),
        Type::Any => None,
    }
}

/// The type of an object's field by the name rules use; the object's type is called `own`.
pub(super) fn field(schema: &Arc<Schema>, own: &str, name: &str) -> Option<Ty> {
    // `namespace` is reserved, yet upstream lets rules write it plainly.
    let named = |property: &str| property == name || escape(property).is_some_and(|escaped| escaped == name);
    let found = schema.properties.iter().find(|(property, _)| named(property)).map(|(_, schema)| schema);
    let below = format!("{own}.{name}");
    if schema.embedded_resource {
        match (name, found) {
            ("apiVersion" | "kind", _) => return Some(Ty::Text),
            ("metadata", found) if found.is_none_or(|found| found.properties.is_empty()) => {
                return Some(Ty::Object(Arc::clone(metadata()), Arc::from(below)));
            }
            _ => {}
        }
    }
    declared(found?, &below)
}

fn metadata() -> &'static Arc<Schema> {
    static METADATA: OnceLock<Arc<Schema>> = OnceLock::new();
    METADATA.get_or_init(|| {
        let text = serde_json::json!({"type": "string"});
        let json = serde_json::json!({"type": "object", "properties": {"name": text, "generateName": text}});
        Arc::new(Schema::from_json(&json))
    })
}
