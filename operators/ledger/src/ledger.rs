//! The ledger: questions that see one state, changes that are made whole or not at all.

mod batch;
mod commit;
mod error;
mod filter;
mod pace;
mod question;
mod reading;
mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::address::Address;
use crate::change::Change;
use crate::key::Key;
use crate::pool::Pool;
use crate::row::Row;
use crate::seal::Sealing;

use batch::Commits;
use reading::Readings;

pub use error::{LedgerError, Trouble};
pub use filter::Filter;
pub use view::View;

/// How long one question or one list of changes may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// How often changes are tried again that the database gave up because of others made at the same time.
const MAX_COMMIT_ATTEMPTS: u32 = 5;

/// A database with the service's tables.
///
/// # Guarantees
/// - A list of changes is made whole or not at all.                       // test: guarantees_changes_are_made_whole_or_not_at_all
/// - A row that is no longer as it was read is not overwritten.           // test: guarantees_a_row_that_changed_is_not_overwritten
/// - No more rows are there than a [`crate::Change::Room`] allows.          // test: guarantees_no_more_is_there_than_may_be
/// - A view sees one state, whatever is committed meanwhile.              // test: guarantees_a_view_sees_one_state
/// - A view sees whatever was committed before it was asked for.          // test: whoever_reads_sees_what_was_committed_before
/// - Who is refused takes nobody along who commits at the same time.      // test: who_is_refused_takes_nobody_along
/// - No credential is stored in clear when there is a key.                // test: guarantees_no_credential_is_stored_in_clear
///
/// # Caveats
/// - If the connection is lost while changes are committed, nobody knows whether they were made: [`LedgerError::Query`]. Read
///   again and decide again.
/// - Those who come at the same time share transactions: who keeps a [`View`] for long keeps a connection for as long.
/// - A database in memory has one connection. Whoever holds a [`View`] of it and commits waits for himself.
#[derive(Clone, Debug)]
pub struct Ledger {
    pub(crate) pool: Pool,
    pub(crate) sealing: Arc<Sealing>,
    /// Rung after each commit of this process.
    pub(crate) bell: watch::Sender<u64>,
    asked: Arc<Asked>,
    readings: Arc<Readings>,
    commits: Arc<Commits>,
    /// Whoever asks, connections are used by the runtime that made them.
    runtime: tokio::runtime::Handle,
    told: String,
}

/// What was asked of a database by this process.
#[derive(Debug, Default)]
struct Asked {
    views: AtomicU64,
    commits: AtomicU64,
    rows: AtomicU64,
    questions: AtomicU64,
    transactions: AtomicU64,
}

/// How much was asked of a database, for whoever counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Views that were opened.
    pub views: u64,
    /// Lists of changes that were tried.
    pub commits: u64,
    /// Rows that were read in views.
    pub rows: u64,
    /// Questions that were asked in views.
    pub questions: u64,
    /// Transactions that all of that took: those who come at the same time share one.
    pub transactions: u64,
}

impl Ledger {
    /// Connects to the database. Its tables may still be missing: see [`Ledger::migrate`].
    pub async fn open(address: &Address, sealing: Sealing) -> Result<Ledger, LedgerError> {
        let told = address.to_string();
        let pool = Pool::connect(address).await.map_err(|source| LedgerError::Connect { to: told.clone(), source })?;
        let asked = Arc::default();
        let runtime = tokio::runtime::Handle::current();
        let readings = Readings::new(pool.clone(), Arc::clone(&asked), runtime.clone());
        let (sealing, bell, commits) = (Arc::new(sealing), watch::Sender::new(0), Arc::default());
        Ok(Ledger { pool, sealing, bell, asked, readings, commits, runtime, told })
    }

    /// Where the database is, in words.
    pub fn told(&self) -> &str {
        &self.told
    }

    /// How much was asked of it until now, by this process; signals count their own.
    pub fn counts(&self) -> Counts {
        let Asked { views, commits, rows, questions, transactions } = &*self.asked;
        let all = [views, commits, rows, questions, transactions].map(|count| count.load(Ordering::Relaxed));
        let [views, commits, rows, questions, transactions] = all;
        Counts { views, commits, rows, questions, transactions }
    }

    /// A view of the database as it is now.
    pub async fn view(&self) -> Result<View, LedgerError> {
        self.asked.views.fetch_add(1, Ordering::Relaxed);
        Ok(View::new(self.readings.seat().await?, Arc::clone(&self.sealing)))
    }

    /// The row of a key, if there is one.
    pub async fn get<R: Row>(&self, key: &Key) -> Result<Option<R>, LedgerError> {
        let mut view = self.view().await?;
        let row = view.get(key).await?;
        view.end();
        Ok(row)
    }

    /// All rows that a filter lets through, in the order of their keys.
    pub async fn list<R: Row>(&self, filter: &Filter) -> Result<Vec<R>, LedgerError> {
        let mut view = self.view().await?;
        let rows = view.list(filter).await?;
        view.end();
        Ok(rows)
    }

    /// Makes changes, in their order, whole or not at all.
    pub async fn commit(&self, changes: &[Change]) -> Result<(), LedgerError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.asked.commits.fetch_add(1, Ordering::Relaxed);
        Commits::make(self, changes).await
    }

    /// Tells those who follow changes in this process.
    fn ring(&self) {
        self.bell.send_modify(|rung| *rung += 1);
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// Waits for the database, but not for ever.
pub(crate) async fn within<T>(
    act: &'static str,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, LedgerError> {
    within_deadline(act, DEADLINE, work).await
}

/// The same, for what may take longer.
pub(crate) async fn within_deadline<T>(
    act: &'static str,
    deadline: Duration,
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, LedgerError> {
    match tokio::time::timeout(deadline, work).await {
        Ok(done) => done.map_err(|source| LedgerError::Query { act, source: Arc::new(source) }),
        Err(_) => Err(LedgerError::Late { act, deadline_s: deadline.as_secs() }),
    }
}
