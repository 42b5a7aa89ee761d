//! Immutable state of the row cache.

use std::sync::Arc;

use imbl::OrdMap;

use super::{CachedResult, CachedRow};
use crate::resource::{ListQuery, ObjectKey};
use crate::row::Row;

/// State of the row cache when the snapshot was taken: exact at one position of the change log.
#[derive(Clone, Debug, Default)]
pub struct RowSnapshot {
    rows: OrdMap<ObjectKey, CachedRow>,
    queries: OrdMap<Arc<ListQuery>, CachedResult>,
}

/// Result of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum RowAnswer {
    /// Selected rows, sorted by key.
    Rows(Vec<Arc<Row>>),
    /// Whether there are fewer rows than the filter's `below`.
    Below(bool),
}

impl RowSnapshot {
    pub(super) fn new(rows: OrdMap<ObjectKey, CachedRow>, queries: OrdMap<Arc<ListQuery>, CachedResult>) -> Self {
        Self { rows, queries }
    }

    /// Returns a row, or its absence; `None` if it is not cached.
    pub fn row(&self, key: &ObjectKey) -> Option<Option<Arc<Row>>> {
        let cached = self.rows.get(key)?;
        cached.is_readable().then(|| cached.row.clone())
    }

    /// Returns the result of a query; `None` if it is not cached.
    pub fn rows(&self, query: &ListQuery) -> Option<RowAnswer> {
        match self.queries.get(query)? {
            CachedResult::Below(below) => Some(RowAnswer::Below(*below)),
            CachedResult::Keys(keys) => {
                let rows: Option<Vec<Arc<Row>>> = keys.iter().map(|key| self.row(key)?).collect();
                rows.map(RowAnswer::Rows)
            }
        }
    }

    /// Returns the revision of a row, or its absence, even if its value is evicted; `None` if it is not known.
    pub fn revision(&self, key: &ObjectKey) -> Option<Option<u64>> {
        self.rows.get(key).map(|cached| cached.revision)
    }

    /// Returns the number of known rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row is known.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
