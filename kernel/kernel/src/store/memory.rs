//! Row store in memory, with a change log, for tests and the probe.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use imbl::OrdMap;
use tokio::sync::Notify;

use super::{
    BegunSession, CommitOutcome, FetchedRows, RowBatch, RowFetch, RowLog, RowSession, RowStore, StoreCursor,
    StoreError, StoreName,
};
use crate::resource::{ListQuery, ObjectKey};
use crate::row::{ColumnValue, Row, RowFilter, RowLimit, RowOperation, RowPrecondition, RowWrite};

/// Rows in memory. Clones share them, as connections to one database do.
#[derive(Clone)]
pub struct MemoryRowStore {
    name: StoreName,
    state: Arc<Mutex<State>>,
    notify: Arc<Notify>,
}

#[derive(Clone, Default)]
struct State {
    rows: OrdMap<ObjectKey, Row>,
    /// Changed keys with the number of their transaction.
    log: Vec<(u64, ObjectKey)>,
    /// Number of transactions that have begun.
    begun: u64,
    /// Transactions that have begun and not ended.
    open: BTreeSet<u64>,
    /// Transactions that were trimmed from the log. The newest one would not suffice: an older one may commit later.
    trimmed: BTreeSet<u64>,
}

impl MemoryRowStore {
    /// Creates an empty store.
    pub fn new(name: StoreName) -> Self {
        Self { name, state: Arc::default(), notify: Arc::default() }
    }

    /// Returns all rows.
    pub fn rows(&self) -> Vec<Row> {
        self.state().rows.values().cloned().collect()
    }

    /// Returns a store with the same content that shares nothing.
    pub fn copy(&self) -> Self {
        let state = self.state().clone();
        Self { name: self.name.clone(), state: Arc::new(Mutex::new(state)), notify: Arc::default() }
    }

    /// Commits changes at once.
    pub fn commit_now(&self, writes: &[RowWrite]) -> CommitOutcome {
        let transaction = self.begin_transaction();
        self.commit_transaction(transaction, writes)
    }

    /// Begins a write transaction. Its changes have this number in the log, even if it commits later.
    pub fn begin_transaction(&self) -> u64 {
        let mut state = self.state();
        state.begun += 1;
        let number = state.begun;
        state.open.insert(number);
        number
    }

    /// Commits a transaction that has begun.
    pub fn commit_transaction(&self, transaction: u64, writes: &[RowWrite]) -> CommitOutcome {
        let mut state = self.state();
        state.open.remove(&transaction);
        let outcome = match state.rows_after(writes) {
            Err(conflict) => CommitOutcome::Conflict(conflict),
            Ok(rows) => {
                let changed = writes.iter().filter(|write| rows.get(&write.key) != state.rows.get(&write.key));
                let entries: Vec<_> = changed.map(|write| (transaction, write.key.clone())).collect();
                state.log.extend(entries);
                state.rows = rows;
                CommitOutcome::Done
            }
        };
        drop(state);
        self.notify.notify_one();
        outcome
    }

    /// Removes all entries from the log. A cursor before them is then too old.
    pub fn trim_log(&self) {
        let mut state = self.state();
        let trimmed: Vec<u64> = state.log.drain(..).map(|(transaction, _)| transaction).collect();
        state.trimmed.extend(trimmed);
    }

    /// Returns a cursor at the current state.
    pub fn cursor(&self) -> StoreCursor {
        self.state().cursor()
    }

    /// Returns the log since a cursor, and a session over the current rows.
    pub fn begin_now(&self, since: Option<&StoreCursor>) -> (RowLog, MemorySession) {
        let state = self.state();
        (state.log_since(since), MemorySession(state.rows.clone()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn cursor(&self) -> StoreCursor {
        let open: Vec<String> = self.open.iter().map(ToString::to_string).collect();
        StoreCursor(format!("{}:{}", self.begun, open.join(",")).into())
    }

    fn log_since(&self, since: Option<&StoreCursor>) -> RowLog {
        let cursor = self.cursor();
        let Some((end, open)) = since.and_then(|since| parse(&since.0)) else {
            return RowLog { changed: Vec::new(), cursor, is_resync: true };
        };
        let is_new = |transaction: u64| transaction > end || open.contains(&transaction);
        if self.trimmed.iter().any(|transaction| is_new(*transaction)) || end > self.begun {
            return RowLog { changed: Vec::new(), cursor, is_resync: true };
        }
        let changed = self.log.iter().filter(|(transaction, _)| is_new(*transaction));
        RowLog { changed: changed.map(|(_, key)| key.clone()).collect(), cursor, is_resync: false }
    }

    fn rows_after(&self, writes: &[RowWrite]) -> Result<OrdMap<ObjectKey, Row>, String> {
        let mut rows = self.rows.clone();
        for write in writes {
            check(write, rows.get(&write.key))?;
            match &write.operation {
                RowOperation::Ensure(_) if rows.contains_key(&write.key) => {}
                RowOperation::Put(values) | RowOperation::Ensure(values) => {
                    let values: Arc<[ColumnValue]> = values.iter().map(seal).collect();
                    rows.insert(write.key.clone(), Row::with_key(write.key.clone(), write.table, values));
                }
                RowOperation::Delete => drop(rows.remove(&write.key)),
                RowOperation::Check(limits) => limits.iter().try_for_each(|limit| check_limit(limit, &rows))?,
            }
        }
        Ok(rows)
    }
}

fn check(write: &RowWrite, current: Option<&Row>) -> Result<(), String> {
    let holds = match &write.precondition {
        RowPrecondition::AsRead | RowPrecondition::Unconditional => true,
        RowPrecondition::Absent => current.is_none(),
        RowPrecondition::Values(values) => current.is_some_and(|row| row.values == *values),
    };
    if holds { Ok(()) } else { Err(format!("{} has changed since it was read", write.key)) }
}

fn check_limit(limit: &RowLimit, rows: &OrdMap<ObjectKey, Row>) -> Result<(), String> {
    let selected = |row: &&Row| limit.rows.iter().any(|(table, filter)| row.table == *table && filter.matches(row));
    let count = rows.values().filter(selected).count() as u64;
    if count <= limit.max_rows { Ok(()) } else { Err(format!("{count} rows exceed the limit of {}", limit.max_rows)) }
}

/// Returns the stored form of a value. The same credential has the same form, so that runs can be compared.
fn seal(value: &ColumnValue) -> ColumnValue {
    match value {
        ColumnValue::Secret(text) => ColumnValue::sealed(&format!("sealed:{}", text.0)),
        other => other.clone(),
    }
}

fn parse(cursor: &str) -> Option<(u64, BTreeSet<u64>)> {
    let (end, open) = cursor.split_once(':')?;
    let open = open.split(',').filter(|one| !one.is_empty()).map(|one| one.parse().ok());
    Some((end.parse().ok()?, open.collect::<Option<_>>()?))
}

/// Read transaction of a [`MemoryRowStore`].
pub struct MemorySession(OrdMap<ObjectKey, Row>);

impl MemorySession {
    /// Reads rows and runs queries.
    pub fn fetch_now(&self, fetch: RowFetch) -> RowBatch {
        let row = |key: ObjectKey| {
            let row = self.0.get(&key).cloned();
            (key, row)
        };
        let result = |query: ListQuery| {
            let result = self.result(&query);
            (query, result)
        };
        RowBatch {
            rows: fetch.rows.into_iter().map(row).collect(),
            results: fetch.queries.into_iter().map(result).collect(),
        }
    }

    fn result(&self, query: &ListQuery) -> FetchedRows {
        let filter = query.row_filter().cloned().unwrap_or_else(RowFilter::all);
        let rows = self.0.values().filter(|row| row.key.table == query.table && filter.matches(row));
        match filter.below {
            Some(max) => FetchedRows::Below(rows.take(max as usize).count() < max as usize),
            None => {
                FetchedRows::Rows(rows.take(filter.limit.map_or(usize::MAX, |limit| limit as usize)).cloned().collect())
            }
        }
    }
}

impl RowSession for MemorySession {
    fn fetch(&mut self, fetch: RowFetch) -> BoxFuture<'_, Result<RowBatch, StoreError>> {
        std::future::ready(Ok(self.fetch_now(fetch))).boxed()
    }
}

impl RowStore for MemoryRowStore {
    fn name(&self) -> &StoreName {
        &self.name
    }

    fn begin(&self, since: Option<StoreCursor>) -> BoxFuture<'_, Result<BegunSession, StoreError>> {
        let (log, session) = self.begin_now(since.as_ref());
        std::future::ready(Ok((log, Box::new(session) as Box<dyn RowSession>))).boxed()
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        self.notify.notified().boxed()
    }

    fn commit<'a>(&'a self, writes: &'a [RowWrite], dry_run: bool) -> BoxFuture<'a, CommitOutcome> {
        let outcome = match dry_run {
            true => self.state().rows_after(writes).map_or_else(CommitOutcome::Conflict, |_| CommitOutcome::Done),
            false => self.commit_now(writes),
        };
        std::future::ready(outcome).boxed()
    }
}
