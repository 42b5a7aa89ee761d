//! Read sessions: transactions that concurrent readers share.
//!
//! ```text
//!  view() ─▶ waits ─▶ session begins ─▶ query ─┐                  ┌─▶ rows
//!  view() ─▶ waits ──────┘              query ─┴─ one statement ──┴─▶ rows
//! ```
//!
//! A reader that arrives during a session waits for the next one, because it must see every commit that completed
//! before. Under load, many readers share one transaction, and queries of the same shape share one statement; a single
//! reader does not wait.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep_until;

use super::batching::BatchTimer;
use super::query::{QueryShape, RowQuery};
use super::{LedgerCounters, LedgerError, within};
use crate::pool::{Intent, Pool, Statement, Transaction};
use crate::value::SqlValue;

/// Time after which a waiting reader starts another session beside the open one.
const MAX_JOIN_WAIT: Duration = Duration::from_millis(20);

/// Maximum number of queued queries of a session. Each reader has at most one.
const MAX_WAITING_QUERIES: usize = 256;

/// Maximum number of queries that a session caches.
const MAX_CACHED_QUERIES: usize = 4096;
/// Maximum number of rows of a result that a session or a view caches. Pages of a long list are read only once.
pub(super) const MAX_CACHED_ROWS: usize = 16;

/// Rows as stored.
pub(super) type SharedRows = Arc<Vec<Vec<SqlValue>>>;

/// Query of a reader.
pub(super) struct PendingQuery {
    pub query: RowQuery,
    pub answer: oneshot::Sender<Result<SharedRows, LedgerError>>,
}

/// Handle of a reader. A session ends when all of its handles are dropped.
pub(super) type QuerySender = mpsc::Sender<PendingQuery>;

/// All read sessions of a database.
#[derive(Debug)]
pub(super) struct SharedReads {
    pool: Pool,
    counters: Arc<LedgerCounters>,
    runtime: Handle,
    batching: BatchTimer,
    statements: StatementCache,
    state: Mutex<SharedReadsState>,
}

/// Statements of queries by shape; there are some dozens of them.
type StatementCache = Mutex<HashMap<QueryShape, Arc<Statement>>>;

/// Maximum number of cached statements.
const MAX_STATEMENTS: usize = 512;

#[derive(Debug, Default)]
struct SharedReadsState {
    waiting: Vec<oneshot::Sender<Result<QuerySender, LedgerError>>>,
    /// Whether a session is about to begin that will take every waiting reader.
    is_starting: bool,
    open: usize,
}

impl SharedReads {
    pub fn new(pool: Pool, counters: Arc<LedgerCounters>, runtime: Handle) -> Arc<SharedReads> {
        let (batching, statements, state) = (BatchTimer::default(), Mutex::default(), Mutex::default());
        Arc::new(SharedReads { pool, counters, runtime, batching, statements, state })
    }

    /// Joins a session that begins after this call.
    pub async fn join(self: &Arc<Self>) -> Result<QuerySender, LedgerError> {
        let (sender, mut join) = oneshot::channel();
        self.state().waiting.push(sender);
        self.start(1);
        loop {
            match tokio::time::timeout(MAX_JOIN_WAIT, &mut join).await {
                Ok(join) => return join.unwrap_or_else(|_| Err(worker_lost())),
                Err(_) => self.start(self.pool.max_read_sessions()),
            }
        }
    }

    /// Starts a session if readers wait and fewer than `max_sessions` are open.
    fn start(self: &Arc<Self>, max_sessions: usize) {
        let mut state = self.state();
        if state.waiting.is_empty() || state.is_starting || state.open >= max_sessions {
            return;
        }
        state.is_starting = true;
        state.open += 1;
        drop(state);
        let open = ReadSessionTask { shared_reads: Arc::clone(self), has_started: false };
        self.runtime.spawn(open.serve());
    }

    fn statement(&self, shape: &QueryShape) -> Arc<Statement> {
        let mut all = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = all.get(shape) {
            return Arc::clone(statement);
        }
        let statement = Arc::new(shape.statement(self.pool.dialect()));
        if all.len() < MAX_STATEMENTS {
            all.insert(shape.clone(), Arc::clone(&statement));
        }
        statement
    }

    fn state(&self) -> MutexGuard<'_, SharedReadsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Task of a session. When it is dropped, the next session may start.
struct ReadSessionTask {
    shared_reads: Arc<SharedReads>,
    has_started: bool,
}

impl ReadSessionTask {
    async fn serve(mut self) {
        let due = self.shared_reads.batching.due(|size| self.shared_reads.pool.batch_delay(size));
        sleep_until(due).await;
        self.shared_reads.counters.transactions.fetch_add(1, Ordering::Relaxed);
        let begun = within("begin a read transaction", self.shared_reads.pool.begin(Intent::Read)).await;
        // The first query fixes the snapshot of the transaction, and it comes later.
        let waiting = self.admit();
        match begun {
            Ok(transaction) => {
                let (join, wanted) = mpsc::channel(MAX_WAITING_QUERIES);
                for reader in waiting {
                    let _ = reader.send(Ok(join.clone()));
                }
                drop(join);
                let shared_reads = Arc::clone(&self.shared_reads);
                ReadSession { transaction, shared_reads, cache: HashMap::new(), failed: None }.answer_all(wanted).await;
            }
            Err(error) => {
                for reader in waiting {
                    let _ = reader.send(Err(error.to_shared()));
                }
            }
        }
    }

    fn admit(&mut self) -> Vec<oneshot::Sender<Result<QuerySender, LedgerError>>> {
        let mut state = self.shared_reads.state();
        state.is_starting = false;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.shared_reads.batching.record(waiting.len());
        self.has_started = true;
        waiting
    }
}

impl Drop for ReadSessionTask {
    fn drop(&mut self) {
        let mut state = self.shared_reads.state();
        state.open -= 1;
        if !self.has_started {
            // The task was cancelled: the waiting readers get an error instead of waiting forever.
            state.is_starting = false;
            state.waiting.clear();
        }
        drop(state);
        self.shared_reads.start(1);
    }
}

/// Transaction that reads one state of the database.
struct ReadSession {
    transaction: Transaction,
    shared_reads: Arc<SharedReads>,
    /// Results of earlier queries, which cannot change within the transaction.
    cache: HashMap<RowQuery, SharedRows>,
    /// Error after which the session answers no query.
    failed: Option<LedgerError>,
}

impl ReadSession {
    /// Runs queries until all handles are dropped.
    async fn answer_all(mut self, mut wanted: mpsc::Receiver<PendingQuery>) {
        let mut batch = Vec::new();
        while wanted.recv_many(&mut batch, MAX_WAITING_QUERIES).await > 0 {
            self.answer(std::mem::take(&mut batch)).await;
        }
        // Nothing was written, and the pool drops a connection whose transaction did not end.
        let _ = within("end the read transaction", self.transaction.rollback()).await;
    }

    async fn answer(&mut self, batch: Vec<PendingQuery>) {
        let mut askers: HashMap<RowQuery, Vec<oneshot::Sender<_>>> = HashMap::new();
        for PendingQuery { query, answer } in batch {
            match (self.cache.get(&query), &self.failed) {
                (_, Some(failed)) => drop(answer.send(Err(failed.to_shared()))),
                (Some(rows), None) => drop(answer.send(Ok(Arc::clone(rows)))),
                (None, None) => askers.entry(query).or_default().push(answer),
            }
        }
        let mut shapes: HashMap<QueryShape, Vec<RowQuery>> = HashMap::new();
        for query in askers.keys() {
            shapes.entry(query.shape().clone()).or_default().push(query.clone());
        }
        for (shape, queries) in shapes {
            let results = self.run_queries(&shape, &queries).await;
            let mut answers = results.as_ref().map(|all| all.iter().cloned());
            for query in queries {
                let rows = match &mut answers {
                    Ok(answers) => Ok(answers.next().unwrap_or_default()),
                    Err(error) => Err(error.to_shared()),
                };
                for asker in askers.remove(&query).into_iter().flatten() {
                    let _ = asker.send(match &rows {
                        Ok(rows) => Ok(Arc::clone(rows)),
                        Err(error) => Err(error.to_shared()),
                    });
                }
                if let Ok(rows) = rows
                    && self.cache.len() < MAX_CACHED_QUERIES
                    && rows.len() <= MAX_CACHED_ROWS
                {
                    self.cache.insert(query, rows);
                }
            }
            self.failed = results.err().or(self.failed.take());
        }
    }

    /// Runs queries of one shape.
    async fn run_queries(&mut self, shape: &QueryShape, queries: &[RowQuery]) -> Result<Vec<SharedRows>, LedgerError> {
        if let Some(failed) = &self.failed {
            return Err(failed.to_shared());
        }
        let act = "read rows";
        let statement = self.shared_reads.statement(shape);
        let result_types = shape.result_types();
        let mut all = Vec::with_capacity(queries.len());
        if shape.is_batchable() {
            let values: Vec<&[SqlValue]> = queries.iter().map(|query| &*query.values).collect();
            let parameters = shape.parameter_types();
            let fetched = self.transaction.fetch_bulk(&statement, &parameters, &values, &result_types);
            all.extend(within(act, fetched).await?.into_iter().map(Arc::new));
        } else {
            for query in queries {
                let fetched = self.transaction.fetch(statement.one.clone(), &result_types, &query.values);
                all.push(Arc::new(within(act, fetched).await?));
            }
        }
        let counters = &self.shared_reads.counters;
        counters.queries.fetch_add(queries.len() as u64, Ordering::Relaxed);
        let rows: usize = all.iter().map(|rows| rows.len()).sum();
        counters.rows.fetch_add(rows as u64, Ordering::Relaxed);
        Ok(all)
    }
}

/// Error for a session that was dropped.
pub(super) fn worker_lost() -> LedgerError {
    LedgerError::Query { act: "read rows", source: Arc::new(sqlx::Error::WorkerCrashed) }
}
