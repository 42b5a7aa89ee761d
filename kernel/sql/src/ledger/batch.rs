//! Commits of several callers in one transaction; the changes of each caller are atomic.
//!
//! Callers that arrive during a commit wait for the next one, which takes all of them. A list that must be rejected
//! does not affect the others: rows are locked and compared before anything is written, and lists that the database
//! itself rejects are retried one by one.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::sleep_until;

use super::batching::BatchTimer;
use super::commit::{self, key_values, seal_values, values_equal};
use super::query::column_types;
use super::view::open_values;
use super::{Ledger, LedgerError, MAX_COMMIT_ATTEMPTS, within};
use crate::change::RowChange;
use crate::key::RowKey;
use crate::pool::{Intent, Statement, Transaction};
use crate::row::{Table, key_of};
use crate::statement::{Dialect, Lock, bulk};
use crate::value::{ColumnType, SqlValue};

/// Maximum number of lists in one transaction.
const MAX_LISTS: usize = 64;

/// Maximum number of changes of a list that shares a transaction.
const MAX_CHANGES: usize = 64;

/// List of changes of a waiting caller.
#[derive(Debug)]
pub(super) struct PendingCommit {
    changes: Vec<RowChange>,
    /// Validated values to write; `None` for changes that write nothing.
    rows: Vec<Option<Vec<SqlValue>>>,
    done: oneshot::Sender<Result<(), LedgerError>>,
}

/// Callers that wait for a commit.
#[derive(Debug, Default)]
pub(super) struct CommitQueue {
    batching: BatchTimer,
    state: Mutex<CommitQueueState>,
}

#[derive(Debug, Default)]
struct CommitQueueState {
    waiting: VecDeque<PendingCommit>,
    is_busy: bool,
}

impl CommitQueue {
    /// Commits a list of changes, together with those of concurrent callers.
    pub async fn make(ledger: &Ledger, changes: &[RowChange]) -> Result<(), LedgerError> {
        let rows = commit::prepare(changes)?;
        let (done, committed) = oneshot::channel();
        if ledger.commits.push(PendingCommit { changes: changes.to_vec(), rows, done }) {
            ledger.runtime.spawn(CommitTask { ledger: ledger.clone(), is_finished: false }.run());
        }
        let lost = || LedgerError::Query { act: "commit changes", source: Arc::new(sqlx::Error::WorkerCrashed) };
        committed.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Adds a caller to the queue. Returns whether no commit task is running.
    fn push(&self, entry: PendingCommit) -> bool {
        let mut state = self.state();
        state.waiting.push_back(entry);
        !std::mem::replace(&mut state.is_busy, true)
    }

    fn state(&self) -> MutexGuard<'_, CommitQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next batch; empty if no caller waits, and then the next caller starts a new task.
    fn take(&self) -> Vec<PendingCommit> {
        let mut state = self.state();
        let batch = take(&mut state.waiting);
        state.is_busy = !batch.is_empty();
        if state.is_busy {
            // The remaining callers wait already, so the next batch needs no delay.
            self.batching.record(if state.waiting.is_empty() { batch.len() } else { 1 });
        }
        batch
    }
}

/// Task that commits until the queue is empty.
struct CommitTask {
    ledger: Ledger,
    is_finished: bool,
}

impl CommitTask {
    async fn run(mut self) {
        loop {
            let due = self.ledger.commits.batching.due(|size| self.ledger.pool.batch_delay(size));
            sleep_until(due).await;
            let batch = self.ledger.commits.take();
            if batch.is_empty() {
                self.is_finished = true;
                return;
            }
            make(&self.ledger, batch).await;
        }
    }
}

impl Drop for CommitTask {
    fn drop(&mut self) {
        // The task was cancelled with its runtime: the waiting callers get an error instead of waiting forever.
        if !self.is_finished {
            let mut state = self.ledger.commits.state();
            state.is_busy = false;
            state.waiting.clear();
        }
    }
}

/// Rows that the lists of a batch touch.
#[derive(Default)]
struct TouchedRows {
    written: HashSet<(&'static str, RowKey)>,
    ensured: HashSet<(&'static str, RowKey)>,
    held: HashSet<(&'static str, RowKey)>,
}

impl TouchedRows {
    /// Adds a list if it is independent of the others: no list writes a row that another one writes or relies on.
    fn try_add(&mut self, entry: &PendingCommit) -> bool {
        let touched = || entry.changes.iter().map(|change| (change, (change.table().name, change.key())));
        let is_free = |(change, row): (&RowChange, (&'static str, RowKey))| match change {
            RowChange::Ensure { .. } => !self.written.contains(&row) && !self.held.contains(&row),
            RowChange::RequireUnchanged { .. } => !self.written.contains(&row) && !self.ensured.contains(&row),
            _ => !self.written.contains(&row) && !self.ensured.contains(&row) && !self.held.contains(&row),
        };
        let is_free = touched().all(is_free);
        if is_free {
            for (change, row) in touched() {
                match change {
                    RowChange::Ensure { .. } => self.ensured.insert(row),
                    RowChange::RequireUnchanged { .. } => self.held.insert(row),
                    _ => self.written.insert(row),
                };
            }
        }
        is_free
    }
}

/// Takes the first caller and every other one that fits its batch. The remaining callers keep their order.
fn take(waiting: &mut VecDeque<PendingCommit>) -> Vec<PendingCommit> {
    let Some(first) = waiting.pop_front() else { return Vec::new() };
    let mut touched = TouchedRows::default();
    let must_commit_alone = first.must_commit_alone() || !touched.try_add(&first);
    let mut batch = vec![first];
    if must_commit_alone {
        return batch;
    }
    let mut left = VecDeque::new();
    while let Some(entry) = waiting.pop_front() {
        let has_room = batch.len() < MAX_LISTS && !entry.must_commit_alone();
        match has_room && touched.try_add(&entry) {
            true => batch.push(entry),
            false => left.push_back(entry),
        }
    }
    *waiting = left;
    batch
}

impl PendingCommit {
    /// Whether the list needs a transaction of its own: it touches a row twice, it is long, or it checks limits.
    fn must_commit_alone(&self) -> bool {
        let mut seen = HashSet::new();
        let is_twice = |change: &RowChange| !seen.insert((change.table().name, change.key()));
        self.changes.len() > MAX_CHANGES
            || self.changes.iter().any(|change| matches!(change, RowChange::RequireLimits { .. }))
            || self.changes.iter().any(is_twice)
    }

    /// Returns the kinds of changes and their tables, without the values.
    fn shape(&self) -> Vec<(std::mem::Discriminant<RowChange>, &'static str)> {
        self.changes.iter().map(|change| (std::mem::discriminant(change), change.table().name)).collect()
    }
}

async fn make(ledger: &Ledger, batch: Vec<PendingCommit>) {
    let mut retries = RetryBudget::default();
    while batch.len() > 1 {
        match commit_together(ledger, &batch).await {
            Ok(refused) => {
                ledger.notify_listeners();
                for (entry, refusal) in batch.into_iter().zip(refused) {
                    let _ = entry.done.send(refusal.map_or(Ok(()), Err));
                }
                return;
            }
            Err(error) if retries.allows_retry(&error) => {}
            // The outcome of the transaction is unknown.
            Err(error) if error.is_outcome_unknown() => {
                for entry in batch {
                    let _ = entry.done.send(Err(error.to_shared()));
                }
                return;
            }
            // The transaction was rolled back. Single commits show which list caused the error.
            Err(_) => break,
        }
    }
    for entry in batch {
        let made = commit_alone(ledger, &entry).await;
        let _ = entry.done.send(made);
    }
}

async fn commit_alone(ledger: &Ledger, entry: &PendingCommit) -> Result<(), LedgerError> {
    let mut retries = RetryBudget::default();
    loop {
        ledger.counters.transactions.fetch_add(1, Ordering::Relaxed);
        match commit::attempt(ledger, &entry.changes, &entry.rows).await {
            Err(error) if retries.allows_retry(&error) => {}
            Err(error) => return Err(error),
            Ok(()) => {
                ledger.notify_listeners();
                return Ok(());
            }
        }
    }
}

/// Counts the attempts of a commit that the database aborts because of concurrent transactions.
#[derive(Default)]
struct RetryBudget(u32);

impl RetryBudget {
    fn allows_retry(&mut self, error: &LedgerError) -> bool {
        self.0 += 1;
        error.is_transient() && self.0 < MAX_COMMIT_ATTEMPTS
    }
}

/// Commits all lists of a batch in one transaction, except for the rejected ones. Returns the error of each rejected
/// list.
async fn commit_together(ledger: &Ledger, batch: &[PendingCommit]) -> Result<Vec<Option<LedgerError>>, LedgerError> {
    ledger.counters.transactions.fetch_add(1, Ordering::Relaxed);
    let mut transaction = within("begin a write transaction", ledger.pool.begin(Intent::Write)).await?;
    let refused = lock(&mut transaction, ledger, batch).await?;
    let made: Vec<&PendingCommit> =
        batch.iter().zip(&refused).filter(|(_, no)| no.is_none()).map(|(one, _)| one).collect();
    let mut shapes: BTreeMap<Vec<&'static str>, Vec<Vec<&PendingCommit>>> = BTreeMap::new();
    for entry in made {
        let values_equal = shapes.entry(entry.changes.iter().map(|change| change.table().name).collect()).or_default();
        match values_equal.iter_mut().find(|group| group.first().is_some_and(|first| first.shape() == entry.shape())) {
            Some(group) => group.push(entry),
            None => values_equal.push(vec![entry]),
        }
    }
    for group in shapes.values().flatten() {
        write(&mut transaction, ledger, group).await?;
    }
    within("commit changes", transaction.commit()).await?;
    Ok(refused)
}

/// Locks every row that must be unchanged. Returns an error for each list of which a row has changed.
async fn lock(
    transaction: &mut Transaction,
    ledger: &Ledger,
    batch: &[PendingCommit],
) -> Result<Vec<Option<LedgerError>>, LedgerError> {
    // All writers lock in the same order, so that two of them wait for each other at most once.
    type Locked<'a> = BTreeMap<RowKey, Vec<(usize, &'a [SqlValue])>>;
    let mut all: BTreeMap<(&'static str, bool), (&'static Table, Locked<'_>)> = BTreeMap::new();
    for (at, entry) in batch.iter().enumerate() {
        for change in &entry.changes {
            let (table, was, is_written) = match change {
                RowChange::Update { table, was, .. } => (*table, was, true),
                RowChange::RequireUnchanged { table, was } => (*table, was, false),
                _ => continue,
            };
            let rows = &mut all.entry((table.name, is_written)).or_insert_with(|| (table, BTreeMap::new())).1;
            rows.entry(key_of(table, was)).or_default().push((at, was));
        }
    }
    let mut refused: Vec<Option<LedgerError>> = batch.iter().map(|_| None).collect();
    for ((_, is_written), (table, rows)) in all {
        let lock = if is_written { Lock::Update } else { Lock::Share };
        let statement = Statement { one: transaction.dialect().lock(table, lock), bulk: bulk::lock(table, lock) };
        let values: Vec<Vec<SqlValue>> = rows.keys().map(key_values).collect();
        let values: Vec<&[SqlValue]> = values.iter().map(Vec::as_slice).collect();
        let key_kinds: Vec<ColumnType> = table.keys().map(|column| column.kind).collect();
        let kinds = column_types(table);
        let found = transaction.fetch_bulk(&statement, &key_kinds, &values, &kinds);
        let found = within("read rows to change", found).await?;
        for ((key, readers), mut now) in rows.into_iter().zip(found) {
            let now = now.pop().map(|values| open_values(table, values, &ledger.sealer)).transpose()?;
            for (at, was) in readers {
                if !now.as_ref().is_some_and(|now| is_same_row(now, was)) {
                    refused[at] = Some(LedgerError::Changed { table: table.name, key: key.to_string() });
                }
            }
        }
    }
    Ok(refused)
}

fn is_same_row(now: &[SqlValue], was: &[SqlValue]) -> bool {
    now.len() == was.len() && now.iter().zip(was).all(|(now, was)| values_equal(now, was))
}

/// Writes lists of the same shape: one statement for each change, with the rows of all lists.
async fn write(transaction: &mut Transaction, ledger: &Ledger, group: &[&PendingCommit]) -> Result<(), LedgerError> {
    let Some(first) = group.first() else { return Ok(()) };
    for (at, change) in first.changes.iter().enumerate() {
        let table = change.table();
        let Some(statement) = statement(change, transaction.dialect()) else { continue };
        let mut rows = Vec::with_capacity(group.len());
        for entry in group {
            rows.push(match (&entry.changes[at], &entry.rows[at]) {
                (change, Some(row)) => seal_values(table, &change.key(), row, &ledger.sealer)?,
                (change, None) => key_values(&change.key()),
            });
        }
        let kinds: Vec<ColumnType> = match change {
            RowChange::Delete { .. } => table.keys().map(|column| column.kind).collect(),
            _ => column_types(table),
        };
        within("write rows", transaction.execute_bulk(statement, &kinds, &rows)).await?;
    }
    Ok(())
}

fn statement(change: &RowChange, dialect: Dialect) -> Option<Statement> {
    let table = change.table();
    let (one, bulk) = match change {
        RowChange::Insert { .. } => (dialect.insert(table), bulk::insert(table)),
        RowChange::Ensure { .. } => (dialect.ensure(table), bulk::ensure(table)),
        RowChange::Put { .. } => (dialect.put(table), bulk::put(table)),
        RowChange::Update { .. } => (dialect.update(table), bulk::update(table)),
        RowChange::Delete { .. } => (dialect.delete(table), bulk::delete(table)),
        RowChange::RequireUnchanged { .. } | RowChange::RequireLimits { .. } => return None,
    };
    Some(Statement { one, bulk })
}
