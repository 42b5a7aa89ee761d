//! Schemas on demand: a server starts without reading one, and a CRD nobody uses costs its bytes only.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Deserialize;
use switchboard_object::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::schema::{Definitions, Schema, builtin};

/// A schema and where its references are looked up.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Definitions by name; empty for custom resources.
    pub definitions: Definitions,
    /// The schema of the whole object.
    pub root: Arc<Schema>,
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
                Some(Shape { definitions: builtin().definitions(), root })
            }
            Self::Custom { definition, version } => {
                let schema = custom_schema(definition, version)?;
                Some(Shape { definitions: Definitions::default(), root: Arc::new(Schema::from_json(&schema)) })
            }
        }
    }
}

/// The published schema of one version of a stored CRD, as the CRD states it.
pub fn custom_schema(definition: &[u8], version: &str) -> Option<Value> {
    let crd: Definition = serde_json::from_slice(definition).ok()?;
    crd.spec.versions.into_iter().find(|v| v.name == version)?.schema?.open_api_v3_schema
}

#[derive(Deserialize)]
struct Definition {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    versions: Vec<Version>,
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
