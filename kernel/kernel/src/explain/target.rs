//! An object as people type it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::place::ClusterName;
use crate::resource::{ObjectKey, Resource};

/// `configmap/web` in a namespace; the kind by kind, plural or either with its group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The cluster; any when absent.
    #[serde(default)]
    pub cluster: Option<String>,
    /// The kind as typed.
    pub kind: String,
    /// The namespace; of any when absent.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl Target {
    /// Exactly this object.
    pub fn of(key: &ObjectKey) -> Self {
        let namespace = Some(key.namespace.to_string()).filter(|n| !n.is_empty());
        let cluster = Some(key.table.cluster.to_string());
        Self { cluster, kind: key.table.resource.to_string(), namespace, name: key.name.to_string() }
    }

    /// Whether it means that object.
    pub fn is(&self, key: &ObjectKey) -> bool {
        *self.name == *key.name
            && self.is_on(&key.table.cluster)
            && names(&key.table.resource, &self.kind)
            && (key.namespace.is_empty() || self.namespace.as_deref().is_none_or(|n| *n == *key.namespace))
    }
}

impl Target {
    /// Whether it means objects of that cluster.
    pub fn is_on(&self, cluster: &ClusterName) -> bool {
        self.cluster.as_deref().is_none_or(|named| *named == *cluster.0)
    }

    /// Whether it means objects of that kind.
    pub fn is_of(&self, resource: &Resource) -> bool {
        names(resource, &self.kind)
    }

    /// Whether its kind is one that every cluster has.
    pub fn is_built_in(&self) -> bool {
        let typed = self.kind.to_ascii_lowercase();
        let typed = typed.split('.').next().unwrap_or_default();
        let plural = |kind: &str| match kind.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None if kind.ends_with('s') => format!("{kind}es"),
            None => format!("{kind}s"),
        };
        SHORT.iter().any(|(short, _)| *short == typed)
            || BUILT_IN.iter().any(|kind| *kind == typed || plural(kind) == typed)
    }
}

/// The kinds of Kubernetes itself.
const BUILT_IN: [&str; 43] = [
    "apiservice",
    "certificatesigningrequest",
    "clusterrole",
    "clusterrolebinding",
    "configmap",
    "controllerrevision",
    "cronjob",
    "csidriver",
    "csinode",
    "customresourcedefinition",
    "daemonset",
    "deployment",
    "endpoints",
    "endpointslice",
    "event",
    "horizontalpodautoscaler",
    "ingress",
    "ingressclass",
    "job",
    "lease",
    "limitrange",
    "mutatingwebhookconfiguration",
    "namespace",
    "networkpolicy",
    "node",
    "persistentvolume",
    "persistentvolumeclaim",
    "pod",
    "poddisruptionbudget",
    "podtemplate",
    "priorityclass",
    "replicaset",
    "replicationcontroller",
    "resourcequota",
    "role",
    "rolebinding",
    "runtimeclass",
    "secret",
    "service",
    "serviceaccount",
    "statefulset",
    "storageclass",
    "validatingwebhookconfiguration",
];

/// The short names that kubectl knows of built-in kinds.
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

fn names(resource: &Resource, typed: &str) -> bool {
    let typed = typed.to_ascii_lowercase();
    let typed = SHORT.iter().find(|(short, _)| *short == typed).map_or(typed.as_str(), |(_, long)| long);
    let kind = resource.kind.to_ascii_lowercase();
    let own = [&*kind, &resource.plural];
    own.iter().any(|name| **name == *typed || format!("{name}.{}", resource.group) == typed)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{}/{namespace}/{}", self.kind, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}
