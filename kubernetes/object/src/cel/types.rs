//! Types of expressions, and the types that schemas declare.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::names::escape_name;
use crate::schema::{Schema, SchemaType};

/// Type of an expression.
#[derive(Clone, Debug)]
pub(super) enum CelType {
    /// Checked at run time.
    Dyn,
    /// Type of an erroneous expression; no further issues are reported for it.
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
    List(Arc<CelType>),
    Map(Arc<CelType>, Arc<CelType>),
    /// Object, and the name of its type in errors.
    Object(Arc<Schema>, Arc<str>),
    Optional(Arc<CelType>),
    Type(Arc<CelType>),
    Named(&'static str),
    /// Type variable.
    Var(usize),
}

/// Types without parameters.
pub(super) const NAMED: [&str; 6] =
    ["kubernetes.URL", "net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.NamedFormat"];

impl fmt::Display for CelType {
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

impl CelType {
    /// Parses a type such as `list<string>` or `map<A,B>`. Letters stand for the given variables.
    pub fn parse(text: &str, variables: usize) -> CelType {
        let inner = |prefix: &str| text.strip_prefix(prefix).and_then(|t| t.strip_suffix('>'));
        if let Some(item) = inner("list<") {
            return CelType::List(Arc::new(CelType::parse(item, variables)));
        }
        if let Some(item) = inner("optional<") {
            return CelType::Optional(Arc::new(CelType::parse(item, variables)));
        }
        if let Some((key, value)) = inner("map<").and_then(|inner| inner.split_once(',')) {
            return CelType::Map(Arc::new(CelType::parse(key, variables)), Arc::new(CelType::parse(value, variables)));
        }
        match text {
            "A" => CelType::Var(variables),
            "B" => CelType::Var(variables + 1),
            "null" => CelType::Null,
            "bool" => CelType::Bool,
            "int" => CelType::Int,
            "uint" => CelType::Uint,
            "double" => CelType::Double,
            "string" => CelType::Text,
            "bytes" => CelType::Bytes,
            "duration" => CelType::Duration,
            "timestamp" => CelType::Timestamp,
            "type" => CelType::Type(Arc::new(CelType::Dyn)),
            other => NAMED.into_iter().find(|name| *name == other).map_or(CelType::Dyn, CelType::Named),
        }
    }
}

/// Returns the type that a schema declares; `None` if rules cannot see such values. `name` is the type's name in
/// errors.
pub(super) fn declared_type(schema: &Arc<Schema>, name: &str) -> Option<CelType> {
    if schema.int_or_string {
        return Some(CelType::Dyn);
    }
    match schema.kind {
        SchemaType::Array => {
            Some(CelType::List(Arc::new(declared_type(schema.items.as_ref()?, &format!("{name}.@idx"))?)))
        }
        SchemaType::Object => match &schema.additional {
            Some(values) if !values.is_unconstrained() => {
                let value = declared_type(values, &format!("{name}.@elem"))?;
                Some(CelType::Map(Arc::new(CelType::Text), Arc::new(value)))
            }
            _ => Some(CelType::Object(Arc::clone(schema), Arc::from(name))),
        },
        SchemaType::String => Some(match schema.format.as_deref() {
            Some("byte") => CelType::Bytes,
            Some("duration") => CelType::Duration,
            Some("date" | "date-time") => CelType::Timestamp,
            _ => CelType::Text,
        }),
        SchemaType::Boolean => Some(CelType::Bool),
        SchemaType::Number => Some(CelType::Double),
        SchemaType::Integer => Some(CelType::Int),
        SchemaType::Any => None,
    }
}

/// Returns the type of an object's field by its name in rules. `own` is the name of the object's type.
pub(super) fn field(schema: &Arc<Schema>, own: &str, name: &str) -> Option<CelType> {
    // `namespace` is a reserved word, but kube-apiserver accepts it unescaped.
    let named = |property: &str| property == name || escape_name(property).is_some_and(|escaped| escaped == name);
    let found = schema.properties.iter().find(|(property, _)| named(property)).map(|(_, schema)| schema);
    let below = format!("{own}.{name}");
    if schema.embedded_resource {
        match (name, found) {
            ("apiVersion" | "kind", _) => return Some(CelType::Text),
            ("metadata", found) if found.is_none_or(|found| found.properties.is_empty()) => {
                return Some(CelType::Object(Arc::clone(metadata()), Arc::from(below)));
            }
            _ => {}
        }
    }
    declared_type(found?, &below)
}

fn metadata() -> &'static Arc<Schema> {
    static METADATA: OnceLock<Arc<Schema>> = OnceLock::new();
    METADATA.get_or_init(|| {
        let text = serde_json::json!({"type": "string"});
        let json = serde_json::json!({"type": "object", "properties": {"name": text, "generateName": text}});
        Arc::new(Schema::from_json(&json))
    })
}
