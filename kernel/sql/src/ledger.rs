//! The ledger: consistent reads and atomic commits.

mod batch;
mod batching;
mod commit;
mod error;
mod filter;
mod query;
mod shared_reads;
mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::address::Address;
use crate::change::RowChange;
use crate::key::RowKey;
use crate::pool::Pool;
use crate::row::Row;
use crate::schema::DatabaseSchema;
use crate::seal::Sealer;

use batch::CommitQueue;
use shared_reads::SharedReads;

pub use error::{ConnectionProblem, LedgerError};
pub use filter::Filter;
pub use view::LedgerView;

/// Deadline of a query or a commit.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Maximum number of attempts for a commit that the database aborts because of concurrent transactions.
const MAX_COMMIT_ATTEMPTS: u32 = 5;

/// Database with the tables of a schema.
///
/// # Guarantees
/// - A list of changes is atomic.                                         // test: guarantees_changes_are_atomic
/// - A row that has changed since it was read is not overwritten.         // test: guarantees_a_row_that_changed_is_not_overwritten
/// - A [`RowChange::RequireLimits`] is never exceeded.                    // test: guarantees_row_limits_hold
/// - A view reads one state, whatever is committed meanwhile.             // test: guarantees_a_view_is_consistent
/// - A view sees every commit that completed before it was opened.        // test: a_view_sees_earlier_commits
/// - A rejected commit does not affect commits of its batch.              // test: a_rejected_commit_does_not_affect_others
/// - No credential is stored in plaintext when there is a key.            // test: guarantees_no_credential_is_stored_in_plaintext
///
/// # Caveats
/// - If the connection is lost during a commit, its outcome is unknown: [`LedgerError::Query`]. Read and decide again.
/// - Concurrent callers share transactions: a [`LedgerView`] that is kept for long holds a connection for as long.
/// - A database in memory has one connection. A caller that keeps a [`LedgerView`] of it and commits deadlocks.
#[derive(Clone, Debug)]
pub struct Ledger {
    pub(crate) schema: &'static DatabaseSchema,
    pub(crate) pool: Pool,
    pub(crate) sealer: Arc<Sealer>,
    /// Notifies the change streams of this process; incremented after each commit.
    pub(crate) commit_notifier: watch::Sender<u64>,
    counters: Arc<LedgerCounters>,
    shared_reads: Arc<SharedReads>,
    commits: Arc<CommitQueue>,
    /// Runtime that opened the connections. Only this runtime may use them, whatever runtime the caller is on.
    runtime: tokio::runtime::Handle,
    location: String,
}

/// Counters of the queries and commits of this process.
#[derive(Debug, Default)]
struct LedgerCounters {
    views: AtomicU64,
    commits: AtomicU64,
    rows: AtomicU64,
    queries: AtomicU64,
    transactions: AtomicU64,
}

/// Number of queries and commits of this process, for metrics and tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LedgerCounts {
    /// Views opened.
    pub views: u64,
    /// Commits attempted.
    pub commits: u64,
    /// Rows read by views.
    pub rows: u64,
    /// Queries of views.
    pub queries: u64,
    /// Transactions of all views and commits. Concurrent callers share transactions.
    pub transactions: u64,
}

impl Ledger {
    /// Connects to the database. The tables may still be missing: see [`Ledger::migrate`].
    pub async fn open(
        schema: &'static DatabaseSchema,
        address: &Address,
        sealer: Sealer,
    ) -> Result<Ledger, LedgerError> {
        let location = address.to_string();
        let pool =
            Pool::connect(address).await.map_err(|source| LedgerError::Connect { to: location.clone(), source })?;
        let counters = Arc::default();
        let runtime = tokio::runtime::Handle::current();
        let shared_reads = SharedReads::new(pool.clone(), Arc::clone(&counters), runtime.clone());
        let (sealer, commit_notifier, commits) = (Arc::new(sealer), watch::Sender::new(0), Arc::default());
        Ok(Ledger { schema, pool, sealer, commit_notifier, counters, shared_reads, commits, runtime, location })
    }

    /// Returns a description of the database for messages.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Returns the counters of this process. Change streams have counters of their own.
    pub fn counts(&self) -> LedgerCounts {
        let LedgerCounters { views, commits, rows, queries, transactions } = &*self.counters;
        let all = [views, commits, rows, queries, transactions].map(|count| count.load(Ordering::Relaxed));
        let [views, commits, rows, queries, transactions] = all;
        LedgerCounts { views, commits, rows, queries, transactions }
    }

    /// Opens a view of the current state.
    pub async fn view(&self) -> Result<LedgerView, LedgerError> {
        self.counters.views.fetch_add(1, Ordering::Relaxed);
        Ok(LedgerView::new(self.shared_reads.join().await?, Arc::clone(&self.sealer)))
    }

    /// Returns the row of a key.
    pub async fn get<R: Row>(&self, key: &RowKey) -> Result<Option<R>, LedgerError> {
        let mut view = self.view().await?;
        let row = view.get(key).await?;
        view.end();
        Ok(row)
    }

    /// Returns all rows that match a filter, in the order of their keys.
    pub async fn list<R: Row>(&self, filter: &Filter) -> Result<Vec<R>, LedgerError> {
        let mut view = self.view().await?;
        let rows = view.list(filter).await?;
        view.end();
        Ok(rows)
    }

    /// Commits changes in order, atomically.
    pub async fn commit(&self, changes: &[RowChange]) -> Result<(), LedgerError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        CommitQueue::make(self, changes).await
    }

    /// Notifies the change streams of this process.
    fn notify_listeners(&self) {
        self.commit_notifier.send_modify(|count| *count += 1);
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// Runs a database call with the default deadline.
pub(crate) async fn within<T>(
    act: &'static str,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, LedgerError> {
    within_deadline(act, DEADLINE, work).await
}

/// Runs a database call with a deadline of its own.
pub(crate) async fn within_deadline<T>(
    act: &'static str,
    deadline: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, LedgerError> {
    match tokio::time::timeout(deadline, work).await {
        Ok(done) => done.map_err(|source| LedgerError::Query { act, source: Arc::new(source) }),
        Err(_) => Err(LedgerError::Timeout { act, deadline_s: deadline.as_secs() }),
    }
}
