//! Cached objects of one kind on one cluster.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;

use super::compact::{Identity, compact, identity};
use super::{CacheError, ObjectChange, TableEvent, TableSize, TableUpdate};
use crate::object::Object;
use crate::resource::{ObjectKey, TableKey};

/// Namespace and name of an object in its table. The strings are shared by all maps with the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacedName {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl NamespacedName {
    /// Returns a key that sorts before all objects of a namespace.
    pub fn start_of(namespace: &Arc<str>) -> Self {
        Self { namespace: namespace.clone(), name: Arc::from("") }
    }
}

impl Ord for NamespacedName {
    fn cmp(&self, other: &Self) -> Ordering {
        #[cfg(test)]
        super::tests::compared();
        (&self.namespace, &self.name).cmp(&(&other.namespace, &other.name))
    }
}

impl PartialOrd for NamespacedName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Cached object.
#[derive(Clone, Debug)]
pub struct CachedObject {
    pub revision: u64,
    pub json: Arc<[u8]>,
    /// Number of the last list with the object.
    round: u32,
}

/// Compares the bytes too: a recreated cluster uses the same revisions for other objects.
impl PartialEq for CachedObject {
    fn eq(&self, other: &Self) -> bool {
        self.revision == other.revision && (Arc::ptr_eq(&self.json, &other.json) || self.json == other.json)
    }
}

/// Cached objects by namespace and name.
pub type CachedObjects = OrdMap<NamespacedName, CachedObject>;

/// Returns the object of a row.
pub fn object(table: &TableKey, name: &NamespacedName, row: &CachedObject) -> Object {
    Object { key: key(table, name), revision: row.revision, json: row.json.clone() }
}

fn key(table: &TableKey, name: &NamespacedName) -> ObjectKey {
    ObjectKey { table: table.clone(), namespace: name.namespace.clone(), name: name.name.clone() }
}

fn key_of(table: &TableKey, identity: Identity) -> ObjectKey {
    ObjectKey { table: table.clone(), namespace: Arc::from(identity.namespace), name: Arc::from(identity.name) }
}

/// Cached objects and state of one kind.
pub struct CacheTable {
    key: TableKey,
    /// Whether `managedFields` are kept.
    managers: bool,
    rows: CachedObjects,
    bytes: u64,
    revision: u64,
    synced: bool,
    served: bool,
    /// Number of the latest list, and whether it is still incomplete.
    round: u32,
    listing: bool,
    /// Whether the incomplete list has changed objects, so that some are newer than others.
    mixed: bool,
}

impl CacheTable {
    pub fn new(key: TableKey, managers: bool) -> Self {
        Self {
            key,
            managers,
            rows: CachedObjects::new(),
            bytes: 0,
            revision: 0,
            synced: false,
            served: true,
            round: 0,
            listing: false,
            mixed: false,
        }
    }

    /// Whether the objects are, or were, the whole content at one revision.
    pub fn is_readable(&self) -> bool {
        self.synced && !self.mixed
    }

    pub fn is_served(&self) -> bool {
        self.served
    }

    pub fn rows(&self) -> CachedObjects {
        self.rows.clone()
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn size(&self) -> TableSize {
        TableSize { objects: self.rows.len(), bytes: self.bytes }
    }

    pub fn observe(&mut self, event: TableEvent) -> Result<TableUpdate, CacheError> {
        match event {
            TableEvent::Begin => self.begin(),
            TableEvent::Put(bytes) => return self.put(&bytes),
            TableEvent::Remove(bytes) => return self.remove(&bytes),
            TableEvent::Synced { revision } => return Ok(self.synced(revision)),
            TableEvent::Progress { revision } => self.revision = self.revision.max(revision),
            TableEvent::NotServed => {
                self.begin();
                let observation = self.synced(self.revision);
                self.served = false;
                return Ok(observation);
            }
        }
        Ok(TableUpdate::default())
    }

    fn begin(&mut self) {
        (self.round, self.listing) = (self.round.wrapping_add(1), true);
    }

    fn put(&mut self, bytes: &Bytes) -> Result<TableUpdate, CacheError> {
        let identity = identity(&self.key, bytes)?;
        let revision = identity.revision;
        let wanted = key_of(&self.key, identity);
        let wanted = NamespacedName { namespace: wanted.namespace, name: wanted.name };
        // The revision of an object that the current list has not named yet may be from before the cluster was
        // recreated.
        let believed = |held: &CachedObject| !self.listing || held.round == self.round;
        if self.rows.get(&wanted).is_some_and(|held| believed(held) && held.revision >= revision) {
            return Ok(TableUpdate::default());
        }
        let row = CachedObject { revision, json: compact(&self.key, bytes, self.managers)?, round: self.round };
        let name = match self.rows.get_key_value(&wanted) {
            Some((name, held)) if *held == row => {
                // The existing bytes are kept.
                let name = name.clone();
                self.rows.get_mut(&name).expect("it was found above").round = self.round;
                return Ok(TableUpdate::default());
            }
            Some((name, _)) => name.clone(),
            None => self.with_shared_namespace(wanted),
        };
        let size = row.json.len() as u64;
        let after = Some(object(&self.key, &name, &row));
        let before = self.rows.insert(name.clone(), row).map(|row| object(&self.key, &name, &row));
        self.bytes = self.bytes + size - before.as_ref().map_or(0, |object| object.json.len() as u64);
        Ok(self.record_change(ObjectChange { key: key(&self.key, &name), before, after, revision }))
    }

    fn remove(&mut self, bytes: &Bytes) -> Result<TableUpdate, CacheError> {
        let identity = identity(&self.key, bytes)?;
        let revision = identity.revision;
        let key = key_of(&self.key, identity);
        let name = NamespacedName { namespace: key.namespace.clone(), name: key.name.clone() };
        // A newer object of the same name has been cached since.
        if self.rows.get(&name).is_none_or(|held| held.revision > revision) {
            return Ok(TableUpdate::default());
        }
        let Some((name, row)) = self.rows.remove_with_key(&name) else { return Ok(TableUpdate::default()) };
        self.bytes -= row.json.len() as u64;
        let before = Some(object(&self.key, &name, &row));
        Ok(self.record_change(ObjectChange { key, before, after: None, revision }))
    }

    /// Returns the change for readers; nothing before the kind is readable.
    fn record_change(&mut self, change: ObjectChange) -> TableUpdate {
        if self.listing {
            self.mixed = true;
        } else {
            self.revision = self.revision.max(change.revision);
        }
        let changes = if self.synced { vec![change] } else { Vec::new() };
        TableUpdate { changes, became_readable: false }
    }

    /// Removes objects that were not in the list: lists are consistent reads, and the cluster may have been recreated.
    fn synced(&mut self, revision: u64) -> TableUpdate {
        if !std::mem::take(&mut self.listing) {
            self.revision = self.revision.max(revision);
            return TableUpdate::default();
        }
        let unlisted = |(name, row): (&NamespacedName, &CachedObject)| (row.round != self.round).then(|| name.clone());
        let gone: Vec<NamespacedName> = self.rows.iter().filter_map(unlisted).collect();
        let mut changes = Vec::new();
        for name in gone {
            let Some(row) = self.rows.remove(&name) else { continue };
            self.bytes -= row.json.len() as u64;
            let before = Some(object(&self.key, &name, &row));
            changes.push(ObjectChange { key: key(&self.key, &name), before, after: None, revision });
        }
        let became_known = !self.is_readable();
        if !self.synced {
            // Removed objects were never visible to readers.
            let there = |(name, row): (&NamespacedName, &CachedObject)| {
                let after = Some(object(&self.key, name, row));
                ObjectChange { key: key(&self.key, name), before: None, after, revision: row.revision }
            };
            changes = self.rows.iter().map(there).collect();
        }
        (self.revision, self.synced, self.served, self.mixed) = (revision, true, true, false);
        TableUpdate { changes, became_readable: became_known }
    }

    /// Reuses the namespace string of a neighbouring row, so that all objects of a namespace share one string.
    fn with_shared_namespace(&self, wanted: NamespacedName) -> NamespacedName {
        let start = NamespacedName::start_of(&wanted.namespace);
        let neighbour = self.rows.get_next(&start).map(|(next, _)| &next.namespace);
        let shared = neighbour.filter(|namespace| **namespace == wanted.namespace).cloned();
        NamespacedName { namespace: shared.unwrap_or(wanted.namespace), name: wanted.name }
    }
}
