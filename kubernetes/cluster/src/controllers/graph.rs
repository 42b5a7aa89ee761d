//! What depends on what, as far as the controllers must know it; and which work a change asks for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Deserializer};

use super::queue::{Queue, Work};
use crate::store::{Change, Key};

/// The finalizer of an object whose dependents go first.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents stay.
pub(super) const ORPHAN: &str = "orphan";
/// Objects of these kinds own nothing and are never collected: there are too many of them.
const IGNORED: [&str; 2] = ["events", "events.events.k8s.io"];
/// The ConfigMap every namespace has.
pub(super) const ROOT_CERTIFICATE: &str = "kube-root-ca.crt";
/// The service account every namespace has.
pub(super) const DEFAULT_ACCOUNT: &str = "default";
/// The type of a Secret that holds a token.
pub(super) const TOKEN_TYPE: &str = "kubernetes.io/service-account-token";

/// The part of an object's metadata the collector reads.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Metadata {
    pub uid: String,
    pub resource_version: String,
    pub deletion_timestamp: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub finalizers: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub owner_references: Vec<OwnerReference>,
}

/// One owner, as its dependent names it.
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
struct Object {
    metadata: Metadata,
}

fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Metadata {
    /// Reads it from a stored object.
    pub fn read(object: &[u8]) -> Self {
        serde_json::from_slice::<Object>(object).unwrap_or_default().metadata
    }

    /// The object is being deleted.
    pub fn is_going(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// The object has that finalizer.
    pub fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|f| f == finalizer)
    }

    /// The object waits for its dependents to be deleted.
    pub fn waits_for_dependents(&self) -> bool {
        self.is_going() && self.has(FOREGROUND)
    }
}

/// Owners and dependents, and what is on its way out.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// By the owner's uid: its dependents, and whether they block its deletion.
    dependents: HashMap<String, BTreeMap<Key, bool>>,
    /// The owners of every object that has some.
    owners: HashMap<Key, Vec<OwnerReference>>,
    /// By uid: objects that wait for their dependents.
    waiting: HashMap<String, Key>,
    /// Namespaces on their way out.
    terminating: BTreeSet<Key>,
    /// Volumes and claims on their way out.
    protected: BTreeSet<Key>,
    /// Dependents with an owner of a kind that nobody served when it was looked for.
    unknown: Mutex<BTreeSet<Key>>,
}

impl Graph {
    /// The objects that name this uid as their owner, and whether they block its deletion.
    pub fn dependents(&self, uid: &str) -> impl Iterator<Item = (&Key, bool)> {
        self.dependents.get(uid).into_iter().flatten().map(|(key, blocks)| (key, *blocks))
    }

    /// Remembers a dependent until another kind is served.
    pub fn postpone(&self, key: &Key) {
        self.unknown.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
    }

    /// Takes in a change.
    pub fn take(&mut self, change: &Change, queue: &mut Queue) {
        match &change.after {
            Some(record) => self.put(&change.key, &record.bytes, queue),
            None => {
                let before = change.before.as_ref().map(|b| Metadata::read(&b.bytes)).unwrap_or_default();
                self.remove(&change.key, &before.uid, queue);
            }
        }
        let namespace = Key::new(change.key.cluster(), "namespaces", "", change.key.namespace());
        if self.terminating.contains(&namespace) {
            queue.add(Work::Namespace(namespace));
        }
    }

    /// Takes in an object as it is now.
    pub fn put(&mut self, key: &Key, object: &[u8], queue: &mut Queue) {
        let text = std::str::from_utf8(object).unwrap_or_default();
        self.put_special(key, text, queue);
        if IGNORED.contains(&key.resource()) {
            return;
        }
        // Most objects have neither, and are not worth parsing.
        let of_interest = text.contains("\"ownerReferences\"") || text.contains("\"deletionTimestamp\"");
        if !of_interest && !self.owners.contains_key(key) {
            return;
        }
        let metadata = Metadata::read(object);
        self.put_owners(key, &metadata, queue);
        if metadata.waits_for_dependents() {
            if self.waiting.insert(metadata.uid.clone(), key.clone()).is_none() {
                self.dependents(&metadata.uid).for_each(|(key, _)| queue.add(Work::Collect(key.clone())));
            }
            queue.add(Work::Collect(key.clone()));
        } else {
            self.waiting.remove(&metadata.uid);
        }
        if metadata.is_going() && metadata.has(ORPHAN) {
            queue.add(Work::Orphan(key.clone()));
        }
        if metadata.is_going() && matches!(key.resource(), "persistentvolumes" | "persistentvolumeclaims") {
            self.protected.insert(key.clone());
            queue.add(Work::Release(key.clone()));
        }
    }

    fn put_owners(&mut self, key: &Key, metadata: &Metadata, queue: &mut Queue) {
        let old = self.owners.get(key).cloned().unwrap_or_default();
        if old == metadata.owner_references {
            return;
        }
        for owner in &old {
            self.forget_dependent(&owner.uid, key);
            self.wake_waiting(&owner.uid, queue);
        }
        for owner in &metadata.owner_references {
            let blocks = owner.block_owner_deletion == Some(true);
            self.dependents.entry(owner.uid.clone()).or_default().insert(key.clone(), blocks);
        }
        if metadata.owner_references.is_empty() {
            self.owners.remove(key);
        } else {
            self.owners.insert(key.clone(), metadata.owner_references.clone());
            queue.add(Work::Collect(key.clone()));
        }
    }

    fn forget_dependent(&mut self, owner: &str, key: &Key) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(key);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    fn wake_waiting(&self, uid: &str, queue: &mut Queue) {
        if let Some(owner) = self.waiting.get(uid) {
            queue.add(Work::Collect(owner.clone()));
        }
    }

    fn remove(&mut self, key: &Key, uid: &str, queue: &mut Queue) {
        for owner in self.owners.remove(key).unwrap_or_default() {
            self.forget_dependent(&owner.uid, key);
            self.wake_waiting(&owner.uid, queue);
        }
        self.waiting.remove(uid);
        self.dependents(uid).for_each(|(key, _)| queue.add(Work::Collect(key.clone())));
        self.protected.remove(key);
        let namespace = || Key::new(key.cluster(), "namespaces", "", key.namespace());
        match (key.resource(), key.name()) {
            ("namespaces", _) => drop(self.terminating.remove(key)),
            ("serviceaccounts", name) => {
                if name == DEFAULT_ACCOUNT {
                    queue.add(Work::Equip(namespace()));
                }
                queue.add(Work::Token(Key::new(key.cluster(), "secrets", key.namespace(), "")));
            }
            ("configmaps", ROOT_CERTIFICATE) => queue.add(Work::Equip(namespace())),
            ("pods", _) => self.wake_protected(key, queue),
            ("clusterroles.rbac.authorization.k8s.io", _) => queue.add(Work::Aggregate(key.cluster().into())),
            _ => {}
        }
    }

    /// Work of the kinds that have a controller of their own.
    fn put_special(&mut self, key: &Key, text: &str, queue: &mut Queue) {
        match (key.resource(), key.name()) {
            ("namespaces", _) if text.contains("\"deletionTimestamp\"") => {
                self.terminating.insert(key.clone());
                queue.add(Work::Namespace(key.clone()));
            }
            ("namespaces", _) => queue.add(Work::Equip(key.clone())),
            ("configmaps", ROOT_CERTIFICATE) => {
                queue.add(Work::Equip(Key::new(key.cluster(), "namespaces", "", key.namespace())));
            }
            ("serviceaccounts", _) => {
                queue.add(Work::Token(Key::new(key.cluster(), "secrets", key.namespace(), "")));
            }
            ("secrets", _) if text.contains(TOKEN_TYPE) => queue.add(Work::Token(key.clone())),
            ("pods", _) => self.wake_protected(key, queue),
            ("clusterroles.rbac.authorization.k8s.io", _) => queue.add(Work::Aggregate(Arc::from(key.cluster()))),
            // An owner's kind may have become known.
            ("customresourcedefinitions.apiextensions.k8s.io", _) => {
                let unknown = self.unknown.get_mut().unwrap_or_else(PoisonError::into_inner);
                for key in std::mem::take(unknown) {
                    queue.add(Work::Collect(key));
                }
            }
            _ => {}
        }
    }

    fn wake_protected(&self, pod: &Key, queue: &mut Queue) {
        let same_place = |key: &&Key| key.cluster() == pod.cluster() && key.namespace() == pod.namespace();
        self.protected.iter().filter(same_place).for_each(|key| queue.add(Work::Release(key.clone())));
    }
}
