//! Object names as users type them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::resource::{ObjectKey, Resource};
use crate::topology::ClusterName;

/// Object such as `configmap/web` in a namespace; the type is a kind or plural, with or without its group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectTarget {
    /// Cluster; any when absent.
    #[serde(default)]
    pub cluster: Option<String>,
    /// Type as typed.
    pub kind: String,
    /// Namespace; any when absent.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: String,
}

impl ObjectTarget {
    /// Creates the target of exactly this object.
    pub fn of(key: &ObjectKey) -> Self {
        let namespace = Some(key.namespace.to_string()).filter(|n| !n.is_empty());
        let cluster = Some(key.table.cluster.to_string());
        Self { cluster, kind: key.table.resource.to_string(), namespace, name: key.name.to_string() }
    }

    /// Whether the target matches an object.
    pub fn matches(&self, key: &ObjectKey) -> bool {
        self.matches_name(key)
            && self.matches_cluster(&key.table.cluster)
            && matches_typed_kind(&key.table.resource, &self.kind)
            && (key.namespace.is_empty() || self.namespace.as_deref().is_none_or(|n| *n == *key.namespace))
    }

    /// Whether the names are equal. The first column of a composite key looks like a namespace.
    fn matches_name(&self, key: &ObjectKey) -> bool {
        let is_joined =
            |first: &str| key.name.strip_prefix(first).and_then(|rest| rest.strip_prefix('/')) == Some(&self.name);
        *self.name == *key.name || key.table.is_rows() && self.namespace.as_deref().is_some_and(is_joined)
    }
}

impl ObjectTarget {
    /// Whether the target matches objects on a cluster.
    pub fn matches_cluster(&self, cluster: &ClusterName) -> bool {
        self.cluster.as_deref().is_none_or(|named| *named == *cluster.0)
    }

    /// Whether the target matches objects of a kind.
    pub fn matches_kind(&self, resource: &Resource) -> bool {
        matches_typed_kind(resource, &self.kind)
    }
}

/// Short names of built-in kinds, as in kubectl.
const SHORT: [(&str, &str); 22] = [
    ("cm", "configmaps"),
    ("crd", "customresourcedefinitions.apiextensions.k8s.io"),
    ("cj", "cronjobs.batch"),
    ("deploy", "deployments.apps"),
    ("ds", "daemonsets.apps"),
    ("ep", "endpoints"),
    ("ev", "events"),
    ("hpa", "horizontalpodautoscalers.autoscaling"),
    ("ing", "ingresses.networking.k8s.io"),
    ("limits", "limitranges"),
    ("netpol", "networkpolicies.networking.k8s.io"),
    ("no", "nodes"),
    ("ns", "namespaces"),
    ("pdb", "poddisruptionbudgets.policy"),
    ("po", "pods"),
    ("pv", "persistentvolumes"),
    ("pvc", "persistentvolumeclaims"),
    ("quota", "resourcequotas"),
    ("rs", "replicasets.apps"),
    ("sa", "serviceaccounts"),
    ("sts", "statefulsets.apps"),
    ("svc", "services"),
];

fn matches_typed_kind(resource: &Resource, typed: &str) -> bool {
    let typed = typed.to_ascii_lowercase();
    let typed = SHORT.iter().find(|(short, _)| *short == typed).map_or(typed.as_str(), |(_, long)| long);
    let kind = resource.kind.to_ascii_lowercase();
    let own = [&*kind, &resource.plural];
    own.iter().any(|name| **name == *typed || format!("{name}.{}", resource.group) == typed)
}

impl fmt::Display for ObjectTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{}/{namespace}/{}", self.kind, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}
