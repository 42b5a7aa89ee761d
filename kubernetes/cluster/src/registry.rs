//! Which resources are served: the built-in ones and those CRDs add, in the order discovery lists them.
//!
//! ```text
//! Registry ─▶ Group "apps" ─▶ Version "v1" ─▶ Resource deployments, statefulsets, ...
//! ```
//!
//! A registry never changes. A CRD's change makes the next one, which shares all groups but the changed one.

mod builtin;
mod custom;
mod order;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use crate::resource::Resource;

pub use custom::{from_definition, from_stored};
pub use order::compare_versions;

/// All resources served at one time.
#[derive(Clone, Debug)]
pub struct Registry {
    groups: Vec<Arc<Group>>,
    by_name: HashMap<Arc<str>, usize>,
}

/// An API group with its versions, the preferred one first.
#[derive(Clone, Debug)]
pub struct Group {
    /// The group's name; empty for the core group.
    pub name: Arc<str>,
    /// Its versions, the preferred one first.
    pub versions: Vec<Version>,
}

/// One version of a group with its resources by plural name.
#[derive(Clone, Debug)]
pub struct Version {
    /// `v1`, `v1beta1`, ...
    pub name: Arc<str>,
    /// The resources, sorted by plural name.
    pub resources: Vec<Arc<Resource>>,
}

impl Registry {
    /// Only the built-in resources.
    pub fn built_in() -> Arc<Self> {
        builtin::registry()
    }

    /// The groups in the order discovery lists them; the core group comes first.
    pub fn groups(&self) -> impl Iterator<Item = &Arc<Group>> {
        self.groups.iter()
    }

    /// The group of that name.
    pub fn group(&self, name: &str) -> Option<&Arc<Group>> {
        self.by_name.get(name).map(|&at| &self.groups[at])
    }

    /// The resource served under that group, version and plural name.
    pub fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.group(group)?.version(version)?.get(plural)
    }

    /// The resource whose objects have that group, version and kind.
    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.group(group)?.version(version)?.resources.iter().find(|r| r.kind.kind == kind)
    }

    /// The resource in whichever version of the group is preferred among those that have it.
    pub fn preferred(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.group(group)?.versions.iter().find_map(|v| v.get(plural))
    }

    /// The same registry with `resources` (all versions of one CRD) served as `plural` of `group`, in place of what
    /// was there; none removes it. Built-in resources cannot be replaced.
    pub fn with_custom(&self, group: &str, plural: &str, resources: Vec<Arc<Resource>>) -> Self {
        let mut next = self.clone();
        let mut changed = match self.group(group) {
            Some(found) => Group::clone(found),
            None => Group { name: group.into(), versions: Vec::new() },
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

    /// Groups of CRDs stand behind the built-in ones, by name.
    fn insert(&mut self, group: Group) {
        let built_in = builtin::registry().groups.len();
        let behind = &self.groups[built_in.min(self.groups.len())..];
        let at = built_in + behind.partition_point(|g| g.name < group.name);
        self.groups.insert(at, Arc::new(group));
        self.index();
    }

    fn index(&mut self) {
        self.by_name = self.groups.iter().enumerate().map(|(at, g)| (g.name.clone(), at)).collect();
    }

    fn from_groups(groups: Vec<Arc<Group>>) -> Self {
        let mut registry = Self { groups, by_name: HashMap::new() };
        registry.index();
        registry
    }
}

impl Group {
    /// The version of that name.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|v| &*v.name == name)
    }

    fn replace(&mut self, plural: &str, resources: Vec<Arc<Resource>>) {
        for version in &mut self.versions {
            version.resources.retain(|r| &*r.plural != plural || r.custom.is_none());
        }
        for resource in resources {
            self.add(resource);
        }
        self.versions.retain(|v| !v.resources.is_empty());
    }

    fn add(&mut self, resource: Arc<Resource>) {
        let name = resource.kind.version.as_str();
        let at = match self.versions.iter().position(|v| &*v.name == name) {
            Some(at) => at,
            None => {
                let at = self.versions.partition_point(|v| compare_versions(&v.name, name).is_gt());
                self.versions.insert(at, Version { name: name.into(), resources: Vec::new() });
                at
            }
        };
        let resources = &mut self.versions[at].resources;
        if let Err(place) = resources.binary_search_by(|r| r.plural.cmp(&resource.plural)) {
            resources.insert(place, resource);
        }
    }
}

impl Version {
    /// The resource of that plural name.
    pub fn get(&self, plural: &str) -> Option<&Arc<Resource>> {
        let at = self.resources.binary_search_by(|r| (*r.plural).cmp(plural)).ok()?;
        Some(&self.resources[at])
    }
}
