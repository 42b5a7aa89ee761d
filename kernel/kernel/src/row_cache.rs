//! Cache of the rows that units read.
//!
//! ```text
//! log entries ─▶ fetch of rows that matter ─┐
//! missing reads of parked runs ─▶ queries ──┴─▶ apply ─▶ snapshot, changed rows and queries
//! ```
//!
//! # Guarantees
//! - Every cached row and result is exact at the cursor. // test: guarantees_a_snapshot_equals_a_full_read
//! - Every reader of a changed row or result is reported. // test: guarantees_every_changed_result_is_reported
//!
//! Values are limited in size; the least recently used ones are evicted. An evicted row keeps its key, its revision and
//! its place in results, so that its change is still reported.

mod index;
mod loader;
mod recency;
mod snapshot;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use imbl::OrdMap;

use crate::resource::{ListQuery, ObjectKey};
use crate::row::Row;
use crate::store::{FetchedRows, RowBatch};
use index::QueryIndex;
use recency::Recency;

pub use loader::{MAX_JOIN_WAIT_MS, PublishedRows, RowCommand, RowLoader};
pub use snapshot::{RowAnswer, RowSnapshot};

/// Maximum size of all cached values of a store.
pub const MAX_ROW_CACHE_BYTES: usize = 32 << 20;

/// Number of entries below which entries without readers are kept.
const MIN_SWEEP_ENTRIES: usize = 1024;

/// Read of rows: one row by key, or rows by index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowRead {
    /// Row by key.
    Row(ObjectKey),
    /// Rows by index.
    Rows(ListQuery),
}

/// Units that read rows. Entries without readers may be dropped.
pub trait RowReaders {
    /// Whether a unit reads the row by key.
    fn reads_row(&self, key: &ObjectKey) -> bool;

    /// Whether a unit reads the result of the query.
    fn reads_rows(&self, query: &ListQuery) -> bool;
}

/// Effect of new data on readers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowChanges {
    /// Changed rows, with their new revisions; `None` for a deleted row.
    pub rows: Vec<(ObjectKey, Option<u64>)>,
    /// Queries whose result changed, with a row that changed it.
    pub queries: BTreeMap<ListQuery, (ObjectKey, Option<u64>)>,
}

/// Cached row.
#[derive(Clone, Debug)]
pub struct CachedRow {
    /// Revision; `None` for an absent row.
    revision: Option<u64>,
    /// Row; `None` if it is absent or evicted.
    row: Option<Arc<Row>>,
}

/// Cached result of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CachedResult {
    Keys(Arc<[ObjectKey]>),
    Below(bool),
}

/// Rows and results of one store.
pub struct RowCache {
    rows: OrdMap<ObjectKey, CachedRow>,
    queries: OrdMap<Arc<ListQuery>, CachedResult>,
    /// Cached results that have a row.
    memberships: HashMap<ObjectKey, Vec<Arc<ListQuery>>>,
    index: QueryIndex,
    recency: Recency,
    max_bytes: usize,
    /// Number of entries from which unread ones are dropped.
    sweep_at: usize,
}

impl RowCache {
    /// Creates an empty cache for values of that size.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            rows: OrdMap::new(),
            queries: OrdMap::new(),
            memberships: HashMap::new(),
            index: QueryIndex::default(),
            recency: Recency::default(),
            max_bytes,
            sweep_at: MIN_SWEEP_ENTRIES,
        }
    }

    /// Returns an immutable snapshot.
    pub fn snapshot(&self) -> RowSnapshot {
        RowSnapshot::new(self.rows.clone(), self.queries.clone())
    }

    /// Whether a read needs no fetch.
    pub fn has(&self, read: &RowRead) -> bool {
        match read {
            RowRead::Row(key) => self.rows.get(key).is_some_and(CachedRow::is_readable),
            RowRead::Rows(query) => match self.queries.get(query) {
                None => false,
                Some(CachedResult::Below(_)) => true,
                Some(CachedResult::Keys(keys)) => {
                    keys.iter().all(|key| self.rows.get(key).is_some_and(CachedRow::is_readable))
                }
            },
        }
    }

    /// Returns the revision of a row, or its absence; `None` if it is not cached.
    pub fn revision(&self, key: &ObjectKey) -> Option<Option<u64>> {
        self.rows.get(key).map(|cached| cached.revision)
    }

    /// Marks rows as used, so that their values are evicted last.
    pub fn touch<'a>(&mut self, keys: impl Iterator<Item = &'a ObjectKey>) {
        keys.for_each(|key| self.recency.touch(key));
    }

    /// Whether a change of a row concerns what is cached or read.
    pub fn matters(&self, key: &ObjectKey, readers: &dyn RowReaders) -> bool {
        self.rows.contains_key(key) || self.index.has_queries(&key.table) || readers.reads_row(key)
    }

    /// Removes everything, because changes may have been missed.
    pub fn clear(&mut self) {
        *self = Self::new(self.max_bytes);
    }

    /// Returns the cached queries whose result cannot be computed from the changed rows: those with a limit and counts.
    pub fn queries_to_repeat(&self, changed: &[(ObjectKey, Option<Row>)]) -> BTreeSet<ListQuery> {
        let mut repeated = BTreeSet::new();
        for (key, row) in changed {
            let now: HashSet<Arc<ListQuery>> =
                row.iter().flat_map(|row| self.index.matching(row)).filter(|query| is_partial(query)).collect();
            let before = self.partial_queries_before(key);
            let Some(before) = before else {
                let members = self.memberships.get(key).into_iter().flatten().filter(|query| is_partial(query));
                repeated.extend(now.iter().chain(members).map(|query| ListQuery::clone(query)));
                repeated.extend(self.index.counts(&key.table).map(|query| ListQuery::clone(query)));
                continue;
            };
            // A row outside of the limit stays outside, but only the database knows which rows are inside.
            repeated.extend(before.symmetric_difference(&now).map(|query| ListQuery::clone(query)));
        }
        repeated
    }

    /// Returns the queries with a limit and the counts that selected a row before; `None` if that is unknown.
    fn partial_queries_before(&self, key: &ObjectKey) -> Option<HashSet<Arc<ListQuery>>> {
        let cached = self.rows.get(key).filter(|cached| cached.is_readable())?;
        let of = cached.row.iter().flat_map(|row| self.index.matching(row));
        Some(of.filter(|query| is_partial(query)).collect())
    }

    /// Applies changed rows of the log, and results of fetches at the same cursor.
    pub fn apply(
        &mut self,
        changed: Vec<(ObjectKey, Option<Row>)>,
        fetched: RowBatch,
        readers: &dyn RowReaders,
    ) -> RowChanges {
        let mut changes = RowChanges::default();
        for (key, row) in changed {
            self.apply_change(key, row, readers, &mut changes);
        }
        for (key, row) in fetched.rows {
            self.put(key, row.map(Arc::new));
        }
        for (query, result) in fetched.results {
            self.put_result(query, result, &mut changes);
        }
        changes
    }

    fn apply_change(&mut self, key: ObjectKey, row: Option<Row>, readers: &dyn RowReaders, changes: &mut RowChanges) {
        let revision = row.as_ref().map(|row| row.revision);
        let known = self.rows.get(&key).map(|cached| cached.revision);
        let is_changed = known != Some(revision);
        let before = self.memberships.get(&key).cloned().unwrap_or_default();
        let complete = |query: &Arc<ListQuery>| !is_partial(query);
        let now: Vec<_> = row.iter().flat_map(|row| self.index.matching(row)).filter(complete).collect();
        for query in before.iter().filter(|query| complete(query) && !now.contains(query)) {
            self.leave(query, &key);
            changes.queries.insert(ListQuery::clone(query), (key.clone(), revision));
        }
        for query in now.iter().filter(|query| !before.contains(query)) {
            self.enter(query, &key);
            changes.queries.insert(ListQuery::clone(query), (key.clone(), revision));
        }
        for query in before.iter().filter(|query| is_changed && (now.contains(query) || is_partial(query))) {
            changes.queries.insert(ListQuery::clone(query), (key.clone(), revision));
        }
        if known.is_some() || readers.reads_row(&key) || self.memberships.contains_key(&key) {
            if is_changed {
                changes.rows.push((key.clone(), revision));
            }
            self.put(key, row.map(Arc::new));
        }
    }

    fn put(&mut self, key: ObjectKey, row: Option<Arc<Row>>) {
        match &row {
            Some(row) => self.recency.insert(&key, row.size()),
            None => self.recency.remove(&key),
        }
        self.rows.insert(key, CachedRow { revision: row.as_ref().map(|row| row.revision), row });
    }

    fn put_result(&mut self, query: ListQuery, result: FetchedRows, changes: &mut RowChanges) {
        let cached = self.queries.get(&query).cloned();
        let query = self.index.add(query);
        let result = match result {
            FetchedRows::Below(below) => CachedResult::Below(below),
            FetchedRows::Rows(rows) => {
                let mut keys: Vec<ObjectKey> = rows.iter().map(|row| row.key.clone()).collect();
                keys.sort();
                rows.into_iter().for_each(|row| self.put(row.key.clone(), Some(Arc::new(row))));
                CachedResult::Keys(keys.into())
            }
        };
        let of = |result: &CachedResult| match result {
            CachedResult::Keys(keys) => keys.to_vec(),
            CachedResult::Below(_) => Vec::new(),
        };
        let (before, now) = (cached.as_ref().map(of).unwrap_or_default(), of(&result));
        let left: Vec<&ObjectKey> = before.iter().filter(|key| now.binary_search(key).is_err()).collect();
        let entered: Vec<&ObjectKey> = now.iter().filter(|key| before.binary_search(key).is_err()).collect();
        for key in &left {
            self.remove_membership(&query, key);
        }
        for key in &entered {
            self.memberships.entry((*key).clone()).or_default().push(query.clone());
        }
        if cached.is_some_and(|cached| cached != result) {
            let cause = left.first().or(entered.first()).map_or_else(|| some_key(&query), |key| (*key).clone());
            let revision = self.rows.get(&cause).and_then(|cached| cached.revision);
            changes.queries.entry(ListQuery::clone(&query)).or_insert((cause, revision));
        }
        self.queries.insert(query, result);
    }

    fn enter(&mut self, query: &Arc<ListQuery>, key: &ObjectKey) {
        self.memberships.entry(key.clone()).or_default().push(query.clone());
        self.change_keys(query, |keys| {
            if let Err(at) = keys.binary_search(key) {
                keys.insert(at, key.clone());
            }
        });
    }

    fn leave(&mut self, query: &Arc<ListQuery>, key: &ObjectKey) {
        self.remove_membership(query, key);
        self.change_keys(query, |keys| keys.retain(|one| one != key));
    }

    fn change_keys(&mut self, query: &Arc<ListQuery>, change: impl FnOnce(&mut Vec<ObjectKey>)) {
        if let Some(CachedResult::Keys(keys)) = self.queries.get(query) {
            let mut keys = keys.to_vec();
            change(&mut keys);
            self.queries.insert(query.clone(), CachedResult::Keys(keys.into()));
        }
    }

    fn remove_membership(&mut self, query: &Arc<ListQuery>, key: &ObjectKey) {
        let Some(queries) = self.memberships.get_mut(key) else { return };
        queries.retain(|one| one != query);
        if queries.is_empty() {
            self.memberships.remove(key);
        }
    }

    /// Evicts values beyond the size limit, and drops entries without readers once there are many. Returns the dropped
    /// ones: a run that has read them does not notice their changes any more.
    pub fn trim(&mut self, readers: &dyn RowReaders) -> Vec<RowRead> {
        while self.recency.bytes() > self.max_bytes {
            let Some(key) = self.recency.pop() else { break };
            if let Some(cached) = self.rows.get_mut(&key) {
                cached.row = None;
            }
        }
        if self.rows.len() + self.queries.len() < self.sweep_at {
            return Vec::new();
        }
        let unread: Vec<Arc<ListQuery>> = self.queries.keys().filter(|q| !readers.reads_rows(q)).cloned().collect();
        for query in &unread {
            if let Some(CachedResult::Keys(keys)) = self.queries.remove(query) {
                keys.iter().for_each(|key| self.remove_membership(query, key));
            }
            self.index.remove(query);
        }
        let is_used = |key: &ObjectKey| self.memberships.contains_key(key) || readers.reads_row(key);
        let rows: Vec<ObjectKey> = self.rows.keys().filter(|key| !is_used(key)).cloned().collect();
        for key in &rows {
            self.rows.remove(key);
            self.recency.remove(key);
        }
        self.sweep_at = MIN_SWEEP_ENTRIES.max(2 * (self.rows.len() + self.queries.len()));
        let queries = unread.iter().map(|query| RowRead::Rows(ListQuery::clone(query)));
        rows.into_iter().map(RowRead::Row).chain(queries).collect()
    }

    /// Returns the size of the cached values, in bytes.
    pub fn bytes(&self) -> usize {
        self.recency.bytes()
    }
}

impl CachedRow {
    fn is_readable(&self) -> bool {
        self.row.is_some() || self.revision.is_none()
    }
}

/// Whether only the database can compute a changed result.
fn is_partial(query: &ListQuery) -> bool {
    query.row_filter().is_some_and(|filter| filter.limit.is_some() || filter.below.is_some())
}

/// Returns a key for the cause of a count that changed.
fn some_key(query: &ListQuery) -> ObjectKey {
    ObjectKey { table: query.table.clone(), namespace: Arc::default(), name: Arc::default() }
}
