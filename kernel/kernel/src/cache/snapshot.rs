//! The cache at one moment.

use std::collections::BTreeMap;

use switchboard_object::selector::LabelSelector;

use super::table::{Name, Row, Rows, object};
use crate::object::Object;
use crate::place::ClusterName;
use crate::resource::{ObjectKey, Query, TableKey};
use crate::view::Picture;

/// The cache as it was when the snapshot was taken.
pub struct Snapshot {
    tables: BTreeMap<TableKey, Rows>,
    revisions: BTreeMap<ClusterName, u64>,
}

impl Snapshot {
    pub(super) fn new(tables: BTreeMap<TableKey, Rows>, revisions: BTreeMap<ClusterName, u64>) -> Self {
        Self { tables, revisions }
    }
}

impl Snapshot {
    /// The kinds that can be read.
    pub fn tables(&self) -> impl Iterator<Item = &TableKey> {
        self.tables.keys()
    }

    /// How many objects of a kind there are; none of one that cannot be read.
    pub fn count(&self, table: &TableKey) -> usize {
        self.tables.get(table).map_or(0, Rows::len)
    }

    /// Namespaces and names of a kind's objects, in order.
    pub fn names<'s>(&'s self, table: &TableKey) -> impl Iterator<Item = (&'s str, &'s str)> + use<'s> {
        self.tables.get(table).into_iter().flat_map(|rows| rows.keys().map(|name| (&*name.namespace, &*name.name)))
    }
}

impl Picture for Snapshot {
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>> {
        let rows = self.tables.get(&key.table)?;
        let name = Name { namespace: key.namespace.clone(), name: key.name.clone() };
        let found = rows.get_key_value(&name);
        Some(found.map(|(name, row)| object(&key.table, name, row)))
    }

    fn list(&self, query: &Query, selector: &LabelSelector) -> Option<Vec<Object>> {
        let (table, rows) = self.tables.get_key_value(&query.table)?;
        let as_object = |(name, row): (&Name, &Row)| object(table, name, row);
        // Labels lie in the bytes: they are looked at only when they are asked for.
        let wanted = |object: &Object| selector.is_everything() || selector.matches(Some(&object.labels()));
        Some(match &query.selection.namespace {
            None => rows.iter().map(as_object).filter(wanted).collect(),
            Some(namespace) => {
                let from = rows.range(Name::start_of(namespace)..);
                from.take_while(|(name, _)| name.namespace == *namespace).map(as_object).filter(wanted).collect()
            }
        })
    }

    fn revision(&self, cluster: &ClusterName) -> u64 {
        self.revisions.get(cluster).copied().unwrap_or_default()
    }
}
