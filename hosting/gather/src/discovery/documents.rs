//! Discovery documents anywhere in a dump, and resources inferred from the rest of the dump.

use serde_json::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::yaml;

use super::{API_FILE, APIS_FILE, BUNDLED, DiscoveredResource, Discovery, join, list, text};
use crate::content::ContentError;
use crate::contract::ResourceType;
use crate::dump::DumpedObject;

/// The documents with the depths of their paths. A must-gather has a folder for each image that contains all files.
#[derive(Debug, Default)]
pub(crate) struct DiscoveryDocuments {
    api: Vec<(usize, Value)>,
    apis: Vec<(usize, Value)>,
}

impl DiscoveryDocuments {
    /// Whether the file name is that of a document.
    pub fn is_document(path: &str) -> bool {
        matches!(path.rsplit('/').next(), Some(API_FILE | APIS_FILE))
    }

    /// Adds a document.
    ///
    /// # Errors
    /// If the document is invalid. It is not added then.
    pub fn add(&mut self, path: &str, content: &str) -> Result<(), ContentError> {
        let read =
            yaml::read(content).map_err(|error| ContentError { line: Some(error.line), message: error.problem })?;
        if !read.value.is_object() {
            return Err(ContentError { line: None, message: "expected an APIGroupDiscoveryList".into() });
        }
        let kept = if path.ends_with(APIS_FILE) { &mut self.apis } else { &mut self.api };
        kept.push((path.matches('/').count(), read.value));
        Ok(())
    }

    /// Merges the documents, those closest to the root first. A missing one is replaced by the bundled one.
    pub fn or_bundled(&self) -> Discovery {
        let one = |found: &[(usize, Value)], carried: &Value| {
            let mut found: Vec<&(usize, Value)> = found.iter().collect();
            found.sort_by_key(|(depth, _)| *depth);
            let joined =
                found.into_iter().map(|(_, document)| document.clone()).reduce(|a, b| join::merge_documents(&a, &b));
            joined.unwrap_or_else(|| carried.clone())
        };
        Discovery::new(one(&self.api, &BUNDLED.api), one(&self.apis, &BUNDLED.apis))
    }

    /// Returns the groups of all documents.
    pub fn groups(&self) -> impl Iterator<Item = &Value> {
        self.api.iter().chain(&self.apis).flat_map(|(_, document)| list(&document["items"]))
    }
}

/// Returns the resources that objects prove to be served: those that CRDs define, and the resource of every other
/// object.
pub(crate) fn types_of_objects(objects: &[DumpedObject]) -> impl Iterator<Item = (ResourceType, DiscoveredResource)> {
    let definitions = objects.iter().filter(|object| object.kind.kind == "CustomResourceDefinition");
    let own = objects.iter().map(|object| {
        let of = ResourceType::new(&object.kind.group, &object.kind.version, &object.plural);
        (of, DiscoveredResource { kind: object.kind.clone(), namespaced: object.namespaced })
    });
    definitions.flat_map(|object| types_of_crd(&object.value["spec"])).chain(own)
}

fn types_of_crd(spec: &Value) -> Vec<(ResourceType, DiscoveredResource)> {
    let (group, plural, kind) = (text(&spec["group"]), text(&spec["names"]["plural"]), text(&spec["names"]["kind"]));
    let served = list(&spec["versions"]).filter(|version| version["served"] != false);
    let versions = served.map(|version| text(&version["name"]));
    // The first version of the CRD API had a single version in another field.
    let versions = versions.chain(spec["version"].as_str().map(str::to_string));
    let named = versions.filter(|version| ![&group, &plural, &kind, version].into_iter().any(String::is_empty));
    let one = |version: String| {
        let of = ResourceType::new(&group, &version, &plural);
        (
            of,
            DiscoveredResource {
                kind: GroupVersionKind::new(&*group, version, &*kind),
                namespaced: spec["scope"] != "Cluster",
            },
        )
    };
    named.map(one).collect()
}
