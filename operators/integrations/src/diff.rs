//! Differences between two sets of desired objects, field by field. Equal changes are reported once.

mod fields;
mod markdown;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

pub use fields::{FieldChange, changes};

use crate::desired::{DesiredIntegration, DesiredNamespace, DesiredObject, DesiredObjects};
use crate::model::DisabledEntry;
use crate::problem::DataProblem;

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The object is created.
    Added,
    /// The object is changed.
    Changed,
    /// The object is deleted.
    Removed,
}

/// Location of a changed object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ObjectLocation {
    /// Environment of the namespace.
    pub environment: String,
    /// Cluster.
    pub cluster: String,
    /// Namespace.
    pub namespace: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Integration; empty for shared objects.
    pub integration: String,
    /// Shard; empty if there is only one.
    pub shard: String,
}

/// Objects with the same change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeGroup {
    /// Kind of the change.
    pub fate: ChangeKind,
    /// Changed fields; empty for created and deleted objects.
    pub fields: Vec<FieldChange>,
    /// Objects.
    pub objects: Vec<ObjectLocation>,
}

/// All changes between two bundles.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DiffReport {
    /// SHA of the old bundle.
    pub from: String,
    /// SHA of the new bundle.
    pub to: String,
    /// Changes, those with the most objects first.
    pub groups: Vec<ChangeGroup>,
    /// Problems of the new bundle only.
    pub new_problems: Vec<DataProblem>,
    /// Problems of both bundles.
    pub old_problems: Vec<DataProblem>,
}

impl DiffReport {
    /// Compares two sets of desired objects.
    pub fn compare(from: &DesiredObjects, to: &DesiredObjects) -> Self {
        let (before, after) = (located_objects(from), located_objects(to));
        let mut groups: BTreeMap<(ChangeKind, String, String), ChangeGroup> = BTreeMap::new();
        let keys: BTreeSet<&LocationKey<'_>> = before.keys().chain(after.keys()).collect();
        for key in keys {
            let (fate, fields, place) = match (before.get(key), after.get(key)) {
                (Some(one), Some(other)) if one.1.hash == other.1.hash => continue,
                (Some(one), Some(other)) => (ChangeKind::Changed, changes(&one.1.body, &other.1.body), &other.0),
                (None, Some(other)) => (ChangeKind::Added, Vec::new(), &other.0),
                (Some(one), None) if is_retained(to, &one.0) => continue,
                (Some(one), None) => (ChangeKind::Removed, Vec::new(), &one.0),
                (None, None) => continue,
            };
            let whose = if fate == ChangeKind::Changed { String::new() } else { place.integration.clone() };
            let same = serde_json::to_string(&fields).unwrap_or_default();
            let group = groups.entry((fate, whose, same));
            group.or_insert_with(|| ChangeGroup { fate, fields, objects: Vec::new() }).objects.push(place.clone());
        }
        let mut groups: Vec<ChangeGroup> = groups.into_values().collect();
        groups.iter_mut().for_each(|group| group.objects.sort());
        groups.sort_by(|a, b| (a.fate, b.objects.len(), &a.objects).cmp(&(b.fate, a.objects.len(), &b.objects)));
        let (old, now): (BTreeSet<DataProblem>, BTreeSet<DataProblem>) =
            (from.problems().into_iter().collect(), to.problems().into_iter().collect());
        Self {
            from: from.sha.clone(),
            to: to.sha.clone(),
            groups,
            new_problems: now.difference(&old).cloned().collect(),
            old_problems: now.intersection(&old).cloned().collect(),
        }
    }

    /// Whether any object changes.
    pub fn changes(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Returns the number of objects with this kind of change.
    pub fn count(&self, fate: ChangeKind) -> usize {
        self.groups.iter().filter(|group| group.fate == fate).map(|group| group.objects.len()).sum()
    }
}

/// Whether an object that is no longer desired is kept because its entry has a problem: an invalid file causes no
/// deletions.
fn is_retained(to: &DesiredObjects, place: &ObjectLocation) -> bool {
    let is_of = |one: &DisabledEntry| {
        let here = |(cluster, name): &(Arc<str>, Arc<str>)| **cluster == *place.cluster && **name == *place.namespace;
        one.integration.as_deref().is_none_or(|name| name == place.integration)
            && one.namespace.as_ref().is_none_or(here)
    };
    let target = to.namespaces.get(&(Arc::from(place.cluster.as_str()), Arc::from(place.namespace.as_str())));
    let mut here = target.into_iter().flat_map(|target| &target.integrations);
    !to.unreadable.is_empty()
        || to.disabled.iter().any(is_of)
        || here.any(|one| !one.incomplete.is_empty() && *one.entry.integration == *place.integration)
}

type LocationKey<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Returns all objects with their locations.
fn located_objects(desired: &DesiredObjects) -> BTreeMap<LocationKey<'_>, (ObjectLocation, &DesiredObject)> {
    let mut all = BTreeMap::new();
    for ((cluster, namespace), target) in &desired.namespaces {
        let mut put = |integration: Option<&DesiredIntegration>, object| {
            let key = (&**cluster, &**namespace, object_kind(object), object.name.as_str());
            all.insert(key, (location(target, integration, object), object));
        };
        for one in &target.integrations {
            one.objects.iter().for_each(|object| put(Some(one), object));
        }
        target.shared.iter().for_each(|object| put(None, object));
    }
    all
}

fn object_kind(object: &DesiredObject) -> &str {
    &object.kind.kind
}

fn location(
    target: &DesiredNamespace,
    integration: Option<&DesiredIntegration>,
    object: &DesiredObject,
) -> ObjectLocation {
    let alone = integration.is_none_or(|one| one.shards.len() == 1 && one.shards[0].key.is_empty());
    let shard = object.shard.as_ref().filter(|_| !alone).map(crate::sharding::Shard::name);
    ObjectLocation {
        environment: target.namespace.environment.name.to_string(),
        cluster: target.namespace.cluster.name.to_string(),
        namespace: target.namespace.name.to_string(),
        kind: object.kind.kind.to_string(),
        name: object.name.clone(),
        integration: integration.map(|one| one.entry.integration.to_string()).unwrap_or_default(),
        shard: shard.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
