//! Immutable state of the cache.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_object::selector::LabelSelector;

use super::table::{CachedObject, CachedObjects, NamespacedName, object};
use crate::object::Object;
use crate::resource::{ListQuery, ObjectKey, TableKey};
use crate::row::{Row, RowTable};
use crate::row_cache::{RowAnswer, RowSnapshot};
use crate::store::StoreName;
use crate::topology::ClusterName;
use crate::view::Reader;

/// State of the cache when the snapshot was taken.
pub struct Snapshot {
    tables: BTreeMap<TableKey, CachedObjects>,
    revisions: BTreeMap<ClusterName, u64>,
    stores: RowSnapshots,
}

/// Cached rows of each store; absent without a store.
pub(super) type RowSnapshots = Option<Arc<BTreeMap<StoreName, RowSnapshot>>>;

impl Snapshot {
    pub(super) fn new(
        tables: BTreeMap<TableKey, CachedObjects>,
        revisions: BTreeMap<ClusterName, u64>,
        stores: RowSnapshots,
    ) -> Self {
        Self { tables, revisions, stores }
    }

    /// Returns the cached rows of a store.
    pub fn store(&self, name: &StoreName) -> Option<&RowSnapshot> {
        self.stores.as_ref()?.get(name)
    }
}

impl Snapshot {
    /// Returns the readable kinds.
    pub fn tables(&self) -> impl Iterator<Item = &TableKey> {
        self.tables.keys()
    }

    /// Returns the number of objects of a kind; zero if it is not readable.
    pub fn count(&self, table: &TableKey) -> usize {
        self.tables.get(table).map_or(0, CachedObjects::len)
    }

    /// Returns namespaces and names of a kind's objects, in order.
    pub fn names<'s>(&'s self, table: &TableKey) -> impl Iterator<Item = (&'s str, &'s str)> + use<'s> {
        self.tables.get(table).into_iter().flat_map(|rows| rows.keys().map(|name| (&*name.namespace, &*name.name)))
    }
}

impl Reader for Snapshot {
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>> {
        let Some(rows) = self.tables.get(&key.table) else {
            let row = self.store(&key.table.cluster).filter(|_| key.table.is_rows())?.row(key)?;
            return Some(row.map(|row| row.object()));
        };
        let name = NamespacedName { namespace: key.namespace.clone(), name: key.name.clone() };
        let found = rows.get_key_value(&name);
        Some(found.map(|(name, row)| object(&key.table, name, row)))
    }

    fn list(&self, query: &ListQuery, selector: &LabelSelector) -> Option<Vec<Object>> {
        let (table, rows) = self.tables.get_key_value(&query.table)?;
        let as_object = |(name, row): (&NamespacedName, &CachedObject)| object(table, name, row);
        // Labels are parsed only for a selector that needs them.
        let wanted = |object: &Object| selector.is_everything() || selector.matches(Some(&object.labels()));
        Some(match &query.selection.namespace {
            None => rows.iter().map(as_object).filter(wanted).collect(),
            Some(namespace) => {
                let from = rows.range(NamespacedName::start_of(namespace)..);
                from.take_while(|(name, _)| name.namespace == *namespace).map(as_object).filter(wanted).collect()
            }
        })
    }

    fn row(&self, key: &ObjectKey, _table: &'static RowTable) -> Option<Option<Arc<Row>>> {
        self.store(&key.table.cluster)?.row(key)
    }

    fn rows(&self, query: &ListQuery, _table: &'static RowTable) -> Option<RowAnswer> {
        self.store(&query.table.cluster)?.rows(query)
    }

    fn is_cached(&self, table: &TableKey) -> bool {
        self.tables.contains_key(table)
    }

    fn revision(&self, cluster: &ClusterName) -> u64 {
        self.revisions.get(cluster).copied().unwrap_or_default()
    }
}
