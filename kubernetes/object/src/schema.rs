//! Schemas: one node type for built-in kinds (OpenAPI v3 with references) and for custom resources (structural
//! schemas).
//!
//! Server-side apply, strategic merge patch, validation, pruning and defaulting all walk this tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Value;

mod builtin;
mod check_result;
pub(crate) mod correlate;
mod crd;
mod crd_defaults;
pub(crate) mod crd_internal;
mod crd_spec;
pub(crate) mod crd_versions;
mod custom_schema;
mod decode;
mod defaulting;
mod descriptions;
mod embedded;
pub(crate) mod field_path;
pub(crate) mod formats;
pub(crate) mod go_base64;
pub(crate) mod go_time;
mod go_type;
mod lists;
mod numbers;
mod openapi;
pub(crate) mod pattern;
mod prune;
mod structural;
#[cfg(test)]
mod tests;
mod validate;
mod value_validation;

pub use builtin::{BuiltinSchemas, builtin};
pub use crd::{crd_warnings, default_crd, validate_crd, validate_crd_update};
pub use custom_schema::{CustomSchema, MetadataValidator};
pub use decode::{DecodeError, decode, decode_definition, interpret};
pub use defaulting::{default, drop_nulls};
pub use descriptions::Descriptions;
pub use embedded::{read_custom, validate_embedded};
pub use lists::validate_lists;
pub use prune::prune;
pub use structural::{structural, violations};
pub use validate::{validate, validate_at};
pub use value_validation::{ValidationRule, ValueValidation};

/// JSON type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SchemaType {
    /// No `type`.
    #[default]
    Any,
    /// `object`.
    Object,
    /// `array`.
    Array,
    /// `string`.
    String,
    /// `integer`.
    Integer,
    /// `number`.
    Number,
    /// `boolean`.
    Boolean,
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ListType {
    /// Replaced as a whole.
    #[default]
    Atomic,
    /// Scalars without duplicates.
    Set,
    /// Objects identified by `map_keys`.
    Map,
}

/// Node of a schema.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Name of the referenced definition. In that case the node has only `default` and extensions of its own.
    pub reference: Option<Arc<str>>,
    /// JSON type.
    pub kind: SchemaType,
    /// `format`, such as `int32` or `date-time`.
    pub format: Option<Box<str>>,
    /// Named fields of an object.
    pub properties: BTreeMap<Box<str>, Arc<Schema>>,
    /// Schema of all other fields, if they are allowed.
    pub additional: Option<Arc<Schema>>,
    /// Schema of a list's items.
    pub items: Option<Arc<Schema>>,
    /// Required fields.
    pub required: Vec<Box<str>>,
    /// Default of an absent field.
    pub default: Option<Value>,
    /// Whether `null` is allowed.
    pub nullable: bool,
    /// `x-kubernetes-list-type`; `None` if not set (atomic for lists without a patch strategy).
    pub list_type: Option<ListType>,
    /// `x-kubernetes-list-map-keys`.
    pub map_keys: Vec<Box<str>>,
    /// Whether `x-kubernetes-map-type` is `atomic`.
    pub map_atomic: bool,
    /// Whether `x-kubernetes-map-type` is `granular`, which overrides an atomic type of the referenced definition.
    pub map_granular: bool,
    /// `x-kubernetes-patch-merge-key`.
    pub patch_merge_key: Option<Box<str>>,
    /// `x-kubernetes-patch-strategy`, split at commas: `merge`, `replace`, `retainKeys`.
    pub patch_strategy: Vec<Box<str>>,
    /// Whether `x-kubernetes-int-or-string` is set.
    pub int_or_string: bool,
    /// Whether `x-kubernetes-preserve-unknown-fields` is set.
    pub preserve_unknown: bool,
    /// Whether `x-kubernetes-embedded-resource` is set.
    pub embedded_resource: bool,
    /// Keywords that only validation reads (`enum`, `pattern`, bounds, `allOf`, `x-kubernetes-validations`, ...).
    pub checks: Option<Box<ValueValidation>>,
}

/// Definitions by name, for resolving references. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    source: DefinitionSource,
}

#[derive(Clone, Debug)]
enum DefinitionSource {
    Named(Arc<BTreeMap<Arc<str>, Arc<Schema>>>),
    BuiltIn,
}

impl Default for DefinitionSource {
    fn default() -> Self {
        Self::Named(Arc::default())
    }
}

impl Definitions {
    /// Parses definitions from a JSON object of OpenAPI v3 schemas by name.
    pub fn from_json(schemas: &Value) -> Self {
        let Some(map) = schemas.as_object() else { return Self::default() };
        let by_name = map.iter().map(|(name, s)| (Arc::from(name.as_str()), Arc::new(Schema::from_json(s)))).collect();
        Self { source: DefinitionSource::Named(Arc::new(by_name)) }
    }

    /// Returns the definitions of the built-in kinds, each parsed on first use.
    pub fn built_in() -> Self {
        Self { source: DefinitionSource::BuiltIn }
    }

    /// Returns the definition of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<Schema>> {
        match &self.source {
            DefinitionSource::Named(by_name) => by_name.get(name),
            DefinitionSource::BuiltIn => builtin().get(name),
        }
    }

    /// Resolves a node: returns `schema` itself, or the definition it references. An unknown reference allows anything.
    pub fn resolve<'a>(&'a self, schema: &'a Schema) -> &'a Schema {
        let mut node = schema;
        // Longer chains of references are treated as cycles.
        const MAX_REFERENCE_HOPS: usize = 16;
        for _ in 0..MAX_REFERENCE_HOPS {
            match node.reference.as_ref().and_then(|name| self.get(name)) {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }
}

impl Schema {
    /// Parses an OpenAPI v3 node, as published by the API server or declared in a CRD. Unknown keywords are kept in
    /// `checks` or ignored; [`structural()`] decides whether a CRD's schema is acceptable.
    pub fn from_json(json: &Value) -> Self {
        let mut schema = Schema::default();
        let Some(map) = json.as_object() else { return schema };
        let mut checks = serde_json::Map::new();
        for (key, value) in map {
            match key.as_str() {
                "$ref" => schema.reference = reference(value),
                // kube-apiserver wraps a reference that has a default: {"allOf": [{"$ref": ..}], "default": {}}.
                "allOf" if reference_of_all(value).is_some() => schema.reference = reference_of_all(value),
                "type" => schema.kind = type_of(value),
                "format" => schema.format = value.as_str().map(Into::into),
                "properties" => schema.properties = properties(value),
                "additionalProperties" => schema.additional = additional(value),
                "items" => schema.items = Some(Arc::new(Schema::from_json(value))),
                "required" => schema.required = strings(value),
                "default" => schema.default = Some(value.clone()),
                "nullable" => schema.nullable = value == true,
                "x-kubernetes-list-type" => schema.list_type = list_type(value),
                "x-kubernetes-list-map-keys" => schema.map_keys = strings(value),
                "x-kubernetes-map-type" => {
                    schema.map_atomic = value == "atomic";
                    schema.map_granular = value == "granular";
                }
                "x-kubernetes-patch-merge-key" => schema.patch_merge_key = value.as_str().map(Into::into),
                "x-kubernetes-patch-strategy" => {
                    schema.patch_strategy = value.as_str().unwrap_or("").split(',').map(Into::into).collect();
                }
                "x-kubernetes-int-or-string" => schema.int_or_string = value == true,
                "x-kubernetes-preserve-unknown-fields" => schema.preserve_unknown = value == true,
                "x-kubernetes-embedded-resource" => schema.embedded_resource = value == true,
                "description" | "title" | "example" | "externalDocs" | "x-kubernetes-group-version-kind" => {}
                _ => {
                    checks.insert(key.clone(), value.clone());
                }
            }
        }
        schema.checks = ValueValidation::from_json(&checks);
        schema
    }

    /// Whether the node does not restrict the value, like `additionalProperties: true`.
    pub(crate) fn is_unconstrained(&self) -> bool {
        self.kind == SchemaType::Any && !self.int_or_string && !self.preserve_unknown && self.reference.is_none()
    }
}

fn reference(value: &Value) -> Option<Arc<str>> {
    let text = value.as_str()?;
    Some(Arc::from(text.rsplit('/').next().unwrap_or(text)))
}

fn reference_of_all(value: &Value) -> Option<Arc<str>> {
    match value.as_array()?.as_slice() {
        [one] => reference(one.get("$ref")?),
        _ => None,
    }
}

fn type_of(value: &Value) -> SchemaType {
    match value.as_str() {
        Some("object") => SchemaType::Object,
        Some("array") => SchemaType::Array,
        Some("string") => SchemaType::String,
        Some("integer") => SchemaType::Integer,
        Some("number") => SchemaType::Number,
        Some("boolean") => SchemaType::Boolean,
        _ => SchemaType::Any,
    }
}

fn list_type(value: &Value) -> Option<ListType> {
    match value.as_str() {
        Some("set") => Some(ListType::Set),
        Some("map") => Some(ListType::Map),
        Some("atomic") => Some(ListType::Atomic),
        _ => None,
    }
}

fn properties(value: &Value) -> BTreeMap<Box<str>, Arc<Schema>> {
    let fields = value.as_object().into_iter().flatten();
    fields.map(|(name, s)| (name.as_str().into(), Arc::new(Schema::from_json(s)))).collect()
}

fn additional(value: &Value) -> Option<Arc<Schema>> {
    match value {
        Value::Bool(false) | Value::Null => None,
        other => Some(Arc::new(Schema::from_json(other))),
    }
}

fn strings(value: &Value) -> Vec<Box<str>> {
    value.as_array().into_iter().flatten().filter_map(|v| v.as_str()).map(Into::into).collect()
}
