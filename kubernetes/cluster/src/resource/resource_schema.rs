//! Lazy schemas: a server starts without parsing any, and an unused CRD only costs its bytes.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Deserialize;
use switchboard_object::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::schema::{self, Definitions, Schema, builtin};

/// Schema with the definitions for resolving its references.
#[derive(Clone, Debug)]
pub struct ResourceSchema {
    /// Definitions by name; empty for custom resources.
    pub definitions: Definitions,
    /// Schema of the whole object.
    pub root: Arc<Schema>,
    /// Further processing of custom resources by their schema; `None` for built-in kinds.
    pub custom: Option<Arc<schema::CustomSchema>>,
}

/// Schema that is parsed on first use.
#[derive(Debug)]
pub struct LazySchema {
    source: SchemaSource,
    read: OnceLock<Option<ResourceSchema>>,
}

#[derive(Debug)]
enum SchemaSource {
    /// Definition of a built-in kind.
    BuiltIn(GroupVersionKind),
    /// Version of a CRD, from the CRD's stored bytes, which the store shares.
    Custom { definition: Bytes, version: Arc<str> },
}

impl LazySchema {
    /// Creates the schema of a built-in kind.
    pub fn built_in(kind: GroupVersionKind) -> Self {
        Self { source: SchemaSource::BuiltIn(kind), read: OnceLock::new() }
    }

    /// Creates the schema of a CRD version.
    pub fn custom(definition: Bytes, version: Arc<str>) -> Self {
        Self { source: SchemaSource::Custom { definition, version }, read: OnceLock::new() }
    }

    /// Returns the schema as in the CRD, including descriptions; `None` for built-in kinds.
    pub fn published_schema(&self) -> Option<Value> {
        match &self.source {
            SchemaSource::BuiltIn(_) => None,
            SchemaSource::Custom { definition, version } => custom_schema(definition, version),
        }
    }

    /// Returns the schema, if there is one.
    pub fn get(&self) -> Option<&ResourceSchema> {
        self.read.get_or_init(|| self.source.read()).as_ref()
    }
}

impl SchemaSource {
    fn read(&self) -> Option<ResourceSchema> {
        match self {
            Self::BuiltIn(kind) => {
                let root = builtin().schema(kind)?.clone();
                Some(ResourceSchema { definitions: builtin().definitions(), root, custom: None })
            }
            Self::Custom { definition, version } => {
                let (schema, prunes) = read_published_schema(definition, version)?;
                let custom = Arc::new(schema::CustomSchema::new(&schema, prunes));
                Some(ResourceSchema {
                    definitions: Definitions::default(),
                    root: custom.schema().clone(),
                    custom: Some(custom),
                })
            }
        }
    }
}

/// Returns the schema of one version of a stored CRD, as in the CRD.
pub fn custom_schema(definition: &[u8], version: &str) -> Option<Value> {
    read_published_schema(definition, version).map(|(schema, _)| schema)
}

/// Returns the schema, and whether fields that it does not declare are dropped.
fn read_published_schema(definition: &[u8], version: &str) -> Option<(Value, bool)> {
    let CrdSpec { versions, preserve_unknown_fields } = serde_json::from_slice::<CrdDocument>(definition).ok()?.spec;
    let schema = versions.into_iter().find(|v| v.name == version)?.schema?.open_api_v3_schema?;
    Some((schema, !preserve_unknown_fields))
}

#[derive(Deserialize)]
struct CrdDocument {
    spec: CrdSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CrdSpec {
    versions: Vec<CrdSpecVersion>,
    #[serde(default)]
    preserve_unknown_fields: bool,
}

#[derive(Deserialize)]
struct CrdSpecVersion {
    name: String,
    schema: Option<CrdVersionSchema>,
}

#[derive(Deserialize)]
struct CrdVersionSchema {
    #[serde(rename = "openAPIV3Schema")]
    open_api_v3_schema: Option<Value>,
}
