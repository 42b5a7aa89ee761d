//! Schemas on demand: a server starts without reading one, and a CRD nobody uses costs its bytes only.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Deserialize;
use switchboard_object::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::schema::{self, Definitions, Schema, builtin};

/// A schema and where its references are looked up.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Definitions by name; empty for custom resources.
    pub definitions: Definitions,
    /// The schema of the whole object.
    pub root: Arc<Schema>,
    /// What else the API server does with a custom resource by its schema; `None` for built-in kinds.
    pub custom: Option<Arc<schema::Custom>>,
}

/// A schema that is read when first asked for.
#[derive(Debug)]
pub struct LazyShape {
    source: Source,
    read: OnceLock<Option<Shape>>,
}

#[derive(Debug)]
enum Source {
    /// A definition of the built-in schemas.
    BuiltIn(GroupVersionKind),
    /// The named version of a CRD, from the CRD's own stored bytes, which the store shares.
    Custom { definition: Bytes, version: Arc<str> },
}

impl LazyShape {
    /// The schema of a built-in kind.
    pub fn built_in(kind: GroupVersionKind) -> Self {
        Self { source: Source::BuiltIn(kind), read: OnceLock::new() }
    }

    /// The schema a CRD states for one of its versions.
    pub fn custom(definition: Bytes, version: Arc<str>) -> Self {
        Self { source: Source::Custom { definition, version }, read: OnceLock::new() }
    }

    /// The schema as a CRD states it, descriptions included; `None` for built-in kinds.
    pub fn stated(&self) -> Option<Value> {
        match &self.source {
            Source::BuiltIn(_) => None,
            Source::Custom { definition, version } => custom_schema(definition, version),
        }
    }

    /// The schema, when there is one.
    pub fn get(&self) -> Option<&Shape> {
        self.read.get_or_init(|| self.source.read()).as_ref()
    }
}

impl Source {
    fn read(&self) -> Option<Shape> {
        match self {
            Self::BuiltIn(kind) => {
                let root = builtin().schema(kind)?.clone();
                Some(Shape { definitions: builtin().definitions(), root, custom: None })
            }
            Self::Custom { definition, version } => {
                let (schema, prunes) = stated(definition, version)?;
                let custom = Arc::new(schema::Custom::new(&schema, prunes));
                Some(Shape { definitions: Definitions::default(), root: custom.schema().clone(), custom: Some(custom) })
            }
        }
    }
}

/// The published schema of one version of a stored CRD, as the CRD states it.
pub fn custom_schema(definition: &[u8], version: &str) -> Option<Value> {
    stated(definition, version).map(|(schema, _)| schema)
}

/// The schema, and whether fields it does not name are dropped.
fn stated(definition: &[u8], version: &str) -> Option<(Value, bool)> {
    let Spec { versions, preserve_unknown_fields } = serde_json::from_slice::<Definition>(definition).ok()?.spec;
    let schema = versions.into_iter().find(|v| v.name == version)?.schema?.open_api_v3_schema?;
    Some((schema, !preserve_unknown_fields))
}

#[derive(Deserialize)]
struct Definition {
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    versions: Vec<Version>,
    #[serde(default)]
    preserve_unknown_fields: bool,
}

#[derive(Deserialize)]
struct Version {
    name: String,
    schema: Option<VersionSchema>,
}

#[derive(Deserialize)]
struct VersionSchema {
    #[serde(rename = "openAPIV3Schema")]
    open_api_v3_schema: Option<Value>,
}
