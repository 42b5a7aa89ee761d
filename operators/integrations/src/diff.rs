//! What changes between two sets of wanted objects: field by field, the same change told once.

mod fields;
mod markdown;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

pub use fields::{FieldChange, changes};

use crate::desired::{Desired, Installed, Object, Target};
use crate::model::Disabled;
use crate::problem::Problem;

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// It is made.
    Added,
    /// It is another.
    Changed,
    /// It is deleted.
    Removed,
}

/// An object that does not stay as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The environment of its namespace.
    pub environment: String,
    /// Its cluster.
    pub cluster: String,
    /// Its namespace.
    pub namespace: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The integration; empty for what is shared.
    pub integration: String,
    /// The shard; empty where there is one alone.
    pub shard: String,
}

/// One change, and all objects it is made to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// What happens to them.
    pub fate: Fate,
    /// Which fields change and how; none for objects that are made or deleted.
    pub fields: Vec<FieldChange>,
    /// The objects.
    pub objects: Vec<Place>,
}

/// All that changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The bundle before.
    pub from: String,
    /// The bundle after.
    pub to: String,
    /// The changes; those of most objects first.
    pub groups: Vec<Group>,
    /// What was not wrong before.
    pub new_problems: Vec<Problem>,
    /// What is wrong in both.
    pub old_problems: Vec<Problem>,
}

impl Report {
    /// What changes between two sets.
    pub fn of(from: &Desired, to: &Desired) -> Self {
        let (before, after) = (placed(from), placed(to));
        let mut groups: BTreeMap<(Fate, String, String), Group> = BTreeMap::new();
        let keys: BTreeSet<&Key<'_>> = before.keys().chain(after.keys()).collect();
        for key in keys {
            let (fate, fields, place) = match (before.get(key), after.get(key)) {
                (Some(one), Some(other)) if one.1.hash == other.1.hash => continue,
                (Some(one), Some(other)) => (Fate::Changed, changes(&one.1.body, &other.1.body), &other.0),
                (None, Some(other)) => (Fate::Added, Vec::new(), &other.0),
                (Some(one), None) if stays(to, &one.0) => continue,
                (Some(one), None) => (Fate::Removed, Vec::new(), &one.0),
                (None, None) => continue,
            };
            let whose = if fate == Fate::Changed { String::new() } else { place.integration.clone() };
            let same = serde_json::to_string(&fields).unwrap_or_default();
            let group = groups.entry((fate, whose, same));
            group.or_insert_with(|| Group { fate, fields, objects: Vec::new() }).objects.push(place.clone());
        }
        let mut groups: Vec<Group> = groups.into_values().collect();
        groups.iter_mut().for_each(|group| group.objects.sort());
        groups.sort_by(|a, b| (a.fate, b.objects.len(), &a.objects).cmp(&(b.fate, a.objects.len(), &b.objects)));
        let (old, now): (BTreeSet<Problem>, BTreeSet<Problem>) =
            (from.problems().into_iter().collect(), to.problems().into_iter().collect());
        Self {
            from: from.sha.clone(),
            to: to.sha.clone(),
            groups,
            new_problems: now.difference(&old).cloned().collect(),
            old_problems: now.intersection(&old).cloned().collect(),
        }
    }

    /// Whether something changes.
    pub fn changes(&self) -> bool {
        !self.groups.is_empty()
    }

    /// How many objects have that fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.groups.iter().filter(|group| group.fate == fate).map(|group| group.objects.len()).sum()
    }
}

/// Whether an object that is no longer wanted is left alone all the same, because what is said of it cannot be read: nothing is
/// deleted on account of a mistake.
fn stays(to: &Desired, place: &Place) -> bool {
    let is_of = |one: &Disabled| {
        let here = |(cluster, name): &(Arc<str>, Arc<str>)| **cluster == *place.cluster && **name == *place.namespace;
        one.integration.as_deref().is_none_or(|name| name == place.integration)
            && one.namespace.as_ref().is_none_or(here)
    };
    let target = to.targets.get(&(Arc::from(place.cluster.as_str()), Arc::from(place.namespace.as_str())));
    let mut here = target.into_iter().flat_map(|target| &target.integrations);
    !to.unreadable.is_empty()
        || to.disabled.iter().any(is_of)
        || here.any(|one| !one.incomplete.is_empty() && *one.entry.integration == *place.integration)
}

type Key<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Every object with where it is.
fn placed(desired: &Desired) -> BTreeMap<Key<'_>, (Place, &Object)> {
    let mut all = BTreeMap::new();
    for ((cluster, namespace), target) in &desired.targets {
        let mut put = |integration: Option<&Installed>, object| {
            let key = (&**cluster, &**namespace, object_kind(object), object.name.as_str());
            all.insert(key, (place(target, integration, object), object));
        };
        for one in &target.integrations {
            one.objects.iter().for_each(|object| put(Some(one), object));
        }
        target.shared.iter().for_each(|object| put(None, object));
    }
    all
}

fn object_kind(object: &Object) -> &str {
    &object.kind.kind
}

fn place(target: &Target, integration: Option<&Installed>, object: &Object) -> Place {
    let alone = integration.is_none_or(|one| one.shards.len() == 1 && one.shards[0].key.is_empty());
    let shard = object.shard.as_ref().filter(|_| !alone).map(crate::sharding::Shard::name);
    Place {
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
