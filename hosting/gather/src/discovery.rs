//! What a cluster serves, as must-gather-like directories say it: the two aggregated discovery documents.

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

pub(crate) use documents::{Documents, shown_by};

/// The file for `/api`.
pub const API_FILE: &str = "aggregated-discovery-api.yaml";
/// The file for `/apis`.
pub const APIS_FILE: &str = "aggregated-discovery-apis.yaml";

/// How a cluster is asked for them: `v2` is known since Kubernetes 1.30, `v2beta1`, of the same shape, since 1.27. One that knows
/// neither gives the documents of old, instead of a refusal that says nothing.
pub const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// The documents library-go carries for directories without their own: an OpenShift cluster of 2024.
static CARRIED: LazyLock<Discovery> = LazyLock::new(|| {
    let read = |text: &str| yaml::read(text).expect("the carried discovery is YAML").value;
    Discovery::new(
        read(include_str!("../data/aggregated-discovery-api.yaml")),
        read(include_str!("../data/aggregated-discovery-apis.yaml")),
    )
});

/// The kinds of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovery {
    api: Value,
    apis: Value,
    served: BTreeMap<ResourceType, Served>,
}

/// A resource that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The kind of its objects.
    pub kind: GroupVersionKind,
    /// They live in namespaces.
    pub namespaced: bool,
}

impl Discovery {
    /// Of the two documents, each an `APIGroupDiscoveryList`.
    pub fn new(api: Value, apis: Value) -> Self {
        let mut served = BTreeMap::new();
        for group in list(&api["items"]).chain(list(&apis["items"])) {
            learn(group, &mut served);
        }
        Self { api, apis, served }
    }

    /// The documents that count where a directory has none of its own.
    pub fn carried() -> &'static Self {
        &CARRIED
    }

    /// Those at the root of a directory, where the original looks; each that is not there is the carried one.
    pub(crate) fn at_root(path: &Path) -> Self {
        let read = |file: &str, carried: &Value| {
            let text = fs::read_to_string(path.join(file)).ok();
            let document = text.and_then(|text| yaml::read(&text).ok());
            document.map_or_else(|| carried.clone(), |document| document.value)
        };
        Self::new(read(API_FILE, &CARRIED.api), read(APIS_FILE, &CARRIED.apis))
    }

    /// What a resource is served as.
    pub fn served(&self, of: &ResourceType) -> Option<&Served> {
        self.served.get(of)
    }

    /// Every resource that is served.
    pub fn types(&self) -> impl Iterator<Item = (&ResourceType, &Served)> {
        self.served.iter()
    }

    /// The same with these resources alone, and their subresources: an operator reads the documents again and again.
    #[must_use]
    pub fn slim(&self, types: &BTreeSet<ResourceType>) -> Self {
        let keep = |document: &Value| {
            let groups = list(&document["items"]).filter_map(|group| slim_group(group, types)).collect();
            let mut slim = document.clone();
            slim["items"] = Value::Array(groups);
            slim
        };
        Self::new(keep(&self.api), keep(&self.apis))
    }

    /// The same and what `other` serves beside it; of a resource that both have, in the same group and version, ours.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self::new(join::both(&self.api, &other.api), join::both(&self.apis, &other.apis))
    }

    /// The same and these resources; of what is served already, what is said already.
    #[must_use]
    pub fn with(&self, types: impl IntoIterator<Item = (ResourceType, Served)>) -> Self {
        let further: BTreeMap<ResourceType, Served> =
            types.into_iter().filter(|(of, _)| !self.served.contains_key(of)).collect();
        if further.is_empty() {
            return self.clone();
        }
        let (core, others) = further.iter().partition(|(of, _)| of.group.is_empty());
        self.and(&Self::new(join::document(core), join::document(others)))
    }

    /// The document for `/api`.
    pub fn api(&self) -> &Value {
        &self.api
    }

    /// The document for `/apis`.
    pub fn apis(&self) -> &Value {
        &self.apis
    }

    /// The groups of both documents.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Value> {
        list(&self.api["items"]).chain(list(&self.apis["items"]))
    }
}

/// An empty document of a cluster that serves nothing.
impl Default for Discovery {
    fn default() -> Self {
        Self::new(join::headed(Vec::new()), join::headed(Vec::new()))
    }
}

fn slim_group(group: &Value, types: &BTreeSet<ResourceType>) -> Option<Value> {
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

fn learn(group: &Value, served: &mut BTreeMap<ResourceType, Served>) {
    let name = group_name(group);
    for version in list(&group["versions"]) {
        let of = text(&version["version"]);
        for resource in list(&version["resources"]) {
            let said = &resource["responseKind"];
            // What has no kind cannot be listed.
            if !said.is_object() {
                continue;
            }
            let or = |said: &Value, default: &str| Some(text(said)).filter(|s| !s.is_empty()).unwrap_or(default.into());
            let kind = GroupVersionKind::new(or(&said["group"], &name), or(&said["version"], &of), text(&said["kind"]));
            let known = Served { kind, namespaced: resource["scope"] == "Namespaced" };
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
