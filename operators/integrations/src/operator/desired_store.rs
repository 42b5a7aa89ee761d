//! Store of the desired objects, written by the program and read by the operators.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use switchboard_kernel::operator::Unit;

use super::question::{DesiredState, IntegrationAnswer, NamespaceAnswer, ObjectState};
use super::{DeletionGuard, WHOLE_NAMESPACE};
use crate::desired::{DesiredNamespace, DesiredObject, DesiredObjects};
use crate::source::sha256;

/// Current desired objects, shared by all operators.
#[derive(Default)]
pub struct DesiredStore {
    snapshot: RwLock<Arc<StoreSnapshot>>,
    guard: DeletionGuard,
    compat: bool,
    take_over: bool,
    shard_labels: bool,
}

#[derive(Default)]
struct StoreSnapshot {
    desired: Arc<DesiredObjects>,
    /// Digest of the desired state of each unit.
    units: BTreeMap<Arc<str>, BTreeMap<Unit, String>>,
}

/// Units of a cluster, and those whose desired state has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitChanges {
    /// Cluster.
    pub cluster: Arc<str>,
    /// All units.
    pub units: BTreeSet<Unit>,
    /// Units to trigger.
    pub changed: Vec<Unit>,
}

impl DesiredStore {
    /// Creates an empty store. `compat` deletes and takes over like qontract-reconcile; `take_over` only takes over
    /// objects of other managers.
    pub fn new(guard: DeletionGuard, compat: bool, take_over: bool) -> Self {
        Self { snapshot: RwLock::default(), guard, compat, take_over, shard_labels: false }
    }

    /// Adds a shard label to the selectors of new workloads, which qontract-reconcile does not support.
    #[must_use]
    pub fn with_shard_labels(self, shard_labels: bool) -> Self {
        Self { shard_labels: shard_labels && !self.compat, ..self }
    }

    /// Replaces the desired objects and returns the changed units.
    pub fn replace(&self, desired: Arc<DesiredObjects>) -> Vec<UnitChanges> {
        let units = units(&desired);
        let wanted = Arc::new(StoreSnapshot { desired, units });
        let before =
            std::mem::replace(&mut *self.snapshot.write().unwrap_or_else(PoisonError::into_inner), wanted.clone());
        let clusters: BTreeSet<&Arc<str>> = wanted.units.keys().chain(before.units.keys()).collect();
        let nothing = BTreeMap::new();
        clusters
            .into_iter()
            .map(|cluster| {
                let now = wanted.units.get(cluster).unwrap_or(&nothing);
                let then = before.units.get(cluster).unwrap_or(&nothing);
                let changed = now.iter().filter(|(unit, hash)| then.get(unit) != Some(hash));
                let gone = then.keys().filter(|unit| !now.contains_key(unit));
                UnitChanges {
                    cluster: cluster.clone(),
                    units: now.keys().cloned().collect(),
                    changed: changed.map(|(unit, _)| unit).chain(gone).cloned().collect(),
                }
            })
            .collect()
    }

    /// Returns the current desired objects.
    pub fn desired(&self) -> Arc<DesiredObjects> {
        self.current().desired.clone()
    }

    /// Returns the units of a cluster.
    pub fn units(&self, cluster: &str) -> BTreeSet<Unit> {
        self.current().units.get(cluster).map(|units| units.keys().cloned().collect()).unwrap_or_default()
    }

    fn current(&self) -> Arc<StoreSnapshot> {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the desired state of an integration in a namespace; `None` if nothing is desired.
    pub(super) fn integration(&self, cluster: &str, namespace: &str, name: &str) -> Option<IntegrationAnswer> {
        let desired = self.desired();
        let target = desired.namespaces.get(&(Arc::from(cluster), Arc::from(namespace)));
        match target.and_then(|target| target.integration(name)) {
            Some(one) => Some(IntegrationAnswer::Desired(self.state(&desired, &one.objects, false))),
            None => problem_of_entry(&desired, cluster, namespace, name).map(IntegrationAnswer::Problem),
        }
    }

    /// Returns the desired state of a namespace; `None` if the namespace is not known.
    pub(super) fn namespace(&self, cluster: &str, namespace: &str) -> Option<NamespaceAnswer> {
        let desired = self.desired();
        if !is_known_namespace(&desired, cluster, namespace) {
            return None;
        }
        let target = desired.namespaces.get(&(Arc::from(cluster), Arc::from(namespace)));
        let all = target.map(DesiredNamespace::objects).unwrap_or_default();
        let incomplete = target.into_iter().flat_map(|target| &target.integrations);
        let incomplete = incomplete.filter(|one| !one.incomplete.is_empty()).map(|one| &one.entry.integration);
        let here =
            |one: &&crate::model::DisabledEntry| one.namespace.as_ref().is_none_or(|(_, name)| **name == *namespace);
        let disabled: Vec<_> = desired.disabled.iter().filter(here).collect();
        // An unreadable file may contain any integration, so nothing is deleted until it is readable. Shared objects
        // are also kept if no integration of the namespace is valid, or if they could not be rendered.
        let keep_all =
            desired.unreadable.first().or_else(|| target.and_then(|target| target.broken.as_ref())).or_else(|| {
                disabled.iter().find(|one| one.integration.is_none() || target.is_none()).map(|one| &one.problem)
            });
        let keep: BTreeSet<&Arc<str>> =
            disabled.iter().filter_map(|one| one.integration.as_ref()).chain(incomplete).collect();
        Some(NamespaceAnswer {
            state: self.state(&desired, target.map(|target| target.shared.as_slice()).unwrap_or_default(), true),
            names: all.into_iter().map(|object| (object.kind.kind.to_string(), object.name.to_string())).collect(),
            keep_all: keep_all.map(ToString::to_string),
            keep: keep.into_iter().map(ToString::to_string).collect(),
            guard: self.guard,
        })
    }

    fn state(&self, desired: &DesiredObjects, objects: &[DesiredObject], shared: bool) -> DesiredState {
        DesiredState {
            objects: objects.iter().map(object_state).collect(),
            shared,
            caller: desired.caller.to_string(),
            bundle: desired.sha.to_string(),
            compat: self.compat,
            take_over: self.take_over,
            // In qontract-reconcile, a run without an upstream deletes objects of all upstreams.
            unscoped: self.compat && desired.is_upstream_default,
            shard_labels: self.shard_labels,
        }
    }
}

fn object_state(object: &DesiredObject) -> ObjectState {
    ObjectState {
        kind: object.kind.kind.to_string(),
        name: object.name.to_string(),
        hash: object.hash.to_string(),
        body: object.body.clone(),
        shard: object.shard.as_ref().map(|shard| shard.suffix.trim_start_matches('-').to_string()),
    }
}

fn is_known_namespace(desired: &DesiredObjects, cluster: &str, namespace: &str) -> bool {
    let empty =
        |one: &Arc<crate::model::IntegrationNamespace>| *one.cluster.name == *cluster && *one.name == *namespace;
    desired.namespaces.contains_key(&(Arc::from(cluster), Arc::from(namespace))) || desired.empty.iter().any(empty)
}

fn problem_of_entry(desired: &DesiredObjects, cluster: &str, namespace: &str, integration: &str) -> Option<String> {
    let here = |one: &&crate::model::DisabledEntry| {
        one.integration.as_deref() == Some(integration)
            && one.namespace.as_ref().is_some_and(|(c, n)| **c == *cluster && **n == *namespace)
    };
    desired.disabled.iter().find(here).map(|one| one.problem.to_string())
}

/// Computes the digests of all units.
fn units(desired: &DesiredObjects) -> BTreeMap<Arc<str>, BTreeMap<Unit, String>> {
    let mut units: BTreeMap<Arc<str>, BTreeMap<Unit, String>> = BTreeMap::new();
    let mut kept = String::new();
    for problem in desired.problems() {
        kept.push_str(&problem.to_string());
    }
    for ((cluster, namespace), target) in &desired.namespaces {
        let of_cluster = units.entry(cluster.clone()).or_default();
        let mut names = format!("{kept}\n{}", desired.caller);
        for one in &target.integrations {
            let hashes: String = one.objects.iter().map(|object| object.hash.as_str()).collect();
            names.extend(one.objects.iter().map(|object| format!("{} {}\n", object.kind.kind, object.name)));
            let unit = Unit::object(namespace, &one.entry.integration);
            of_cluster.insert(unit, sha256(format!("{}{hashes}", desired.caller).as_bytes()));
        }
        names.extend(target.shared.iter().map(|object| format!("{} {}\n", object.name, object.hash)));
        of_cluster.insert(Unit::object(namespace, WHOLE_NAMESPACE), sha256(names.as_bytes()));
    }
    for one in &desired.disabled {
        if let (Some((cluster, namespace)), Some(name)) = (&one.namespace, &one.integration) {
            let unit = Unit::object(namespace, name);
            let of_cluster = units.entry(cluster.clone()).or_default();
            of_cluster.insert(unit, one.problem.to_string());
        }
    }
    // The program decides whether to connect to a cluster for these units alone.
    for one in &desired.empty {
        let unit = Unit::object(&one.name, WHOLE_NAMESPACE);
        let of_cluster = units.entry(one.cluster.name.clone()).or_default();
        of_cluster.entry(unit).or_insert_with(|| sha256(kept.as_bytes()));
    }
    units
}
