//! Schemas of the built-in kinds, each definition parsed on first use.
//!
//! Both data files hold one definition per line, sorted by name. Indexing takes one pass over the lines, and a server
//! that only handles ConfigMaps never parses the schema of Pods.

use std::sync::{Arc, OnceLock};

use super::go_type::GoStruct;
use super::{Definitions, Schema};
use crate::Value;
use crate::kind::GroupVersionKind;

const SCHEMAS: &str = include_str!("../../data/schemas.json");
const GO_TYPES: &str = include_str!("../../data/gotypes.json");

/// Definitions of all built-in kinds.
#[derive(Debug)]
pub struct BuiltinSchemas {
    slots: Vec<DefinitionSlot>,
}

#[derive(Debug)]
struct DefinitionSlot {
    name: &'static str,
    schema_text: &'static str,
    go_text: &'static str,
    schema: OnceLock<Arc<Schema>>,
    go: OnceLock<GoStruct>,
}

/// Returns the built-in definitions, indexed on the first call.
pub fn builtin() -> &'static BuiltinSchemas {
    static BUILTIN: OnceLock<BuiltinSchemas> = OnceLock::new();
    BUILTIN.get_or_init(BuiltinSchemas::index)
}

impl BuiltinSchemas {
    fn index() -> Self {
        let slots = entries(SCHEMAS)
            .zip(entries(GO_TYPES))
            .map(|((name, schema_text), (go_name, go_text))| {
                debug_assert_eq!(name, go_name, "both data files list the same definitions in the same order");
                DefinitionSlot { name, schema_text, go_text, schema: OnceLock::new(), go: OnceLock::new() }
            })
            .collect();
        Self { slots }
    }

    /// Returns all definitions, for resolving references.
    pub fn definitions(&self) -> Definitions {
        Definitions::built_in()
    }

    /// Returns the names of all definitions, sorted.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.slots.iter().map(|slot| slot.name)
    }

    /// Returns the definition of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<Schema>> {
        let slot = self.slot(name)?;
        Some(slot.schema.get_or_init(|| Arc::new(Schema::from_json(&parse(slot.schema_text)))))
    }

    /// Returns the JSON text of the definition of that name, as the API server publishes it.
    pub fn text(&self, name: &str) -> Option<&'static str> {
        self.slot(name).map(|slot| slot.schema_text)
    }

    /// Returns the schema of a built-in kind.
    pub fn schema(&self, kind: &GroupVersionKind) -> Option<&Arc<Schema>> {
        self.get(&self.definition(kind)?)
    }

    /// Returns the definition name of a built-in kind: `io.k8s.api.apps.v1.Deployment`.
    pub fn definition(&self, kind: &GroupVersionKind) -> Option<String> {
        let package = match kind.group.split('.').next().unwrap_or("") {
            "" => "core",
            first => first,
        };
        let GroupVersionKind { version, kind, group } = kind;
        let served = format!("{{\"group\":\"{group}\",\"kind\":\"{kind}\",\"version\":\"{version}\"}}");
        [
            format!("io.k8s.api.{package}.{version}.{kind}"),
            format!("io.k8s.apiextensions-apiserver.pkg.apis.{package}.{version}.{kind}"),
            format!("io.k8s.kube-aggregator.pkg.apis.{package}.{version}.{kind}"),
            format!("io.k8s.apimachinery.pkg.apis.meta.{version}.{kind}"),
        ]
        .into_iter()
        .find(|name| self.text(name).is_some_and(|text| text.contains(&served)))
    }

    /// Returns the Go struct of the definition of that name, for Go's JSON codec.
    pub(super) fn go_struct(&'static self, name: &str) -> Option<&'static GoStruct> {
        let slot = self.slot(name)?;
        let schema = self.get(name)?;
        Some(slot.go.get_or_init(|| GoStruct::new(slot.name, schema, &parse(slot.go_text))))
    }

    fn slot(&self, name: &str) -> Option<&DefinitionSlot> {
        self.slots.binary_search_by(|slot| slot.name.cmp(name)).ok().map(|at| &self.slots[at])
    }
}

/// Returns the `"name":{...}` lines of a data file.
fn entries(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines().filter_map(|line| {
        let line = line.strip_prefix('{').unwrap_or(line);
        let (name, body) = line.strip_prefix('"')?.split_once("\":")?;
        Some((name, body.strip_suffix(',').unwrap_or(body)))
    })
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("the embedded definitions are JSON")
}
