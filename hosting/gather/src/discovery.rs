//! Resources that a cluster serves, from the two aggregated discovery documents of must-gather directories.

mod documents;
mod join;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::yaml;

use crate::contract::ResourceType;

pub(crate) use documents::{DiscoveryDocuments, types_of_objects};

/// File name of the document for `/api`.
pub const API_FILE: &str = "aggregated-discovery-api.yaml";
/// File name of the document for `/apis`.
pub const APIS_FILE: &str = "aggregated-discovery-apis.yaml";

/// `Accept` header of discovery requests: `v2` is available since Kubernetes 1.30, and `v2beta1`, with the same
/// structure, since 1.27. A cluster that supports neither returns the legacy documents instead of an unspecific error.
pub const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// Documents that library-go uses for directories without their own: those of an OpenShift cluster of 2024.
static BUNDLED: LazyLock<Discovery> = LazyLock::new(|| {
    let read = |text: &str| yaml::read(text).expect("the bundled discovery is YAML").value;
    Discovery::new(
        read(include_str!("../data/aggregated-discovery-api.yaml")),
        read(include_str!("../data/aggregated-discovery-apis.yaml")),
    )
});

/// Resources that a cluster serves.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovery {
    api: Value,
    apis: Value,
    served: BTreeMap<ResourceType, DiscoveredResource>,
}

/// A resource that a cluster serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveredResource {
    /// Kind of the objects.
    pub kind: GroupVersionKind,
    /// Whether the objects are namespaced.
    pub namespaced: bool,
}

impl Discovery {
    /// Creates the index from the two documents, each an `APIGroupDiscoveryList`.
    pub fn new(api: Value, apis: Value) -> Self {
        let mut served = BTreeMap::new();
        for group in list(&api["items"]).chain(list(&apis["items"])) {
            add_group(group, &mut served);
        }
        Self { api, apis, served }
    }

    /// Returns the bundled documents, which are used for directories without their own.
    pub fn bundled() -> &'static Self {
        &BUNDLED
    }

    /// Reads the documents at the root of a directory, as library-go does. A missing one is replaced by the bundled
    /// one.
    pub(crate) fn at_root(path: &Path) -> Self {
        let read = |file: &str, carried: &Value| {
            let text = fs::read_to_string(path.join(file)).ok();
            let document = text.and_then(|text| yaml::read(&text).ok());
            document.map_or_else(|| carried.clone(), |document| document.value)
        };
        Self::new(read(API_FILE, &BUNDLED.api), read(APIS_FILE, &BUNDLED.apis))
    }

    /// Returns the served resource of a type.
    pub fn served(&self, of: &ResourceType) -> Option<&DiscoveredResource> {
        self.served.get(of)
    }

    /// Returns all served resources.
    pub fn types(&self) -> impl Iterator<Item = (&ResourceType, &DiscoveredResource)> {
        self.served.iter()
    }

    /// Returns a copy with only these resources and their subresources. Operators read the documents often, so they
    /// should be small.
    #[must_use]
    pub fn subset(&self, types: &BTreeSet<ResourceType>) -> Self {
        let keep = |document: &Value| {
            let groups = list(&document["items"]).filter_map(|group| subset_group(group, types)).collect();
            let mut slim = document.clone();
            slim["items"] = Value::Array(groups);
            slim
        };
        Self::new(keep(&self.api), keep(&self.apis))
    }

    /// Returns a copy with the resources of `other` added. For a resource in both, with the same group and version,
    /// `self` wins.
    #[must_use]
    pub fn merged_with(&self, other: &Self) -> Self {
        Self::new(join::merge_documents(&self.api, &other.api), join::merge_documents(&self.apis, &other.apis))
    }

    /// Returns a copy with these resources added. Existing ones stay unchanged.
    #[must_use]
    pub fn with_types(&self, types: impl IntoIterator<Item = (ResourceType, DiscoveredResource)>) -> Self {
        let further: BTreeMap<ResourceType, DiscoveredResource> =
            types.into_iter().filter(|(of, _)| !self.served.contains_key(of)).collect();
        if further.is_empty() {
            return self.clone();
        }
        let (core, others) = further.iter().partition(|(of, _)| of.group.is_empty());
        self.merged_with(&Self::new(join::document(core), join::document(others)))
    }

    /// Returns the document for `/api`.
    pub fn api(&self) -> &Value {
        &self.api
    }

    /// Returns the document for `/apis`.
    pub fn apis(&self) -> &Value {
        &self.apis
    }

    /// Returns the groups of both documents.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Value> {
        list(&self.api["items"]).chain(list(&self.apis["items"]))
    }
}

/// Empty documents, for a cluster that serves nothing.
impl Default for Discovery {
    fn default() -> Self {
        Self::new(join::group_list(Vec::new()), join::group_list(Vec::new()))
    }
}

fn subset_group(group: &Value, types: &BTreeSet<ResourceType>) -> Option<Value> {
    let name = group_name(group);
    let mut versions = Vec::new();
    for version in list(&group["versions"]) {
        let wanted = |resource: &&Value| {
            types.contains(&ResourceType::new(&name, &text(&version["version"]), &text(&resource["resource"])))
        };
        let resources: Vec<Value> = list(&version["resources"]).filter(wanted).cloned().collect();
        if !resources.is_empty() {
            let mut slim = version.clone();
            slim["resources"] = Value::Array(resources);
            versions.push(slim);
        }
    }
    let mut slim = group.clone();
    slim["versions"] = Value::Array(versions);
    list(&slim["versions"]).next()?;
    Some(slim)
}

fn add_group(group: &Value, served: &mut BTreeMap<ResourceType, DiscoveredResource>) {
    let name = group_name(group);
    for version in list(&group["versions"]) {
        let of = text(&version["version"]);
        for resource in list(&version["resources"]) {
            let response_kind = &resource["responseKind"];
            // A resource without a kind cannot be listed.
            if !response_kind.is_object() {
                continue;
            }
            let or = |response_kind: &Value, default: &str| {
                Some(text(response_kind)).filter(|s| !s.is_empty()).unwrap_or(default.into())
            };
            let kind = GroupVersionKind::new(
                or(&response_kind["group"], &name),
                or(&response_kind["version"], &of),
                text(&response_kind["kind"]),
            );
            let known = DiscoveredResource { kind, namespaced: resource["scope"] == "Namespaced" };
            served.entry(ResourceType::new(&name, &of, &text(&resource["resource"]))).or_insert(known);
        }
    }
}

fn group_name(group: &Value) -> String {
    text(&group["metadata"]["name"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests;
