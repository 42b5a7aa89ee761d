//! Go types of built-in kinds: the struct of each definition, the Go type of each field, and the fields that its
//! encoder omits.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::builtin::builtin;
use super::{Schema, SchemaType};
use crate::Value;

/// Go struct of a definition.
#[derive(Debug)]
pub(super) struct GoStruct {
    /// Name without the package, as in decode errors: `DeploymentSpec`.
    pub name: &'static str,
    pub fields: BTreeMap<Box<str>, GoField>,
    /// Whether empty lists stay empty in storage, as in JSON. Protobuf storage turns them into nil.
    pub keeps_empty_lists: bool,
}

/// Field of a Go struct.
#[derive(Debug)]
pub(super) struct GoField {
    pub pointer: bool,
    pub omit_empty: bool,
    pub omit_zero: bool,
    /// Names of the embedded structs that lead to the field, each followed by a dot; part of error paths.
    pub via: Box<str>,
    pub go: GoType,
}

/// Go type, with its `reflect.Type.String` text.
#[derive(Debug)]
pub(super) struct GoType {
    pub text: Box<str>,
    pub shape: GoShape,
}

/// Values that a Go type accepts, and their encoding.
#[derive(Debug)]
pub(super) enum GoShape {
    Struct(Box<str>),
    Slice(Box<GoType>),
    Map(Box<GoType>),
    String,
    Bool,
    Int32,
    Int64,
    Float,
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// Kept unchanged: RawExtension, FieldsV1.
    Raw,
    /// JSON of apiextensions: kept unchanged.
    Json,
    /// Schema or boolean.
    SchemaOrBool,
    /// Schema or list of schemas.
    SchemaOrArray,
    /// Schema or list of strings.
    SchemaOrStrings,
}

impl GoStruct {
    /// Parses the definition's line of `gotypes.json`.
    pub fn new(definition: &'static str, schema: &Schema, go: &Value) -> Self {
        let fields = schema.properties.iter().filter_map(|(name, node)| {
            let line = go.get(name.as_ref())?.as_str()?;
            Some((name.clone(), GoField::new(line, node)))
        });
        Self {
            name: definition.rsplit('.').next().unwrap_or(definition),
            fields: fields.collect(),
            keeps_empty_lists: !definition.starts_with("io.k8s.api."),
        }
    }

    /// Returns the struct of the definition of that name.
    pub fn of(definition: &str) -> Option<&'static GoStruct> {
        builtin().go_struct(definition)
    }
}

impl GoField {
    /// Parses `flags type [underlying]`.
    fn new(line: &str, node: &Arc<Schema>) -> Self {
        let mut parts = line.split(' ');
        let flags = parts.next().unwrap_or("");
        let text = parts.next().unwrap_or("");
        let underlying = parts.next().unwrap_or(text);
        let (flags, via) = flags.split_once('i').unwrap_or((flags, ""));
        Self {
            pointer: flags.contains('p'),
            omit_empty: flags.contains('o'),
            omit_zero: flags.contains('z'),
            via: if via.is_empty() { "".into() } else { format!("{via}.").into() },
            go: GoType { text: text.into(), shape: shape(underlying, node) },
        }
    }
}

impl GoType {
    fn element(underlying: &str, node: Option<&Arc<Schema>>) -> Box<GoType> {
        let fallback = Arc::default();
        let node = node.unwrap_or(&fallback);
        Box::new(GoType { text: underlying.into(), shape: shape(underlying, node) })
    }
}

fn shape(underlying: &str, node: &Arc<Schema>) -> GoShape {
    if let Some(definition) = node.reference.as_deref() {
        return self_encoding_type(definition).unwrap_or_else(|| GoShape::Struct(definition.into()));
    }
    match node.kind {
        SchemaType::Array => {
            let element = underlying.strip_prefix("[]").unwrap_or("string");
            GoShape::Slice(GoType::element(element, node.items.as_ref()))
        }
        SchemaType::Object => {
            let element = underlying.split_once(']').map_or("string", |(_, element)| element);
            GoShape::Map(GoType::element(element, node.additional.as_ref()))
        }
        SchemaType::String if node.format.as_deref() == Some("byte") => GoShape::Bytes,
        SchemaType::Integer if node.format.as_deref() == Some("int64") => GoShape::Int64,
        SchemaType::Integer => GoShape::Int32,
        SchemaType::Number => GoShape::Float,
        SchemaType::Boolean => GoShape::Bool,
        SchemaType::String => GoShape::String,
        SchemaType::Any => GoShape::Raw,
    }
}

/// Returns the form of a type that has its own encoder and decoder.
fn self_encoding_type(definition: &str) -> Option<GoShape> {
    Some(match definition.rsplit_once('.')? {
        ("io.k8s.apimachinery.pkg.apis.meta.v1", "Time") => GoShape::Time,
        ("io.k8s.apimachinery.pkg.apis.meta.v1", "MicroTime") => GoShape::MicroTime,
        ("io.k8s.apimachinery.pkg.apis.meta.v1", "FieldsV1" | "Patch") => GoShape::Raw,
        ("io.k8s.apimachinery.pkg.runtime", "RawExtension") => GoShape::Raw,
        ("io.k8s.apimachinery.pkg.api.resource", "Quantity") => GoShape::Quantity,
        ("io.k8s.apimachinery.pkg.util.intstr", "IntOrString") => GoShape::IntOrString,
        ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1", kind) => match kind {
            "JSON" => GoShape::Json,
            "JSONSchemaPropsOrBool" => GoShape::SchemaOrBool,
            "JSONSchemaPropsOrArray" => GoShape::SchemaOrArray,
            "JSONSchemaPropsOrStringArray" => GoShape::SchemaOrStrings,
            _ => return None,
        },
        _ => return None,
    })
}
