//! Shared cache for all operators: every watched kind is kept once, as bytes.
//!
//! ```text
//! watch ── Begin, Put…, Synced ──▶ table ──▶ changes (trigger units)
//!                                    └─────▶ snapshot (read by views)
//! ```
//!
//! A table is a persistent map, so a snapshot is a clone of its root and never changes.
//!
//! A kind becomes readable when its first list is complete. When the kind is listed again, each object replaces the
//! previous one as it arrives, and objects missing from the list are removed at its end, so the cache never holds two
//! copies. From the first object that differs until the end of the list the kind is not readable, so that no view mixes
//! older and newer objects; units that read it wait. A list without differences has no effect on readers.

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

use snapshot::RowSnapshots;
pub use snapshot::Snapshot;
use table::CacheTable;

use crate::object::Object;
use crate::resource::{ObjectKey, TableKey};
use crate::row_cache::RowSnapshot;
use crate::store::StoreName;
use crate::topology::ClusterName;

/// Event of a watched kind.
#[derive(Clone, Debug)]
pub enum TableEvent {
    /// Start of a list: the events up to [`TableEvent::Synced`] are the whole content.
    Begin,
    /// An object exists; its JSON.
    Put(Bytes),
    /// An object was deleted; its last JSON.
    Remove(Bytes),
    /// End of the list.
    Synced {
        /// Revision of the list.
        revision: u64,
    },
    /// No change up to a revision.
    Progress {
        /// Current revision.
        revision: u64,
    },
    /// The API server does not serve the kind, so it has no objects.
    NotServed,
}

/// Effect of an event.
#[derive(Clone, Debug, Default)]
pub struct TableUpdate {
    /// Changes for readers, visible now or when the list is complete.
    pub changes: Vec<ObjectChange>,
    /// Whether the kind became readable with this event.
    pub became_readable: bool,
}

/// Change of one object.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// Key of the object.
    pub key: ObjectKey,
    /// Object before; absent if it did not exist.
    pub before: Option<Object>,
    /// Object after; absent if it is deleted.
    pub after: Option<Object>,
    /// Revision after the change, or of the deletion.
    pub revision: u64,
}

/// Size of a cached kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSize {
    /// Number of objects.
    pub objects: usize,
    /// Size of their JSON in bytes.
    pub bytes: u64,
}

/// Error for an event with an invalid object. The cache is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The bytes are not JSON, or do not have the shape of an object.
    #[error("could not read an object of {} on cluster {}", .table.resource, .table.cluster)]
    Unreadable {
        /// Watched kind.
        table: TableKey,
        /// Parse error.
        source: serde_json::Error,
    },
    /// The object has no name or no resourceVersion.
    #[error("an object of {} on cluster {} has no `metadata.{field}`", .table.resource, .table.cluster)]
    Incomplete {
        /// Watched kind.
        table: TableKey,
        /// Missing metadata field.
        field: &'static str,
    },
}

/// Cached objects of all clusters.
#[derive(Default)]
pub struct Cache {
    tables: BTreeMap<TableKey, CacheTable>,
    /// Kinds whose `managedFields` an operator reads.
    managers: BTreeSet<TableKey>,
    /// Snapshot until the next change. It is dropped before the change, so that only parts held by readers are copied.
    snapshot: OnceLock<Arc<Snapshot>>,
    stores: RowSnapshots,
}

impl Cache {
    /// Applies an event. For a kind that is not watched, only the start of a list has an effect.
    ///
    /// # Errors
    /// When the bytes are not an object; the cache is then unchanged.
    pub fn observe(&mut self, table: &TableKey, event: TableEvent) -> Result<TableUpdate, CacheError> {
        self.snapshot.take();
        if matches!(event, TableEvent::Begin | TableEvent::NotServed) && !self.tables.contains_key(table) {
            let managers = self.managers.contains(table);
            self.tables.insert(table.clone(), CacheTable::new(table.clone(), managers));
        }
        let Some(held) = self.tables.get_mut(table) else { return Ok(TableUpdate::default()) };
        held.observe(event)
    }

    /// Returns an immutable snapshot of all readable kinds. The first call after a change costs time in proportion to
    /// the number of kinds.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.get_or_init(|| Arc::new(self.build_snapshot())).clone()
    }

    fn build_snapshot(&self) -> Snapshot {
        let known = self.tables.iter().filter(|(_, table)| table.is_readable());
        let rows = known.map(|(key, table)| (key.clone(), table.rows())).collect();
        let mut revisions = BTreeMap::new();
        for (key, table) in &self.tables {
            let highest: &mut u64 = revisions.entry(key.cluster.clone()).or_default();
            *highest = table.revision().max(*highest);
        }
        Snapshot::new(rows, revisions, self.stores.clone())
    }

    /// Replaces the rows of a store.
    pub fn set_rows(&mut self, store: &StoreName, rows: RowSnapshot) {
        self.snapshot.take();
        Arc::make_mut(self.stores.get_or_insert_default()).insert(store.clone(), rows);
    }

    /// Removes a kind that has no readers any more.
    pub fn forget(&mut self, table: &TableKey) {
        self.snapshot.take();
        self.tables.remove(table);
    }

    /// Keeps the `managedFields` of a kind from its next list on. Returns whether the kind is currently cached without
    /// them.
    pub fn keep_managed_fields(&mut self, table: &TableKey) -> bool {
        self.managers.insert(table.clone()) && self.tables.contains_key(table)
    }

    /// Whether a kind is readable.
    pub fn is_readable(&self, table: &TableKey) -> bool {
        self.tables.get(table).is_some_and(CacheTable::is_readable)
    }

    /// Whether the API server serves a kind, as far as known.
    pub fn is_served(&self, table: &TableKey) -> bool {
        self.tables.get(table).is_some_and(CacheTable::is_served)
    }

    /// Returns the size of a kind.
    pub fn size(&self, table: &TableKey) -> TableSize {
        self.tables.get(table).map(CacheTable::size).unwrap_or_default()
    }

    /// Returns every watched kind, readable or not, with its size.
    pub fn tables(&self) -> impl Iterator<Item = (&TableKey, TableSize)> {
        self.tables.iter().map(|(key, table)| (key, table.size()))
    }

    /// Returns the highest revision seen on a cluster since its kinds were last listed.
    pub fn revision(&self, cluster: &ClusterName) -> u64 {
        let of = self.tables.iter().filter(|(key, _)| key.cluster == *cluster);
        of.map(|(_, table)| table.revision()).max().unwrap_or_default()
    }
}
