//! One kind of one cluster.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;
use imbl::ordmap::DiffItem;

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

/// What a list has brought so far.
#[derive(Default)]
struct Relist {
    rows: Rows,
    bytes: u64,
}

/// The state of one kind.
pub struct Table {
    key: TableKey,
    rows: Rows,
    bytes: u64,
    revision: u64,
    known: bool,
    served: bool,
    relist: Option<Relist>,
}

impl Table {
    pub fn new(key: TableKey) -> Self {
        Self { key, rows: Rows::new(), bytes: 0, revision: 0, known: false, served: true, relist: None }
    }

    pub fn is_known(&self) -> bool {
        self.known
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
            Observed::Begin => self.relist = Some(Relist::default()),
            Observed::Put(bytes) => return self.put(&bytes),
            Observed::Remove(bytes) => return self.remove(&bytes),
            Observed::Synced { revision } => return Ok(self.synced(revision)),
            Observed::Progress { revision } => self.revision = self.revision.max(revision),
            Observed::NotServed => {
                self.relist = Some(Relist::default());
                let observation = self.synced(self.revision);
                self.served = false;
                return Ok(observation);
            }
        }
        Ok(Observation::default())
    }

    fn put(&mut self, bytes: &Bytes) -> Result<Observation, CacheError> {
        let identity = identity(&self.key, bytes)?;
        let revision = identity.revision;
        let wanted = key_of(&self.key, identity);
        let wanted = Name { namespace: wanted.namespace, name: wanted.name };
        let into = self.relist.as_ref().map_or(&self.rows, |relist| &relist.rows);
        if into.get(&wanted).is_some_and(|held| held.revision >= revision) {
            return Ok(Observation::default());
        }
        let fresh = Row { revision, json: compact(&self.key, bytes)? };
        // A relisting shares what did not change with the map that is being read.
        let (name, row) = match self.rows.get_key_value(&wanted) {
            Some((name, held)) if *held == fresh => (name.clone(), held.clone()),
            Some((name, _)) => (name.clone(), fresh),
            None => (self.sharing_namespace(wanted), fresh),
        };
        let size = row.json.len() as u64;
        if let Some(relist) = &mut self.relist {
            let replaced = relist.rows.insert(name, row);
            relist.bytes = relist.bytes + size - replaced.map_or(0, |row| row.json.len() as u64);
            return Ok(Observation::default());
        }
        self.revision = self.revision.max(revision);
        let after = Some(object(&self.key, &name, &row));
        let before = self.rows.insert(name.clone(), row).map(|row| object(&self.key, &name, &row));
        self.bytes = self.bytes + size - before.as_ref().map_or(0, |object| object.json.len() as u64);
        let change = Change { key: key(&self.key, &name), before, after, revision };
        Ok(Observation { changes: vec![change], became_known: false })
    }

    fn remove(&mut self, bytes: &Bytes) -> Result<Observation, CacheError> {
        let identity = identity(&self.key, bytes)?;
        let revision = identity.revision;
        let key = key_of(&self.key, identity);
        let name = Name { namespace: key.namespace.clone(), name: key.name.clone() };
        let (rows, total) = match &mut self.relist {
            Some(relist) => (&mut relist.rows, &mut relist.bytes),
            None => (&mut self.rows, &mut self.bytes),
        };
        // A newer one of the same name has come since.
        if rows.get(&name).is_none_or(|held| held.revision > revision) {
            return Ok(Observation::default());
        }
        let Some((name, row)) = rows.remove_with_key(&name) else { return Ok(Observation::default()) };
        *total -= row.json.len() as u64;
        if self.relist.is_some() {
            return Ok(Observation::default());
        }
        self.revision = self.revision.max(revision);
        let before = Some(object(&self.key, &name, &row));
        Ok(Observation { changes: vec![Change { key, before, after: None, revision }], became_known: false })
    }

    /// The list is what is there, whatever was held: lists are consistent reads, and a cluster may have been set up anew.
    fn synced(&mut self, revision: u64) -> Observation {
        let Some(relist) = self.relist.take() else {
            self.revision = self.revision.max(revision);
            return Observation::default();
        };
        let change = |item| match item {
            DiffItem::Add(name, row) => (name, None, Some(row)),
            DiffItem::Remove(name, row) => (name, Some(row), None),
            DiffItem::Update { old: (name, before), new: (_, after) } => (name, Some(before), Some(after)),
        };
        let as_change = |(name, before, after): (&Name, Option<&Row>, Option<&Row>)| Change {
            key: key(&self.key, name),
            before: before.map(|row| object(&self.key, name, row)),
            after: after.map(|row| object(&self.key, name, row)),
            revision: after.map_or(revision, |row| row.revision),
        };
        let changes = self.rows.diff(&relist.rows).map(change).map(as_change).collect();
        let became_known = !self.known;
        (self.rows, self.bytes) = (relist.rows, relist.bytes);
        (self.revision, self.known, self.served) = (revision, true, true);
        Observation { changes, became_known }
    }

    /// The namespace's string is taken from a neighbour, so that there is one for all its objects.
    fn sharing_namespace(&self, wanted: Name) -> Name {
        let start = Name::start_of(&wanted.namespace);
        let filling = self.relist.as_ref().map(|relist| &relist.rows);
        let neighbour = |rows: &Rows| {
            let (next, _) = rows.get_next(&start)?;
            (next.namespace == wanted.namespace).then(|| next.namespace.clone())
        };
        let shared = neighbour(&self.rows).or_else(|| filling.and_then(neighbour));
        Name { namespace: shared.unwrap_or(wanted.namespace), name: wanted.name }
    }
}
