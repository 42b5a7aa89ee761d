//! The three clusters of an operator, and which real ones they are.

mod namespaces;
mod references;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::decision::Write;
use crate::object::Object;
use crate::resource::{ObjectKey, Resource, Selection, TableKey};
pub use namespaces::{Collision, FOREIGN, MAX_NAMESPACE, Namespaces};
use references::{change_act, change_object, is_namespace};

/// A cluster as an operator thinks of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// Where the configuration that users write lives.
    #[default]
    Configuration,
    /// Where what manages the platform runs.
    Management,
    /// Where users run their workloads.
    UserWorkload,
}

impl Place {
    /// All three, in the order above.
    pub const ALL: [Place; 3] = [Place::Configuration, Place::Management, Place::UserWorkload];
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::Configuration => "configuration",
            Place::Management => "management",
            Place::UserWorkload => "user workload",
        })
    }
}

/// The name of a real cluster, as `switchboard.yaml` gives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterName(pub Arc<str>);

impl ClusterName {
    /// A cluster of that name.
    pub fn new(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which real cluster each place is, and which real namespaces its namespaces are.
///
/// An operator reads and writes in its own words; the topology is between them and the clusters, in both directions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Topology {
    /// The configuration cluster.
    pub configuration: ClusterName,
    /// The management cluster.
    pub management: ClusterName,
    /// The user workload cluster.
    pub user_workload: ClusterName,
    /// The namespaces of each of them.
    #[serde(default)]
    namespaces: Worlds,
}

/// The namespaces of each place, in the order of [`Place::ALL`].
type Worlds = [Namespaces; 3];

/// Two places that are one cluster, and namespaces of theirs that would meet there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {0} and the {1} cluster are one")]
pub struct Meeting(pub Place, pub Place, #[source] pub Collision);

impl Topology {
    /// All three places are one cluster.
    pub fn standalone(cluster: &ClusterName) -> Self {
        Self::of([cluster.clone(), cluster.clone(), cluster.clone()])
    }

    /// The real cluster of each place, in the order of [`Place::ALL`].
    pub fn of([configuration, management, user_workload]: [ClusterName; 3]) -> Self {
        Self { configuration, management, user_workload, namespaces: Worlds::default() }
    }

    /// With namespaces of other names, in the order of [`Place::ALL`].
    ///
    /// # Errors
    /// When namespaces of two places that are one cluster would meet.
    pub fn with_namespaces(self, namespaces: [Namespaces; 3]) -> Result<Self, Meeting> {
        let pairs = [(0, 1), (0, 2), (1, 2)];
        for (one, other) in pairs.map(|(one, other)| (Place::ALL[one], Place::ALL[other])) {
            if self.cluster(one) == self.cluster(other) {
                let met = namespaces[one as usize].beside(&namespaces[other as usize]);
                met.map_err(|collision| Meeting(one, other, collision))?;
            }
        }
        Ok(Self { namespaces, ..self })
    }

    /// Whether all three places are one cluster, and every namespace is itself.
    pub fn is_standalone(&self) -> bool {
        *self == Self::standalone(&self.configuration)
    }

    /// The real cluster of a place.
    pub fn cluster(&self, place: Place) -> &ClusterName {
        match place {
            Place::Configuration => &self.configuration,
            Place::Management => &self.management,
            Place::UserWorkload => &self.user_workload,
        }
    }

    /// Whether two places are one: what is read and written at the one is so at the other, by the same names.
    pub fn is_one(&self, one: Place, other: Place) -> bool {
        self.cluster(one) == self.cluster(other) && self.namespaces(one) == self.namespaces(other)
    }

    /// The namespaces of a place.
    pub fn namespaces(&self, place: Place) -> &Namespaces {
        &self.namespaces[place as usize]
    }

    /// A kind of a place.
    pub fn table(&self, place: Place, resource: &Resource) -> TableKey {
        TableKey { cluster: self.cluster(place).clone(), resource: Arc::new(resource.clone()) }
    }

    /// The real object that an operator means.
    pub fn object(&self, place: Place, resource: &Resource, namespace: &str, name: &str) -> ObjectKey {
        let namespaces = self.namespaces(place);
        let name = if is_namespace(resource) { namespaces.real(name) } else { name.into() };
        let namespace = namespaces.real(namespace);
        ObjectKey { table: self.table(place, resource), namespace: namespace.into(), name: name.into() }
    }

    /// Namespace and name that an operator knows a real object by; `None` for one that is not of its world.
    pub fn known_as(&self, place: Place, key: &ObjectKey) -> Option<(Arc<str>, Arc<str>)> {
        let namespaces = self.namespaces(place);
        if namespaces.is_same() {
            return Some((key.namespace.clone(), key.name.clone()));
        }
        if is_namespace(&key.table.resource) {
            return Some((key.namespace.clone(), namespaces.imagined(&key.name)?.into()));
        }
        let namespace = match key.namespace.is_empty() {
            true => key.namespace.clone(),
            false => namespaces.imagined(&key.namespace)?.into(),
        };
        Some((namespace, key.name.clone()))
    }

    /// A real object as an operator sees it; `None` for one that is not of its world. What it refers to outside of that is
    /// marked as [`FOREIGN`].
    ///
    /// # Guarantees
    /// - Written back, it is what it was. // test: guarantees_what_is_seen_and_written_back_is_what_it_was
    pub fn seen(&self, place: Place, object: Object) -> Option<Object> {
        let namespaces = self.namespaces(place);
        if namespaces.is_same() {
            return Some(object);
        }
        let (namespace, name) = self.known_as(place, &object.key)?;
        let mut value = object.whole();
        change_object(&object.key.table.resource, &mut value, &|real| namespaces.shown(real));
        let key = ObjectKey { table: object.key.table.clone(), namespace, name };
        Some(Object { key, revision: object.revision, json: Arc::from(value.to_string().into_bytes()) })
    }

    /// Which real objects an operator means, and whether labels and names are to be looked at only once they are seen: a
    /// Namespace has another name in the real world, and a label with it.
    pub fn selection(&self, place: Place, resource: &Resource, wanted: &Selection) -> (Selection, bool) {
        let namespaces = self.namespaces(place);
        if namespaces.is_same() {
            return (wanted.clone(), false);
        }
        let namespace = wanted.namespace.as_deref().map(|name| Arc::from(namespaces.real(name)));
        let late = is_namespace(resource) && !(wanted.labels.is_empty() && wanted.prefix.is_empty());
        let [labels, prefix] =
            [&wanted.labels, &wanted.prefix].map(|one| if late { Arc::default() } else { one.clone() });
        (Selection { namespace, labels, prefix }, late)
    }

    /// Makes a write in an operator's words the one that is carried out.
    ///
    /// # Errors
    /// When the real namespace cannot have its name, or is not of the operator's world, or a patch does not say whether what
    /// it sets is a namespace.
    pub fn carry_over(&self, write: &mut Write) -> Result<(), String> {
        let namespaces = self.namespaces(write.mutation.place);
        if namespaces.is_same() {
            return Ok(());
        }
        let wanted = &mut write.mutation;
        // References may lead out of an operator's world, writes may not.
        let own = if is_namespace(&wanted.resource) { &wanted.name } else { &wanted.namespace };
        if own.starts_with(FOREIGN) {
            return Err(format!("the namespace `{own}` is none of the operator's own on the {} cluster", wanted.place));
        }
        write.object = self.object(wanted.place, &wanted.resource, &wanted.namespace, &wanted.name);
        let real = if is_namespace(&wanted.resource) { &write.object.name } else { &write.object.namespace };
        if real.len() > MAX_NAMESPACE {
            return Err(format!(
                "the namespace would be `{real}` on the {} cluster, which is longer than {MAX_NAMESPACE} letters: give it a \
                 name under `topology.namespaces` or shorten the prefix",
                wanted.place
            ));
        }
        (wanted.namespace, wanted.name) = (write.object.namespace.to_string(), write.object.name.to_string());
        change_act(&wanted.resource, &mut wanted.act, &|name| namespaces.meant(name))?;
        if let Some(user) = &mut wanted.user {
            user.namespace = namespaces.real(&user.namespace).into_owned();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
