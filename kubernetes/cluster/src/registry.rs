//! Served resources: the built-in ones and those of CRDs, in the order of discovery.
//!
//! ```text
//! Registry ─▶ ApiGroup "apps" ─▶ GroupVersionResources "v1" ─▶ ServedResource deployments, statefulsets, ...
//! ```
//!
//! A registry is immutable. A change of a CRD creates the next registry, which shares all groups except the changed
//! one.

mod builtin;
mod custom;
#[cfg(test)]
mod tests;
mod version_order;

use std::collections::HashMap;
use std::sync::Arc;

use crate::resource::ServedResource;

pub use custom::{from_definition, from_stored};
pub use version_order::compare_versions;

/// Resources served at one time.
#[derive(Clone, Debug)]
pub struct Registry {
    groups: Vec<Arc<ApiGroup>>,
    by_name: HashMap<Arc<str>, usize>,
}

/// API group with its versions, the preferred one first.
#[derive(Clone, Debug)]
pub struct ApiGroup {
    /// Name of the group; empty for the core group.
    pub name: Arc<str>,
    /// Versions, the preferred one first.
    pub versions: Vec<GroupVersionResources>,
}

/// Version of a group with its resources by plural name.
#[derive(Clone, Debug)]
pub struct GroupVersionResources {
    /// `v1`, `v1beta1`, ...
    pub name: Arc<str>,
    /// Resources, sorted by plural name.
    pub resources: Vec<Arc<ServedResource>>,
}

impl Registry {
    /// Returns the registry of the built-in resources.
    pub fn built_in() -> Arc<Self> {
        builtin::registry()
    }

    /// Returns the groups in the order of discovery; the core group comes first.
    pub fn groups(&self) -> impl Iterator<Item = &Arc<ApiGroup>> {
        self.groups.iter()
    }

    /// Returns the group of that name.
    pub fn group(&self, name: &str) -> Option<&Arc<ApiGroup>> {
        self.by_name.get(name).map(|&at| &self.groups[at])
    }

    /// Returns the resource with that group, version and plural name.
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<ServedResource>> {
        self.group(group)?.version(version)?.get(plural)
    }

    /// Returns the resource of objects with that group, version and kind.
    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<ServedResource>> {
        self.group(group)?.version(version)?.resources.iter().find(|r| r.kind.kind == kind)
    }

    /// Returns the resource in the group's preferred version among those that have it.
    pub fn preferred(&self, group: &str, plural: &str) -> Option<&Arc<ServedResource>> {
        self.group(group)?.versions.iter().find_map(|v| v.get(plural))
    }

    /// Returns a registry that serves `resources` (all versions of one CRD) as `plural` of `group`, in place of the
    /// previous ones. An empty list removes them. Built-in resources cannot be replaced.
    pub fn with_custom(&self, group: &str, plural: &str, resources: Vec<Arc<ServedResource>>) -> Self {
        let mut next = self.clone();
        let mut changed = match self.group(group) {
            Some(found) => ApiGroup::clone(found),
            None => ApiGroup { name: group.into(), versions: Vec::new() },
        };
        changed.replace(plural, resources);
        match (self.by_name.get(group), changed.versions.is_empty()) {
            (Some(&at), false) => next.groups[at] = Arc::new(changed),
            (Some(&at), true) => {
                next.groups.remove(at);
                next.index();
            }
            (None, true) => {}
            (None, false) => next.insert(changed),
        }
        next
    }

    /// Inserts a group. Groups of CRDs come after the built-in ones, sorted by name.
    fn insert(&mut self, group: ApiGroup) {
        let built_in = builtin::registry().groups.len();
        let behind = &self.groups[built_in.min(self.groups.len())..];
        let at = built_in + behind.partition_point(|g| g.name < group.name);
        self.groups.insert(at, Arc::new(group));
        self.index();
    }

    fn index(&mut self) {
        self.by_name = self.groups.iter().enumerate().map(|(at, g)| (g.name.clone(), at)).collect();
    }

    fn from_groups(groups: Vec<Arc<ApiGroup>>) -> Self {
        let mut registry = Self { groups, by_name: HashMap::new() };
        registry.index();
        registry
    }
}

impl ApiGroup {
    /// Returns the version of that name.
    pub fn version(&self, name: &str) -> Option<&GroupVersionResources> {
        self.versions.iter().find(|v| &*v.name == name)
    }

    fn replace(&mut self, plural: &str, resources: Vec<Arc<ServedResource>>) {
        for version in &mut self.versions {
            version.resources.retain(|r| &*r.plural != plural || r.custom.is_none());
        }
        for resource in resources {
            self.add(resource);
        }
        self.versions.retain(|v| !v.resources.is_empty());
    }

    fn add(&mut self, resource: Arc<ServedResource>) {
        let name = resource.kind.version.as_str();
        let at = match self.versions.iter().position(|v| &*v.name == name) {
            Some(at) => at,
            None => {
                let at = self.versions.partition_point(|v| compare_versions(&v.name, name).is_gt());
                self.versions.insert(at, GroupVersionResources { name: name.into(), resources: Vec::new() });
                at
            }
        };
        let resources = &mut self.versions[at].resources;
        if let Err(place) = resources.binary_search_by(|r| r.plural.cmp(&resource.plural)) {
            resources.insert(place, resource);
        }
    }
}

impl GroupVersionResources {
    /// Returns the resource of that plural name.
    pub fn get(&self, plural: &str) -> Option<&Arc<ServedResource>> {
        let at = self.resources.binary_search_by(|r| (*r.plural).cmp(plural)).ok()?;
        Some(&self.resources[at])
    }
}
