//! The ledger as a store of the kernel: rows become objects of views.
//!
//! ```text
//!  Begin ─▶ one read transaction: change log since the cursor ─▶ rows by key, queries by index ─▶ End
//! ```

mod convert;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use switchboard_kernel::resource::{ListQuery, ObjectKey};
use switchboard_kernel::row::{Row, RowFilter, RowTable, RowWrite};
use switchboard_kernel::store::{
    BegunSession, CommitOutcome, FetchedRows, RowBatch, RowFetch, RowLog, RowSession, RowStore, StoreCursor,
    StoreError, StoreName,
};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::change_stream::{self, ChangeEvent, ChangeListener, LogCursor, MIN_READ_INTERVAL, TransactionSnapshot};
use crate::key::RowKey;
use crate::ledger::{Ledger, LedgerError, ReadSession, RowQuery};
use crate::row::Table;
use crate::value::SqlValue;

use convert::{StoreTables, changes_of, filter_of};
pub use convert::{open_row, stored_type, stored_values, typed};

/// Number of changes read after which the log is trimmed.
const TRIM_EVERY: usize = 1000;

/// Ledger as a row store. Credentials stay sealed in rows that are read; those of a plan are sealed at the commit.
pub struct LedgerStore {
    name: StoreName,
    ledger: Ledger,
    tables: Arc<StoreTables>,
    listener: Mutex<(ChangeListener, Option<Instant>)>,
    read_since_trim: AtomicUsize,
}

impl LedgerStore {
    /// Creates the store.
    pub async fn new(name: StoreName, ledger: Ledger) -> LedgerStore {
        let listener = Mutex::new((ChangeListener::new(&ledger).await, None));
        let tables = Arc::new(StoreTables::of_schema(ledger.schema));
        LedgerStore { name, ledger, tables, listener, read_since_trim: AtomicUsize::new(0) }
    }

    async fn open(&self, since: Option<StoreCursor>) -> Result<(RowLog, LedgerSession), LedgerError> {
        let mut session = self.ledger.begin_session().await?;
        let since = since.and_then(|since| TransactionSnapshot::parse(&since.0));
        let log = self.read_log(&mut session, since).await?;
        self.trim_after(log.changed.len());
        let (ledger, tables) = (self.ledger.clone(), Arc::clone(&self.tables));
        Ok((log, LedgerSession { session: Some(session), ledger, tables }))
    }

    /// Reads the log up to the session's own snapshot.
    async fn read_log(
        &self,
        session: &mut ReadSession,
        since: Option<TransactionSnapshot>,
    ) -> Result<RowLog, LedgerError> {
        let dialect = self.ledger.pool.dialect();
        let at = |snapshot: &TransactionSnapshot| StoreCursor(snapshot.to_string().into());
        let Some(since) = since else {
            let (_, now) = change_stream::head(session.transaction(), dialect).await?;
            return Ok(RowLog { changed: Vec::new(), cursor: at(&now), is_resync: true });
        };
        let (mut cursor, mut changed, mut is_resync) = (LogCursor::at(since), Vec::new(), false);
        loop {
            let log = change_stream::read_log(session.transaction(), dialect, &cursor).await?;
            for event in cursor.take(log) {
                match event {
                    ChangeEvent::Resync => is_resync = true,
                    ChangeEvent::Row { table, key } => {
                        let form = self.tables.of_name(&table).map(|(_, form)| form);
                        changed.extend(form.map(|form| form.row_key(&self.name, &key)));
                    }
                }
            }
            if !cursor.has_more() {
                break;
            }
        }
        if is_resync {
            changed.clear();
        }
        Ok(RowLog { changed, cursor: at(cursor.delivered()), is_resync })
    }

    fn trim_after(&self, read: usize) {
        if self.read_since_trim.fetch_add(read, Ordering::Relaxed) + read >= TRIM_EVERY {
            self.read_since_trim.store(0, Ordering::Relaxed);
            let ledger = self.ledger.clone();
            // Later, because a database in memory has one connection, which the session holds.
            self.ledger.runtime().spawn(async move {
                if let Err(error) = change_stream::trim(&ledger).await {
                    tracing::warn!(error = %error, "could not trim the change log");
                }
            });
        }
    }
}

impl RowStore for LedgerStore {
    fn name(&self) -> &StoreName {
        &self.name
    }

    fn begin(&self, since: Option<StoreCursor>) -> BoxFuture<'_, Result<BegunSession, StoreError>> {
        async {
            let (log, session) = self.open(since).await.map_err(message)?;
            Ok((log, Box::new(session) as Box<dyn RowSession>))
        }
        .boxed()
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        async {
            let (listener, last) = &mut *self.listener.lock().await;
            if let Some(last) = last {
                sleep_until(*last + MIN_READ_INTERVAL).await;
            }
            // The cursor shows what was missed while the listener was disconnected.
            listener.wait().await;
            *last = Some(Instant::now());
        }
        .boxed()
    }

    fn commit<'a>(&'a self, writes: &'a [RowWrite], dry_run: bool) -> BoxFuture<'a, CommitOutcome> {
        async move {
            let changes = match changes_of(&self.tables, &self.ledger.sealer, writes) {
                Ok(changes) => changes,
                Err(problem) => return CommitOutcome::Failed(problem),
            };
            let done = match dry_run {
                true => self.ledger.check(&changes).await,
                false => self.ledger.commit(&changes).await,
            };
            match done {
                Ok(()) => CommitOutcome::Done,
                Err(error) if error.is_conflict() => CommitOutcome::Conflict(error.to_string()),
                Err(error) => CommitOutcome::Failed(error.to_string()),
            }
        }
        .boxed()
    }
}

fn message(error: LedgerError) -> StoreError {
    StoreError(error.to_string())
}

/// Read transaction.
struct LedgerSession {
    session: Option<ReadSession>,
    ledger: Ledger,
    tables: Arc<StoreTables>,
}

/// Target of a query.
enum FetchTarget {
    Row(ObjectKey),
    Rows(ListQuery),
}

impl LedgerSession {
    async fn read(&mut self, fetch: RowFetch) -> Result<RowBatch, LedgerError> {
        let mut queries: Vec<(FetchTarget, &'static Table, &'static RowTable, RowQuery)> = Vec::new();
        let mut batch = RowBatch::default();
        for key in fetch.rows {
            let Some((table, form)) = self.tables.of_key(&key.table) else {
                batch.rows.push((key, None));
                continue;
            };
            let query = RowQuery::rows(table, &key_filter(table, &key.name))?;
            queries.push((FetchTarget::Row(key), table, form, query));
        }
        for query in fetch.queries {
            let Some((table, form)) = self.tables.of_key(&query.table) else { continue };
            let filter = query.row_filter().cloned().unwrap_or_else(RowFilter::all);
            let row_query = match filter.below {
                Some(_) => RowQuery::count(table, &filter_of(table, &filter)?)?,
                None => RowQuery::rows(table, &filter_of(table, &filter)?)?,
            };
            queries.push((FetchTarget::Rows(query), table, form, row_query));
        }
        let mut by_shape = HashMap::<_, Vec<_>>::new();
        for (at, (.., query)) in queries.iter().enumerate() {
            by_shape.entry(query.shape().clone()).or_default().push((at, query.clone()));
        }
        let mut found = BTreeMap::new();
        if let Some(session) = &mut self.session {
            for (shape, of_shape) in by_shape {
                let (places, of_shape): (Vec<usize>, Vec<RowQuery>) = of_shape.into_iter().unzip();
                found.extend(places.into_iter().zip(session.run_queries(&shape, &of_shape).await?));
            }
        }
        for (at, (target, table, form, _)) in queries.into_iter().enumerate() {
            let rows = found.get(&at).map(|rows| &***rows).unwrap_or_default();
            match target {
                FetchTarget::Row(key) => {
                    let row = rows.first().map(|values| convert::row(&key.table.cluster, table, form, values));
                    batch.rows.push((key, row));
                }
                FetchTarget::Rows(query) => {
                    let result = result(&query, table, form, rows);
                    batch.results.push((query, result));
                }
            }
        }
        Ok(batch)
    }
}

fn result(query: &ListQuery, table: &Table, form: &'static RowTable, rows: &[Vec<SqlValue>]) -> FetchedRows {
    match query.row_filter().and_then(|filter| filter.below) {
        Some(max) => FetchedRows::Below(crate::ledger::read_count(rows) < u64::from(max)),
        None => {
            let row = |values: &Vec<SqlValue>| -> Row { convert::row(&query.table.cluster, table, form, values) };
            FetchedRows::Rows(rows.iter().map(row).collect())
        }
    }
}

/// Returns the filter for the row of a key in the form of the change log.
fn key_filter(table: &Table, key: &str) -> crate::Filter {
    let columns: Vec<_> = table.keys().collect();
    let parts: RowKey = key.splitn(columns.len(), '/').map(str::to_string).collect();
    let pairs = columns.iter().zip(parts.parts());
    pairs.fold(crate::Filter::all(), |filter, (column, part)| filter.is(column.name, part.as_str()))
}

impl RowSession for LedgerSession {
    fn fetch(&mut self, fetch: RowFetch) -> BoxFuture<'_, Result<RowBatch, StoreError>> {
        self.read(fetch).map(|read| read.map_err(message)).boxed()
    }
}

impl Drop for LedgerSession {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.ledger.runtime().spawn(session.end());
        }
    }
}
