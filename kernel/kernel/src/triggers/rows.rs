//! Readers of rows.

use super::{TriggerIndex, UnitReads};
use crate::operator::UnitId;
use crate::resource::{ListQuery, ObjectKey};
use crate::row_cache::{RowRead, RowReaders};
use crate::view::Reads;

/// Rows and lists that a run read or misses, in the order in which they are kept.
pub(super) fn gets(reads: &Reads) -> impl Iterator<Item = &ObjectKey> {
    let missing = reads.rows.missing.iter().filter_map(|read| match read {
        RowRead::Row(key) => Some(key),
        RowRead::Rows(_) => None,
    });
    reads.gets.keys().chain(missing.filter(|key| !reads.gets.contains_key(key)))
}

/// Lists of objects, lists of rows and counts that a run read or misses, in the order in which they are kept.
pub(super) fn lists(reads: &Reads) -> impl Iterator<Item = &ListQuery> {
    let missing = reads.rows.missing.iter().filter_map(|read| match read {
        RowRead::Rows(query) => Some(query),
        RowRead::Row(_) => None,
    });
    reads.lists.keys().chain(reads.rows.counts.keys()).chain(missing.filter(|query| !reads.lists.contains_key(query)))
}

impl TriggerIndex {
    /// Returns the units that read a row by key, in order.
    pub fn readers_of_row(&self, key: &ObjectKey) -> Vec<UnitId> {
        let units = self.tables.get(&key.table).into_iter().flat_map(|index| index.readers_of(key));
        units.map(|unit| UnitId::clone(unit)).collect()
    }

    /// Returns the units that read the result of a query for rows, in order.
    pub fn readers_of_rows(&self, query: &ListQuery) -> Vec<UnitId> {
        let units = self.tables.get(&query.table).into_iter().flat_map(|index| index.readers_of_list(&query.selection));
        units.map(|unit| UnitId::clone(unit)).collect()
    }

    /// Returns the rows that a unit has read, by key and by index.
    pub fn row_reads(&self, unit: &UnitId) -> Vec<RowRead> {
        let Some(held) = self.units.get(unit) else { return Vec::new() };
        held.row_reads().collect()
    }

    /// Whether a unit has read or misses rows.
    pub fn reads_rows_at_all(&self, unit: &UnitId) -> bool {
        self.units.get(unit).is_some_and(|held| held.row_reads().next().is_some())
    }

    /// Returns the units that have read rows of a store.
    pub fn units_with_rows(&self, store: &crate::store::StoreName) -> Vec<UnitId> {
        let reads = |held: &UnitReads| held.tables().iter().any(|table| table.is_rows() && table.cluster == *store);
        let mut units: Vec<UnitId> =
            self.units.iter().filter(|(_, held)| reads(held)).map(|(unit, _)| UnitId::clone(unit)).collect();
        units.sort();
        units
    }
}

impl UnitReads {
    fn row_reads(&self) -> impl Iterator<Item = RowRead> {
        let rows = self.gets.iter().filter(|key| key.table.is_rows()).map(|key| RowRead::Row(key.clone()));
        let lists = self.lists.iter().filter(|query| query.table.is_rows());
        rows.chain(lists.map(|query| RowRead::Rows(ListQuery::clone(query))))
    }
}

impl RowReaders for TriggerIndex {
    fn reads_row(&self, key: &ObjectKey) -> bool {
        self.tables.get(&key.table).is_some_and(|index| index.readers_of(key).next().is_some())
    }

    fn reads_rows(&self, query: &ListQuery) -> bool {
        self.tables.get(&query.table).is_some_and(|index| index.readers_of_list(&query.selection).next().is_some())
    }
}
