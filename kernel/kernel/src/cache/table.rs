//! One kind of one cluster.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;

use super::compact::{Identity, compact, identity};
use super::{CacheError, Change, Observation, Observed, Size};
use crate::object::Object;
use crate::resource::{ObjectKey, TableKey};

/// Where an object stands in its table. Its strings are shared by every map that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl Name {
    /// Before every object of a namespace.
    pub fn start_of(namespace: &Arc<str>) -> Self {
        Self { namespace: namespace.clone(), name: Arc::from("") }
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        #[cfg(test)]
        super::tests::compared();
        (&self.namespace, &self.name).cmp(&(&other.namespace, &other.name))
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An object as it is kept.
#[derive(Clone, Debug)]
pub struct Row {
    pub revision: u64,
    pub json: Arc<[u8]>,
    /// The list that last held it.
    round: u32,
}

/// The bytes count too: a cluster that was set up anew gives the same revisions to other objects.
impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.revision == other.revision && (Arc::ptr_eq(&self.json, &other.json) || self.json == other.json)
    }
}

/// Objects by namespace and name.
pub type Rows = OrdMap<Name, Row>;

/// The object of a row.
pub fn object(table: &TableKey, name: &Name, row: &Row) -> Object {
    Object { key: key(table, name), revision: row.revision, json: row.json.clone() }
}

fn key(table: &TableKey, name: &Name) -> ObjectKey {
    ObjectKey { table: table.clone(), namespace: name.namespace.clone(), name: name.name.clone() }
}

fn key_of(table: &TableKey, identity: Identity) -> ObjectKey {
    ObjectKey { table: table.clone(), namespace: Arc::from(identity.namespace), name: Arc::from(identity.name) }
}

/// The state of one kind.
pub struct Table {
    key: TableKey,
    /// Whether `managedFields` are kept.
    managers: bool,
    rows: Rows,
    bytes: u64,
    revision: u64,
    known: bool,
    served: bool,
    /// The number of the list that came in last, and whether it is still coming in.
    round: u32,
    listing: bool,
    /// That list has changed what is held: some objects are newer than others until it is complete.
    mixed: bool,
}

impl Table {
    pub fn new(key: TableKey, managers: bool) -> Self {
        Self {
            key,
            managers,
            rows: Rows::new(),
            bytes: 0,
            revision: 0,
            known: false,
            served: true,
            round: 0,
            listing: false,
            mixed: false,
        }
    }

    /// Whether what is held is, or was, all there is at one revision.
    pub fn is_known(&self) -> bool {
        self.known && !self.mixed
    }

    pub fn is_served(&self) -> bool {
        self.served
    }

    pub fn rows(&self) -> Rows {
        self.rows.clone()
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn size(&self) -> Size {
        Size { objects: self.rows.len(), bytes: self.bytes }
    }

    pub fn observe(&mut self, event: Observed) -> Result<Observation, CacheError> {
        match event {
            Observed::Begin => self.begin(),
            Observed::Put(bytes) => return self.put(&bytes),
            Observed::Remove(bytes) => return self.remove(&bytes),
            Observed::Synced { revision } => return Ok(self.synced(revision)),
            Observed::Progress { revision } => self.revision = self.revision.max(revision),
            Observed::NotServed => {
                self.begin();
                let observation = self.synced(self.revision);
                self.served = false;
                return Ok(observation);
            }
        }
        Ok(Observation::default())
    }

    fn begin(&mut self) {
        (self.round, self.listing) = (self.round.wrapping_add(1), true);
    }

    fn put(&mut self, bytes: &Bytes) -> Result<Observation, CacheError> {
        let identity = identity(&self.key, bytes)?;
        let revision = identity.revision;
        let wanted = key_of(&self.key, identity);
        let wanted = Name { namespace: wanted.namespace, name: wanted.name };
        // What the list that comes in has not named yet may be of a cluster that was set up anew: its revision says nothing.
        let believed = |held: &Row| !self.listing || held.round == self.round;
        if self.rows.get(&wanted).is_some_and(|held| believed(held) && held.revision >= revision) {
            return Ok(Observation::default());
        }
        let row = Row { revision, json: compact(&self.key, bytes, self.managers)?, round: self.round };
        let name = match self.rows.get_key_value(&wanted) {
            Some((name, held)) if *held == row => {
                // Its bytes stay where they are.
                let name = name.clone();
                self.rows.get_mut(&name).expect("it was found above").round = self.round;
                return Ok(Observation::default());
            }
            Some((name, _)) => name.clone(),
            None => self.sharing_namespace(wanted),
        };
        let size = row.json.len() as u64;
        let after = Some(object(&self.key, &name, &row));
        let before = self.rows.insert(name.clone(), row).map(|row| object(&self.key, &name, &row));
        self.bytes = self.bytes + size - before.as_ref().map_or(0, |object| object.json.len() as u64);
        Ok(self.tell(Change { key: key(&self.key, &name), before, after, revision }))
    }

    fn remove(&mut self, bytes: &Bytes) -> Result<Observation, CacheError> {
        let identity = identity(&self.key, bytes)?;
        let revision = identity.revision;
        let key = key_of(&self.key, identity);
        let name = Name { namespace: key.namespace.clone(), name: key.name.clone() };
        // A newer one of the same name has come since.
        if self.rows.get(&name).is_none_or(|held| held.revision > revision) {
            return Ok(Observation::default());
        }
        let Some((name, row)) = self.rows.remove_with_key(&name) else { return Ok(Observation::default()) };
        self.bytes -= row.json.len() as u64;
        let before = Some(object(&self.key, &name, &row));
        Ok(self.tell(Change { key, before, after: None, revision }))
    }

    /// What readers will see of a change; nothing before they could read the kind.
    fn tell(&mut self, change: Change) -> Observation {
        if self.listing {
            self.mixed = true;
        } else {
            self.revision = self.revision.max(change.revision);
        }
        let changes = if self.known { vec![change] } else { Vec::new() };
        Observation { changes, became_known: false }
    }

    /// The list is what is there, whatever was held: lists are consistent reads, and a cluster may have been set up anew.
    fn synced(&mut self, revision: u64) -> Observation {
        if !std::mem::take(&mut self.listing) {
            self.revision = self.revision.max(revision);
            return Observation::default();
        }
        let unlisted = |(name, row): (&Name, &Row)| (row.round != self.round).then(|| name.clone());
        let gone: Vec<Name> = self.rows.iter().filter_map(unlisted).collect();
        let mut changes = Vec::new();
        for name in gone {
            let Some(row) = self.rows.remove(&name) else { continue };
            self.bytes -= row.json.len() as u64;
            let before = Some(object(&self.key, &name, &row));
            changes.push(Change { key: key(&self.key, &name), before, after: None, revision });
        }
        let became_known = !self.is_known();
        if !self.known {
            // Nobody has seen what is gone.
            let there = |(name, row): (&Name, &Row)| {
                let after = Some(object(&self.key, name, row));
                Change { key: key(&self.key, name), before: None, after, revision: row.revision }
            };
            changes = self.rows.iter().map(there).collect();
        }
        (self.revision, self.known, self.served, self.mixed) = (revision, true, true, false);
        Observation { changes, became_known }
    }

    /// The namespace's string is taken from a neighbour, so that there is one for all its objects.
    fn sharing_namespace(&self, wanted: Name) -> Name {
        let start = Name::start_of(&wanted.namespace);
        let neighbour = self.rows.get_next(&start).map(|(next, _)| &next.namespace);
        let shared = neighbour.filter(|namespace| **namespace == wanted.namespace).cloned();
        Name { namespace: shared.unwrap_or(wanted.namespace), name: wanted.name }
    }
}
