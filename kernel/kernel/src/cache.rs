//! One cache for all operators: every watched kind once, as bytes, shared.
//!
//! ```text
//! watch ── Begin, Put…, Synced ──▶ table ──▶ changes (wake units)
//!                                    └─────▶ snapshot (what a view reads)
//! ```
//!
//! A table is a persistent map, so a snapshot is a clone of its root and never changes.
//!
//! A kind that is listed for the first time can be read when its list is complete. When it is listed again, each object takes
//! the place of the one before it as it comes in, and what the list did not hold goes at its end: two worlds are never held
//! at once. From the first object that differs until the end of the list the kind cannot be read, so that no view sees some
//! objects newer than others; whoever asks for it waits, and a list that brings nothing new is not noticed.

mod compact;
mod snapshot;
mod table;

#[cfg(test)]
mod model;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

pub use snapshot::Snapshot;
use table::Table;

use crate::object::Object;
use crate::place::ClusterName;
use crate::resource::{ObjectKey, TableKey};

/// What a watch saw of a kind.
#[derive(Clone, Debug)]
pub enum Observed {
    /// A list begins: what follows up to [`Observed::Synced`] is all there is.
    Begin,
    /// An object is there: its JSON.
    Put(Bytes),
    /// An object went: its last JSON.
    Remove(Bytes),
    /// The list is complete.
    Synced {
        /// As of this revision.
        revision: u64,
    },
    /// Nothing changed up to a revision.
    Progress {
        /// Which.
        revision: u64,
    },
    /// The API server does not serve the kind; there is nothing of it.
    NotServed,
}

/// What came of an observation.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// What readers see differently, now or when the list that brings it is complete.
    pub changes: Vec<Change>,
    /// The kind can be read now and could not before.
    pub became_known: bool,
}

/// One object that readers see differently now.
#[derive(Clone, Debug)]
pub struct Change {
    /// Which.
    pub key: ObjectKey,
    /// As it was; absent when it was not there.
    pub before: Option<Object>,
    /// As it is; absent when it is gone.
    pub after: Option<Object>,
    /// The revision it has now, or was deleted at.
    pub revision: u64,
}

/// How much a kind takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// How many objects.
    pub objects: usize,
    /// The bytes of their JSON.
    pub bytes: u64,
}

/// Something observed that is no object. What was cached stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// It is not JSON, or not of an object's shape.
    #[error("could not read an object of {} on cluster {}", .table.resource, .table.cluster)]
    Unreadable {
        /// Which kind was watched.
        table: TableKey,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// It lacks what every object has.
    #[error("an object of {} on cluster {} has no `metadata.{field}`", .table.resource, .table.cluster)]
    Incomplete {
        /// Which kind was watched.
        table: TableKey,
        /// What it lacks.
        field: &'static str,
    },
}

/// All that is known of all clusters.
#[derive(Default)]
pub struct Cache {
    tables: BTreeMap<TableKey, Table>,
    /// Kinds whose `managedFields` somebody reads.
    managers: BTreeSet<TableKey>,
    /// What readers see, until something changes: let go before it does, so that a change copies only what readers hold.
    picture: OnceLock<Arc<Snapshot>>,
}

impl Cache {
    /// Takes in what a watch saw. Of a kind that is not watched (any more) nothing but the beginning of a list is taken in.
    ///
    /// # Errors
    /// When the bytes are no object; nothing changes then.
    pub fn observe(&mut self, table: &TableKey, event: Observed) -> Result<Observation, CacheError> {
        self.picture.take();
        if matches!(event, Observed::Begin | Observed::NotServed) && !self.tables.contains_key(table) {
            let managers = self.managers.contains(table);
            self.tables.insert(table.clone(), Table::new(table.clone(), managers));
        }
        let Some(held) = self.tables.get_mut(table) else { return Ok(Observation::default()) };
        held.observe(event)
    }

    /// What readers see now. It never changes. The first one after a change costs as much as there are kinds.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.picture.get_or_init(|| Arc::new(self.look())).clone()
    }

    fn look(&self) -> Snapshot {
        let known = self.tables.iter().filter(|(_, table)| table.is_known());
        let rows = known.map(|(key, table)| (key.clone(), table.rows())).collect();
        let mut revisions = BTreeMap::new();
        for (key, table) in &self.tables {
            let highest: &mut u64 = revisions.entry(key.cluster.clone()).or_default();
            *highest = table.revision().max(*highest);
        }
        Snapshot::new(rows, revisions)
    }

    /// Drops a kind: nobody reads it any more.
    pub fn forget(&mut self, table: &TableKey) {
        self.picture.take();
        self.tables.remove(table);
    }

    /// Keeps the `managedFields` of a kind from its next list on. True when it is held without them.
    pub fn keep_managers(&mut self, table: &TableKey) -> bool {
        self.managers.insert(table.clone()) && self.tables.contains_key(table)
    }

    /// Whether a kind can be read.
    pub fn knows(&self, table: &TableKey) -> bool {
        self.tables.get(table).is_some_and(Table::is_known)
    }

    /// Whether the API server serves a kind, as far as is known.
    pub fn serves(&self, table: &TableKey) -> bool {
        self.tables.get(table).is_some_and(Table::is_served)
    }

    /// How much a kind takes.
    pub fn size(&self, table: &TableKey) -> Size {
        self.tables.get(table).map(Table::size).unwrap_or_default()
    }

    /// Every kind that is watched, known or not yet, with what it takes.
    pub fn tables(&self) -> impl Iterator<Item = (&TableKey, Size)> {
        self.tables.iter().map(|(key, table)| (key, table.size()))
    }

    /// The highest revision seen of a cluster since its kinds were last listed.
    pub fn revision(&self, cluster: &ClusterName) -> u64 {
        let of = self.tables.iter().filter(|(key, _)| key.cluster == *cluster);
        of.map(|(_, table)| table.revision()).max().unwrap_or_default()
    }
}
