//! Go's view of a built-in kind: which struct a definition is, the Go type of each field, and what its encoder leaves out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::builtin::builtin;
use super::{Schema, Type};
use crate::Value;

/// A Go struct behind a definition.
#[derive(Debug)]
pub(super) struct GoStruct {
    /// The bare name, as decode errors show it: `DeploymentSpec`.
    pub name: &'static str,
    pub fields: BTreeMap<Box<str>, GoField>,
    /// Kept as JSON in storage, where an empty list stays one; protobuf storage makes it nil.
    pub keeps_empty_lists: bool,
}

/// A field of a Go struct.
#[derive(Debug)]
pub(super) struct GoField {
    pub pointer: bool,
    pub omit_empty: bool,
    pub omit_zero: bool,
    /// Names of the embedded structs on the way to the field, each followed by a dot; error paths show them.
    pub via: Box<str>,
    pub go: GoType,
}

/// A Go type, with the text `reflect.Type.String` gives it.
#[derive(Debug)]
pub(super) struct GoType {
    pub text: Box<str>,
    pub shape: Shape,
}

/// What a Go type accepts and how it encodes.
#[derive(Debug)]
pub(super) enum Shape {
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
    /// Kept as given: RawExtension, FieldsV1.
    Raw,
    /// apiextensions' JSON: kept as given.
    Json,
    /// A schema or a boolean.
    SchemaOrBool,
    /// A schema or a list of schemas.
    SchemaOrArray,
    /// A schema or a list of strings.
    SchemaOrStrings,
}

impl GoStruct {
    /// From the definition and its line of `gotypes.json`.
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

    /// The struct of the definition of that name.
    pub fn of(definition: &str) -> Option<&'static GoStruct> {
        builtin().go_struct(definition)
    }
}

impl GoField {
    /// Reads `flags type [underlying]`.
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

fn shape(underlying: &str, node: &Arc<Schema>) -> Shape {
    if let Some(definition) = node.reference.as_deref() {
        return special(definition).unwrap_or_else(|| Shape::Struct(definition.into()));
    }
    match node.kind {
        Type::Array => {
            let element = underlying.strip_prefix("[]").unwrap_or("string");
            Shape::Slice(GoType::element(element, node.items.as_ref()))
        }
        Type::Object => {
            let element = underlying.split_once(']').map_or("string", |(_, element)| element);
            Shape::Map(GoType::element(element, node.additional.as_ref()))
        }
        Type::String if node.format.as_deref() == Some("byte") => Shape::Bytes,
        Type::Integer if node.format.as_deref() == Some("int64") => Shape::Int64,
        Type::Integer => Shape::Int32,
        Type::Number => Shape::Float,
        Type::Boolean => Shape::Bool,
        Type::String => Shape::String,
        Type::Any => Shape::Raw,
    }
}

/// Types that read and write themselves.
fn special(definition: &str) -> Option<Shape> {
    Some(match definition.rsplit_once('.')? {
        ("io.k8s.apimachinery.pkg.apis.meta.v1", "Time") => Shape::Time,
        ("io.k8s.apimachinery.pkg.apis.meta.v1", "MicroTime") => Shape::MicroTime,
        ("io.k8s.apimachinery.pkg.apis.meta.v1", "FieldsV1" | "Patch") => Shape::Raw,
        ("io.k8s.apimachinery.pkg.runtime", "RawExtension") => Shape::Raw,
        ("io.k8s.apimachinery.pkg.api.resource", "Quantity") => Shape::Quantity,
        ("io.k8s.apimachinery.pkg.util.intstr", "IntOrString") => Shape::IntOrString,
        ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1", kind) => match kind {
            "JSON" => Shape::Json,
            "JSONSchemaPropsOrBool" => Shape::SchemaOrBool,
            "JSONSchemaPropsOrArray" => Shape::SchemaOrArray,
            "JSONSchemaPropsOrStringArray" => Shape::SchemaOrStrings,
            _ => return None,
        },
        _ => return None,
    })
}
