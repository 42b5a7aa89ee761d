//! Ownership graph for the controllers, and the work items that a change enqueues.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Deserializer};

use super::work_queue::{WorkItem, WorkQueue};
use crate::store::{StoreChange, StoreKey};

/// Finalizer of an object whose dependents are deleted first.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of an object whose dependents stay.
pub(super) const ORPHAN: &str = "orphan";
/// Kinds that own nothing and are never collected, because there are too many of them.
const IGNORED: [&str; 2] = ["events", "events.events.k8s.io"];
/// ConfigMap that every namespace has.
pub(super) const ROOT_CERTIFICATE: &str = "kube-root-ca.crt";
/// Service account that every namespace has.
pub(super) const DEFAULT_ACCOUNT: &str = "default";
/// Type of a Secret that holds a token.
pub(super) const TOKEN_TYPE: &str = "kubernetes.io/service-account-token";

/// Part of an object's metadata that the collector reads.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct OwnershipMetadata {
    pub uid: String,
    pub resource_version: String,
    pub deletion_timestamp: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub finalizers: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub owner_references: Vec<OwnerReference>,
}

/// Owner reference of a dependent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct OwnerReference {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub uid: String,
    pub block_owner_deletion: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OwnedObject {
    metadata: OwnershipMetadata,
}

fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl OwnershipMetadata {
    /// Reads the metadata of a stored object.
    pub fn read(object: &[u8]) -> Self {
        serde_json::from_slice::<OwnedObject>(object).unwrap_or_default().metadata
    }

    /// Whether the object is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Whether the object has the finalizer.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|f| f == finalizer)
    }

    /// Whether the object waits for its dependents to be deleted.
    pub fn waits_for_dependents(&self) -> bool {
        self.is_deleting() && self.has_finalizer(FOREGROUND)
    }
}

/// Owners, dependents and terminating objects.
#[derive(Debug, Default)]
pub(super) struct OwnershipGraph {
    /// Dependents by their owner's uid, and whether they block its deletion.
    dependents: HashMap<String, BTreeMap<StoreKey, bool>>,
    /// Owners of every object that has some.
    owners: HashMap<StoreKey, Vec<OwnerReference>>,
    /// Objects that wait for their dependents, by uid.
    waiting: HashMap<String, StoreKey>,
    /// Terminating namespaces.
    terminating: BTreeSet<StoreKey>,
    /// Terminating volumes and claims.
    protected: BTreeSet<StoreKey>,
    /// Dependents with an owner of a kind that was not served at the last lookup.
    unknown: Mutex<BTreeSet<StoreKey>>,
}

impl OwnershipGraph {
    /// Returns the objects that name this uid as their owner, and whether they block its deletion.
    pub fn dependents(&self, uid: &str) -> impl Iterator<Item = (&StoreKey, bool)> {
        self.dependents.get(uid).into_iter().flatten().map(|(key, blocks)| (key, *blocks))
    }

    /// Postpones a dependent until another kind is served.
    pub fn postpone(&self, key: &StoreKey) {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
    }

    /// Applies a change.
    pub fn apply_change(&mut self, change: &StoreChange, queue: &mut WorkQueue) {
        match &change.after {
            Some(record) => self.insert(&change.key, &record.bytes, queue),
            None => {
                let before = change.before.as_ref().map(|b| OwnershipMetadata::read(&b.bytes)).unwrap_or_default();
                self.remove(&change.key, &before.uid, queue);
            }
        }
        let namespace = StoreKey::new(change.key.cluster(), "namespaces", "", change.key.namespace());
        if self.terminating.contains(&namespace) {
            queue.add(WorkItem::Namespace(namespace));
        }
    }

    /// Adds or replaces an object.
    pub fn insert(&mut self, key: &StoreKey, object: &[u8], queue: &mut WorkQueue) {
        let text = std::str::from_utf8(object).unwrap_or_default();
        self.enqueue_kind_work(key, text, queue);
        if IGNORED.contains(&key.resource()) {
            return;
        }
        // Most objects have neither, and are not parsed.
        let of_interest = text.contains("\"ownerReferences\"") || text.contains("\"deletionTimestamp\"");
        if !of_interest && !self.owners.contains_key(key) {
            return;
        }
        let metadata = OwnershipMetadata::read(object);
        self.put_owners(key, &metadata, queue);
        if metadata.waits_for_dependents() {
            if self.waiting.insert(metadata.uid.clone(), key.clone()).is_none() {
                self.dependents(&metadata.uid).for_each(|(key, _)| queue.add(WorkItem::Collect(key.clone())));
            }
            queue.add(WorkItem::Collect(key.clone()));
        } else {
            self.waiting.remove(&metadata.uid);
        }
        if metadata.is_deleting() && metadata.has_finalizer(ORPHAN) {
            queue.add(WorkItem::Orphan(key.clone()));
        }
        if metadata.is_deleting() && matches!(key.resource(), "persistentvolumes" | "persistentvolumeclaims") {
            self.protected.insert(key.clone());
            queue.add(WorkItem::Release(key.clone()));
        }
    }

    fn put_owners(&mut self, key: &StoreKey, metadata: &OwnershipMetadata, queue: &mut WorkQueue) {
        let old = self.owners.get(key).cloned().unwrap_or_default();
        if old == metadata.owner_references {
            return;
        }
        for owner in &old {
            self.forget_dependent(&owner.uid, key);
            self.requeue_waiting(&owner.uid, queue);
        }
        for owner in &metadata.owner_references {
            let blocks = owner.block_owner_deletion == Some(true);
            self.dependents.entry(owner.uid.clone()).or_default().insert(key.clone(), blocks);
        }
        if metadata.owner_references.is_empty() {
            self.owners.remove(key);
        } else {
            self.owners.insert(key.clone(), metadata.owner_references.clone());
            queue.add(WorkItem::Collect(key.clone()));
        }
    }

    fn forget_dependent(&mut self, owner: &str, key: &StoreKey) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(key);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    fn requeue_waiting(&self, uid: &str, queue: &mut WorkQueue) {
        if let Some(owner) = self.waiting.get(uid) {
            queue.add(WorkItem::Collect(owner.clone()));
        }
    }

    fn remove(&mut self, key: &StoreKey, uid: &str, queue: &mut WorkQueue) {
        for owner in self.owners.remove(key).unwrap_or_default() {
            self.forget_dependent(&owner.uid, key);
            self.requeue_waiting(&owner.uid, queue);
        }
        self.waiting.remove(uid);
        self.dependents(uid).for_each(|(key, _)| queue.add(WorkItem::Collect(key.clone())));
        self.protected.remove(key);
        let namespace = || StoreKey::new(key.cluster(), "namespaces", "", key.namespace());
        match (key.resource(), key.name()) {
            ("namespaces", _) => drop(self.terminating.remove(key)),
            ("serviceaccounts", name) => {
                if name == DEFAULT_ACCOUNT {
                    queue.add(WorkItem::Provision(namespace()));
                }
                queue.add(WorkItem::Token(StoreKey::new(key.cluster(), "secrets", key.namespace(), "")));
            }
            ("configmaps", ROOT_CERTIFICATE) => queue.add(WorkItem::Provision(namespace())),
            ("pods", _) => self.requeue_protected(key, queue),
            ("clusterroles.rbac.authorization.k8s.io", _) => queue.add(WorkItem::Aggregate(key.cluster().into())),
            _ => {}
        }
    }

    /// Enqueues the work of kinds with a controller of their own.
    fn enqueue_kind_work(&mut self, key: &StoreKey, text: &str, queue: &mut WorkQueue) {
        match (key.resource(), key.name()) {
            ("namespaces", _) if text.contains("\"deletionTimestamp\"") => {
                self.terminating.insert(key.clone());
                queue.add(WorkItem::Namespace(key.clone()));
            }
            ("namespaces", _) => queue.add(WorkItem::Provision(key.clone())),
            ("configmaps", ROOT_CERTIFICATE) => {
                queue.add(WorkItem::Provision(StoreKey::new(key.cluster(), "namespaces", "", key.namespace())));
            }
            ("serviceaccounts", _) => {
                queue.add(WorkItem::Token(StoreKey::new(key.cluster(), "secrets", key.namespace(), "")));
            }
            ("secrets", _) if text.contains(TOKEN_TYPE) => queue.add(WorkItem::Token(key.clone())),
            ("pods", _) => self.requeue_protected(key, queue),
            ("clusterroles.rbac.authorization.k8s.io", _) => queue.add(WorkItem::Aggregate(Arc::from(key.cluster()))),
            // The kind of an owner may be served now.
            ("customresourcedefinitions.apiextensions.k8s.io", _) => {
                let unknown = self.unknown.get_mut().unwrap_or_else(PoisonError::into_inner);
                for key in std::mem::take(unknown) {
                    queue.add(WorkItem::Collect(key));
                }
            }
            _ => {}
        }
    }

    fn requeue_protected(&self, pod: &StoreKey, queue: &mut WorkQueue) {
        let same_place = |key: &&StoreKey| key.cluster() == pod.cluster() && key.namespace() == pod.namespace();
        self.protected.iter().filter(same_place).for_each(|key| queue.add(WorkItem::Release(key.clone())));
    }
}
