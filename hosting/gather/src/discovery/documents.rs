//! The discovery documents of a dump, wherever they stand in it, and what the rest of the dump says beside them.

use serde_json::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::yaml;

use super::{API_FILE, APIS_FILE, CARRIED, Discovery, Served, join, list, text};
use crate::content::Wrong;
use crate::contract::ResourceType;
use crate::dump::Object;

/// The documents that were found, each with how deep it lies: a must-gather keeps all it has in a folder for each image.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    api: Vec<(usize, Value)>,
    apis: Vec<(usize, Value)>,
}

impl Documents {
    /// Whether a file is one of them, by its name.
    pub fn has(path: &str) -> bool {
        matches!(path.rsplit('/').next(), Some(API_FILE | APIS_FILE))
    }

    /// Takes one.
    ///
    /// # Errors
    /// What is wrong with it. It is none then, and nothing is taken for what it would have said.
    pub fn take(&mut self, path: &str, content: &str) -> Result<(), Wrong> {
        let read = yaml::read(content).map_err(|error| Wrong { line: Some(error.line), message: error.problem })?;
        if !read.value.is_object() {
            return Err(Wrong { line: None, message: "expected an APIGroupDiscoveryList".into() });
        }
        let kept = if path.ends_with(APIS_FILE) { &mut self.apis } else { &mut self.api };
        kept.push((path.matches('/').count(), read.value));
        Ok(())
    }

    /// What they say, those nearest to the root first; of each that is not there, what is carried.
    pub fn or_carried(&self) -> Discovery {
        let one = |found: &[(usize, Value)], carried: &Value| {
            let mut found: Vec<&(usize, Value)> = found.iter().collect();
            found.sort_by_key(|(depth, _)| *depth);
            let joined = found.into_iter().map(|(_, document)| document.clone()).reduce(|a, b| join::both(&a, &b));
            joined.unwrap_or_else(|| carried.clone())
        };
        Discovery::new(one(&self.api, &CARRIED.api), one(&self.apis, &CARRIED.apis))
    }

    /// The groups they say something of.
    pub fn groups(&self) -> impl Iterator<Item = &Value> {
        self.api.iter().chain(&self.apis).flat_map(|(_, document)| list(&document["items"]))
    }
}

/// What objects say is served: CRDs what they define, and any other that there is such a thing.
pub(crate) fn shown_by(objects: &[Object]) -> impl Iterator<Item = (ResourceType, Served)> {
    let definitions = objects.iter().filter(|object| object.kind.kind == "CustomResourceDefinition");
    let own = objects.iter().map(|object| {
        let of = ResourceType::new(&object.kind.group, &object.kind.version, &object.plural);
        (of, Served { kind: object.kind.clone(), namespaced: object.namespaced })
    });
    definitions.flat_map(|object| defined_by(&object.value["spec"])).chain(own)
}

fn defined_by(spec: &Value) -> Vec<(ResourceType, Served)> {
    let (group, plural, kind) = (text(&spec["group"]), text(&spec["names"]["plural"]), text(&spec["names"]["kind"]));
    let served = list(&spec["versions"]).filter(|version| version["served"] != false);
    let versions = served.map(|version| text(&version["name"]));
    // The first form of CRDs had one version, and named it elsewhere.
    let versions = versions.chain(spec["version"].as_str().map(str::to_string));
    let named = versions.filter(|version| ![&group, &plural, &kind, version].into_iter().any(String::is_empty));
    let one = |version: String| {
        let of = ResourceType::new(&group, &version, &plural);
        (of, Served { kind: GroupVersionKind::new(&*group, version, &*kind), namespaced: spec["scope"] != "Cluster" })
    };
    named.map(one).collect()
}
