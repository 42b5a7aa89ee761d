//! Schemas: one node type for built-in kinds (OpenAPI v3 with references) and for custom resources (structural schemas).
//!
//! Server-side apply, strategic merge patch, validation, pruning and defaulting all walk this tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Value;

mod builtin;
mod checks;
pub(crate) mod correlate;
mod crd;
mod crd_defaults;
pub(crate) mod crd_parts;
pub(crate) mod crd_shown;
mod crd_whole;
mod custom;
mod decode;
mod defaulting;
mod embedded;
pub(crate) mod field_path;
pub(crate) mod formats;
pub(crate) mod gobase64;
pub(crate) mod gotime;
mod gotype;
mod lists;
mod numbers;
mod openapi;
pub(crate) mod pattern;
mod prune;
mod structural;
#[cfg(test)]
mod tests;
mod validate;

pub use builtin::{Builtin, builtin};
pub use checks::{Checks, Rule};
pub use crd::{crd_warnings, default_crd, validate_crd, validate_crd_update};
pub use custom::{CheckMetadata, Custom};
pub use decode::{DecodeError, decode, decode_definition, interpret};
pub use defaulting::{default, drop_nulls};
pub use embedded::{read_custom, validate_embedded};
pub use lists::validate_lists;
pub use prune::prune;
pub use structural::{structural, violations};
pub use validate::{validate, validate_at};

/// The JSON type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Type {
    /// No `type` was given.
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
    /// Scalars, each at most once.
    Set,
    /// Objects identified by `map_keys`.
    Map,
}

/// One node of a schema.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// The name of the definition this node stands for; the rest of the node is then only `default` and extensions.
    pub reference: Option<Arc<str>>,
    /// The JSON type.
    pub kind: Type,
    /// `format`, such as `int32` or `date-time`.
    pub format: Option<Box<str>>,
    /// Named fields of an object.
    pub properties: BTreeMap<Box<str>, Arc<Schema>>,
    /// The schema of all other fields, when they are allowed.
    pub additional: Option<Arc<Schema>>,
    /// The schema of a list's items.
    pub items: Option<Arc<Schema>>,
    /// Fields that must be present.
    pub required: Vec<Box<str>>,
    /// The value of an absent field.
    pub default: Option<Value>,
    /// `null` is a value.
    pub nullable: bool,
    /// `x-kubernetes-list-type`; `None` when not given (atomic for lists without patch strategy).
    pub list_type: Option<ListType>,
    /// `x-kubernetes-list-map-keys`.
    pub map_keys: Vec<Box<str>>,
    /// `x-kubernetes-map-type: atomic`.
    pub map_atomic: bool,
    /// `x-kubernetes-map-type: granular`, which overrides an atomic type where it is referred to.
    pub map_granular: bool,
    /// `x-kubernetes-patch-merge-key`.
    pub patch_merge_key: Option<Box<str>>,
    /// `x-kubernetes-patch-strategy`, split at commas: `merge`, `replace`, `retainKeys`.
    pub patch_strategy: Vec<Box<str>>,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// Keywords only validation reads (`enum`, `pattern`, bounds, `allOf`, `x-kubernetes-validations`, ...).
    pub checks: Option<Box<Checks>>,
}

/// Definitions by name, in which references are looked up. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Named(Arc<BTreeMap<Arc<str>, Arc<Schema>>>),
    BuiltIn,
}

impl Default for Source {
    fn default() -> Self {
        Self::Named(Arc::default())
    }
}

impl Definitions {
    /// Definitions from a JSON object of OpenAPI v3 schemas by name.
    pub fn from_json(schemas: &Value) -> Self {
        let Some(map) = schemas.as_object() else { return Self::default() };
        let by_name = map.iter().map(|(name, s)| (Arc::from(name.as_str()), Arc::new(Schema::from_json(s)))).collect();
        Self { source: Source::Named(Arc::new(by_name)) }
    }

    /// The definitions of the built-in kinds, parsed as they are asked for.
    pub fn built_in() -> Self {
        Self { source: Source::BuiltIn }
    }

    /// The definition of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<Schema>> {
        match &self.source {
            Source::Named(by_name) => by_name.get(name),
            Source::BuiltIn => builtin().get(name),
        }
    }

    /// The node that `schema` stands for: itself, or what its reference names (an unknown name allows anything).
    pub fn resolve<'a>(&'a self, schema: &'a Schema) -> &'a Schema {
        let mut node = schema;
        // A chain of references longer than this is a cycle.
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
    /// Reads a node of OpenAPI v3 as the API server publishes it or as a CRD states it. Unknown keywords are kept in
    /// `checks` or ignored; whether a CRD's schema is acceptable is decided elsewhere.
    pub fn from_json(json: &Value) -> Self {
        let mut schema = Schema::default();
        let Some(map) = json.as_object() else { return schema };
        let mut checks = serde_json::Map::new();
        for (key, value) in map {
            match key.as_str() {
                "$ref" => schema.reference = reference(value),
                // The API server wraps a reference that has a default: {"allOf": [{"$ref": ..}], "default": {}}.
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
        schema.checks = Checks::from_json(&checks);
        schema
    }

    /// Nothing is known of the value: what `additionalProperties: true` says.
    pub(crate) fn says_nothing(&self) -> bool {
        self.kind == Type::Any && !self.int_or_string && !self.preserve_unknown && self.reference.is_none()
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

fn type_of(value: &Value) -> Type {
    match value.as_str() {
        Some("object") => Type::Object,
        Some("array") => Type::Array,
        Some("string") => Type::String,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("boolean") => Type::Boolean,
        _ => Type::Any,
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
