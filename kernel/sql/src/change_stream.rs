//! Stream of changed rows, from all writers.
//!
//! ```text
//!  a row changes ─▶ trigger ─▶ switchboard_change ◀── read from the cursor on ── ChangeStream
//!                      └─▶ NOTIFY (PostgreSQL), watch channel (SQLite) ── "read" ───┘
//! ```
//!
//! The change log is authoritative; notifications only trigger a read. Without notifications the database is not
//! queried, unless the listener is disconnected: then the log is polled every few seconds. Writes of other processes to
//! a SQLite file are detected by its modification time.
//!
//! The cursor is a snapshot of the transactions that were visible: a transaction that ends late is delivered when it
//! ends, and one that stays open, in any database of the server, delays no other change.

mod cursor;
mod listen;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::ledger::{Ledger, LedgerError, within};
use crate::pool::{Intent, Transaction};
use crate::statement::Dialect;
use crate::value::{ColumnType, SqlValue};

use cursor::{LogCursor, LogEntry, LogPosition, LogRead, TransactionSnapshot};
use listen::ChangeListener;

/// Changes per read.
const MAX_CHANGES_PER_READ: usize = 1000;

/// Retention of the change log for late readers.
pub const CHANGE_RETENTION: Duration = Duration::from_secs(15 * 60);

/// Number of changes read after which old ones are removed.
const TRIM_EVERY: usize = 1000;

/// Poll interval while the listener is disconnected.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Minimum time between two reads. One read serves many concurrent commits.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(50);

/// Event of a [`ChangeStream`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeEvent {
    /// A row was inserted, updated or deleted.
    Row {
        /// Table of the row.
        table: String,
        /// Key of the row, columns separated by `/`.
        key: String,
    },
    /// Changes may have been missed: list everything again.
    Resync,
}

/// Stream of changes since it was opened.
///
/// # Guarantees
/// - Each change that is committed after the stream was opened is delivered at least once. // test: guarantees_every_change_is_delivered
/// - Open transactions of other clients do not delay that.   // test: an_open_transaction_of_another_database_delays_no_change
/// - The database is not queried while nothing changes.      // test: guarantees_no_query_while_nothing_changes
/// - Changes during a disconnection cause a [`ChangeEvent::Resync`]. // test: guarantees_missed_changes_cause_a_resync
pub struct ChangeStream {
    ledger: Ledger,
    listener: ChangeListener,
    cursor: LogCursor,
    /// Whether a notification has not been followed by a read. The flag survives a cancelled call.
    is_due: bool,
    read_since_trim: usize,
    reads: u64,
    last_read: Option<Instant>,
}

impl Ledger {
    /// Opens a stream of the changes from now on.
    pub async fn changes(&self) -> Result<ChangeStream, LedgerError> {
        let listener = ChangeListener::new(self).await;
        let cursor = LogCursor::at(start(self).await?);
        Ok(ChangeStream {
            ledger: self.clone(),
            listener,
            cursor,
            is_due: true,
            read_since_trim: 0,
            reads: 0,
            last_read: None,
        })
    }
}

impl ChangeStream {
    /// Waits for changes. A cancelled call loses none.
    pub async fn next(&mut self) -> Vec<ChangeEvent> {
        loop {
            if !self.is_due {
                if self.listener.wait().await {
                    self.cursor.require_resync();
                }
                self.is_due = true;
            }
            if let Some(last_read) = self.last_read {
                sleep_until(last_read + MIN_READ_INTERVAL).await;
            }
            self.last_read = Some(Instant::now());
            match self.poll().await {
                Ok(events) => {
                    self.is_due = self.cursor.has_more();
                    if !events.is_empty() {
                        return events;
                    }
                }
                Err(error) => {
                    tracing::warn!(error = %error, retry_ms = POLL_INTERVAL.as_millis() as u64, "could not read changes");
                    self.cursor.require_resync();
                    sleep(POLL_INTERVAL).await;
                }
            }
        }
    }

    /// Number of reads of the change log, for tests.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    async fn poll(&mut self) -> Result<Vec<ChangeEvent>, LedgerError> {
        self.reads += 1;
        let log = read(&self.ledger, &self.cursor).await?;
        self.read_since_trim += log.entries.len();
        if self.read_since_trim >= TRIM_EVERY {
            trim(&self.ledger).await?;
            self.read_since_trim = 0;
        }
        // The last step: a call that is cancelled before has not advanced the cursor.
        Ok(self.cursor.take(log))
    }
}

/// Returns the snapshot to start from: transactions that are not committed by now follow.
async fn start(ledger: &Ledger) -> Result<TransactionSnapshot, LedgerError> {
    let mut transaction = within("begin a read transaction", ledger.pool.begin(Intent::Read)).await?;
    let (_, now) = head(&mut transaction, ledger.pool.dialect()).await?;
    within("end the read transaction", transaction.rollback()).await?;
    Ok(now)
}

/// Returns the newest transaction that was trimmed from the log, and the snapshot of visible transactions. For SQLite,
/// which has a single writer, each change counts as a transaction.
async fn head(transaction: &mut Transaction, dialect: Dialect) -> Result<(i64, TransactionSnapshot), LedgerError> {
    let sql = match dialect {
        Dialect::Postgres => "select made_by::text::bigint, pg_current_snapshot()::text from switchboard_change_cut",
        Dialect::Sqlite => {
            "select seq, ':' || (1 + max(seq, coalesce((select max(seq) from switchboard_change), 0))) || ':' from switchboard_change_cut"
        }
    };
    let act = "read the bounds of the change log";
    let rows = within(act, transaction.fetch(sql.to_string(), &[ColumnType::Integer, ColumnType::Text], &[])).await?;
    let found = match rows.first().map(Vec::as_slice) {
        Some([SqlValue::Integer(Some(cut)), SqlValue::Text(Some(now))]) => {
            TransactionSnapshot::parse(now).map(|now| (*cut, now))
        }
        _ => None,
    };
    let unreadable = || LedgerError::Query { act, source: Arc::new(sqlx::Error::Decode("no bounds returned".into())) };
    found.ok_or_else(unreadable)
}

/// Reads the log from the cursor on.
async fn read(ledger: &Ledger, cursor: &LogCursor) -> Result<LogRead, LedgerError> {
    let dialect = ledger.pool.dialect();
    let mut transaction = within("begin a read transaction", ledger.pool.begin(Intent::Read)).await?;
    let (cut, now) = head(&mut transaction, dialect).await?;
    let (delivered, until, after) = (cursor.delivered(), cursor.until(&now), cursor.after());
    let number = |number: i64| SqlValue::Integer(Some(number));
    let (sql, values) = match dialect {
        Dialect::Postgres => {
            // Two queries, each in the order of the index: transactions that began after the delivered snapshot, and
            // those that were open in it.
            let from = after.max(LogPosition { made_by: delivered.end(), seq: 0 });
            let open: Vec<String> = delivered.open().map(|one| one.to_string()).collect();
            let open = SqlValue::Text(Some(open.join(",")));
            let of = |which: &str| {
                format!(
                    "(select c.made_by::text::bigint, c.seq, c.relation, c.row_key from switchboard_change c where {which} order by c.made_by, c.seq limit {MAX_CHANGES_PER_READ})"
                )
            };
            let later = of("(c.made_by, c.seq) > ($1::text::xid8, $2) and c.made_by < $3::text::xid8");
            let late =
                of("c.made_by = any(string_to_array($4, ',')::xid8[]) and (c.made_by, c.seq) > ($5::text::xid8, $6)");
            let values = vec![
                number(from.made_by),
                number(from.seq),
                number(until.end()),
                open,
                number(after.made_by),
                number(after.seq),
            ];
            (format!("{later} union all {late} order by 1, 2 limit {MAX_CHANGES_PER_READ}"), values)
        }
        Dialect::Sqlite => {
            let sql = format!(
                "select seq, seq, relation, row_key from switchboard_change where seq > $1 and seq < $2 order by seq limit {MAX_CHANGES_PER_READ}"
            );
            (sql, vec![number(after.seq.max(delivered.end() - 1)), number(until.end())])
        }
    };
    let kinds = [ColumnType::Integer, ColumnType::Integer, ColumnType::Text, ColumnType::Text];
    let rows = within("read the change log", transaction.fetch(sql, &kinds, &values)).await?;
    within("end the read transaction", transaction.rollback()).await?;
    let entry = |row: &Vec<SqlValue>| LogEntry {
        position: position(row),
        table: row.get(2).and_then(SqlValue::as_text).unwrap_or_default().to_string(),
        key: row.get(3).and_then(SqlValue::as_text).unwrap_or_default().to_string(),
    };
    let is_all = rows.len() < MAX_CHANGES_PER_READ;
    Ok(LogRead { cut, now, entries: rows.iter().map(entry).collect(), is_all })
}

/// Removes changes that are older than [`CHANGE_RETENTION`], by the database's clock, and records the newest removed
/// one.
async fn trim(ledger: &Ledger) -> Result<(), LedgerError> {
    let keep_s = CHANGE_RETENTION.as_secs();
    let old = match ledger.pool.dialect() {
        Dialect::Postgres => format!("made_on < (now() at time zone 'UTC') - interval '{keep_s} seconds'"),
        Dialect::Sqlite => format!("made_on < (unixepoch('subsec') - {keep_s}) * 1000000"),
    };
    let mut transaction = within("begin a write transaction", ledger.pool.begin(Intent::Write)).await?;
    let newest = format!(
        "select c.made_by, c.seq from switchboard_change c where c.{old} order by c.made_by desc, c.seq desc limit 1"
    );
    let note = format!("update switchboard_change_cut set (made_by, seq) = ({newest}) where exists ({newest})");
    within("record where the change log is trimmed", transaction.execute(note, &[])).await?;
    let remove = format!("delete from switchboard_change where {old}");
    within("delete old changes", transaction.execute(remove, &[])).await?;
    within("commit changes", transaction.commit()).await
}

fn position(row: &[SqlValue]) -> LogPosition {
    match row {
        [SqlValue::Integer(Some(made_by)), SqlValue::Integer(Some(seq)), ..] => {
            LogPosition { made_by: *made_by, seq: *seq }
        }
        _ => LogPosition::default(),
    }
}
