//! Cluster types of an operator, and the real clusters and namespaces they map to.

mod namespaces;
mod references;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::decision::Write;
use crate::object::Object;
use crate::resource::{ObjectKey, Resource, Selection, TableKey};
pub use namespaces::{FOREIGN, MAX_NAMESPACE, NamespaceCollision, NamespaceMapping};
use references::{is_namespace, map_object, map_operation};

/// Cluster as seen by an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClusterType {
    /// Cluster with the configuration that users write.
    #[default]
    Configuration,
    /// Cluster with the components that manage the platform.
    Management,
    /// Cluster with users' workloads.
    UserWorkload,
}

impl ClusterType {
    /// All cluster types, in the order above.
    pub const ALL: [ClusterType; 3] = [ClusterType::Configuration, ClusterType::Management, ClusterType::UserWorkload];
}

impl fmt::Display for ClusterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClusterType::Configuration => "configuration",
            ClusterType::Management => "management",
            ClusterType::UserWorkload => "user workload",
        })
    }
}

/// Name of a real cluster in `switchboard.yaml`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterName(pub Arc<str>);

impl ClusterName {
    /// Creates a name.
    pub fn new(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Real cluster and namespace mapping of each cluster type.
///
/// An operator uses cluster types and its own namespace names; the topology maps them to the real clusters, in both
/// directions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Topology {
    /// Configuration cluster.
    pub configuration: ClusterName,
    /// Management cluster.
    pub management: ClusterName,
    /// User workload cluster.
    pub user_workload: ClusterName,
    /// Namespace mapping of each cluster type.
    #[serde(default)]
    namespaces: NamespaceMappings,
}

/// Namespace mapping of each cluster type, in the order of [`ClusterType::ALL`].
type NamespaceMappings = [NamespaceMapping; 3];

/// Error: two cluster types are one cluster, and their namespaces overlap there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {0} and the {1} cluster are the same")]
pub struct ClusterTypeOverlap(pub ClusterType, pub ClusterType, #[source] pub NamespaceCollision);

impl Topology {
    /// Creates a topology with one cluster for all cluster types.
    pub fn standalone(cluster: &ClusterName) -> Self {
        Self::of([cluster.clone(), cluster.clone(), cluster.clone()])
    }

    /// Creates a topology with these clusters, in the order of [`ClusterType::ALL`].
    pub fn of([configuration, management, user_workload]: [ClusterName; 3]) -> Self {
        Self { configuration, management, user_workload, namespaces: NamespaceMappings::default() }
    }

    /// Adds namespace mappings, in the order of [`ClusterType::ALL`].
    ///
    /// # Errors
    /// When namespaces of two cluster types that are one cluster overlap.
    pub fn with_namespaces(self, namespaces: [NamespaceMapping; 3]) -> Result<Self, ClusterTypeOverlap> {
        let pairs = [(0, 1), (0, 2), (1, 2)];
        for (one, other) in pairs.map(|(one, other)| (ClusterType::ALL[one], ClusterType::ALL[other])) {
            if self.cluster(one) == self.cluster(other) {
                let met = namespaces[one as usize].check_overlap(&namespaces[other as usize]);
                met.map_err(|collision| ClusterTypeOverlap(one, other, collision))?;
            }
        }
        Ok(Self { namespaces, ..self })
    }

    /// Whether all cluster types are one cluster, and no namespace is mapped to another name.
    pub fn is_standalone(&self) -> bool {
        *self == Self::standalone(&self.configuration)
    }

    /// Returns the real cluster of a cluster type.
    pub fn cluster(&self, cluster_type: ClusterType) -> &ClusterName {
        match cluster_type {
            ClusterType::Configuration => &self.configuration,
            ClusterType::Management => &self.management,
            ClusterType::UserWorkload => &self.user_workload,
        }
    }

    /// Whether two cluster types have the same cluster and namespace mapping, so that reads and writes of one apply to
    /// the other.
    pub fn is_same(&self, one: ClusterType, other: ClusterType) -> bool {
        self.cluster(one) == self.cluster(other) && self.namespaces(one) == self.namespaces(other)
    }

    /// Returns the namespace mapping of a cluster type.
    pub fn namespaces(&self, cluster_type: ClusterType) -> &NamespaceMapping {
        &self.namespaces[cluster_type as usize]
    }

    /// Returns the key of a kind on the cluster of a cluster type.
    pub fn table(&self, cluster_type: ClusterType, resource: &Resource) -> TableKey {
        TableKey { cluster: self.cluster(cluster_type).clone(), resource: Arc::new(resource.clone()) }
    }

    /// Returns the real object for an operator's name.
    pub fn object(&self, cluster_type: ClusterType, resource: &Resource, namespace: &str, name: &str) -> ObjectKey {
        let namespaces = self.namespaces(cluster_type);
        let name = if is_namespace(resource) { namespaces.to_cluster(name) } else { name.into() };
        let namespace = namespaces.to_cluster(namespace);
        ObjectKey { table: self.table(cluster_type, resource), namespace: namespace.into(), name: name.into() }
    }

    /// Returns the operator's namespace and name of a real object; `None` if the operator has no name for it.
    pub fn operator_name(&self, cluster_type: ClusterType, key: &ObjectKey) -> Option<(Arc<str>, Arc<str>)> {
        let namespaces = self.namespaces(cluster_type);
        if namespaces.is_identity() {
            return Some((key.namespace.clone(), key.name.clone()));
        }
        if is_namespace(&key.table.resource) {
            return Some((key.namespace.clone(), namespaces.to_operator(&key.name)?.into()));
        }
        let namespace = match key.namespace.is_empty() {
            true => key.namespace.clone(),
            false => namespaces.to_operator(&key.namespace)?.into(),
        };
        Some((namespace, key.name.clone()))
    }

    /// Converts a real object to the operator's view of it; `None` if the operator has no name for it. References to
    /// other namespaces are marked with [`FOREIGN`].
    ///
    /// # Guarantees
    /// - A converted object that is written back is unchanged. // test: guarantees_an_object_written_back_is_unchanged
    pub fn to_operator(&self, cluster_type: ClusterType, object: Object) -> Option<Object> {
        let namespaces = self.namespaces(cluster_type);
        if namespaces.is_identity() {
            return Some(object);
        }
        let (namespace, name) = self.operator_name(cluster_type, &object.key)?;
        let mut value = object.full_value();
        map_object(&object.key.table.resource, &mut value, &|real| namespaces.reference_to_operator(real));
        let key = ObjectKey { table: object.key.table.clone(), namespace, name };
        Some(Object { key, revision: object.revision, json: Arc::from(value.to_string().into_bytes()) })
    }

    /// Converts an operator's selection to real objects. The second value is whether labels and names must be matched
    /// after conversion: a Namespace has another name and name label on the cluster.
    pub fn resolve_selection(
        &self,
        cluster_type: ClusterType,
        resource: &Resource,
        wanted: &Selection,
    ) -> (Selection, bool) {
        let namespaces = self.namespaces(cluster_type);
        if namespaces.is_identity() {
            return (wanted.clone(), false);
        }
        let namespace = wanted.namespace.as_deref().map(|name| Arc::from(namespaces.to_cluster(name)));
        let late = is_namespace(resource) && !(wanted.labels.is_empty() && wanted.prefix.is_empty());
        let [labels, prefix] =
            [&wanted.labels, &wanted.prefix].map(|one| if late { Arc::default() } else { one.clone() });
        (Selection { namespace, labels, prefix, rows: None }, late)
    }

    /// Converts an operator's write to the real object.
    ///
    /// # Errors
    /// When the real namespace name is invalid or not one of the operator's, or it is unknown whether a patch sets a
    /// namespace.
    pub fn resolve_write(&self, write: &mut Write) -> Result<(), String> {
        let namespaces = self.namespaces(write.mutation.cluster_type);
        if namespaces.is_identity() {
            return Ok(());
        }
        let wanted = &mut write.mutation;
        // An object may refer to foreign namespaces, but writes may not go there.
        let own = if is_namespace(&wanted.resource) { &wanted.name } else { &wanted.namespace };
        if own.starts_with(FOREIGN) {
            return Err(format!(
                "the namespace `{own}` is not one of the operator's on the {} cluster",
                wanted.cluster_type
            ));
        }
        write.object = self.object(wanted.cluster_type, &wanted.resource, &wanted.namespace, &wanted.name);
        let real = if is_namespace(&wanted.resource) { &write.object.name } else { &write.object.namespace };
        if real.len() > MAX_NAMESPACE {
            return Err(format!(
                "the namespace `{real}` on the {} cluster would be longer than {MAX_NAMESPACE} characters; map it under \
                 `topology.namespaces`, or shorten the prefix",
                wanted.cluster_type
            ));
        }
        (wanted.namespace, wanted.name) = (write.object.namespace.to_string(), write.object.name.to_string());
        map_operation(&wanted.resource, &mut wanted.operation, &|name| namespaces.reference_to_cluster(name))?;
        if let Some(user) = &mut wanted.user {
            user.namespace = namespaces.to_cluster(&user.namespace).into_owned();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
