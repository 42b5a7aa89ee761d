//! News of changed rows, whoever changed them.
//!
//! ```text
//!  a row changes ─▶ trigger ─▶ switchboard_change ◀── read from the cursor on ── Signals
//!                      └─▶ NOTIFY (PostgreSQL), bell (SQLite) ───── "look" ────────┘
//! ```
//!
//! The log of changes is what counts; the bell only says when to look. Nothing is asked while nothing rings, unless the bell is out
//! of order: then the log is looked at every few seconds.

mod bell;
mod cursor;

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::ledger::{Ledger, LedgerError, within};
use crate::pool::Intent;
use crate::statement::Dialect;
use crate::value::{Kind, Value};

use bell::Bell;
use cursor::{Cursor, Entry, Position};

/// How many changes are read at once.
const READ_CHANGES: usize = 1000;

/// How long changes are kept for those who look late.
pub const KEEP_CHANGES: Duration = Duration::from_secs(15 * 60);

/// After so many changes that were read, old ones are removed.
const TRIM_EVERY: usize = 1000;

/// How often the log is looked at while there is no bell.
const POLL: Duration = Duration::from_secs(2);

/// The least time between two looks: many commit at the same time, and one look is enough for all of them.
const GATHER: Duration = Duration::from_millis(25);

/// How long until changes are looked for that an open transaction may still put before those that were read.
const SETTLE: Duration = Duration::from_millis(200);

/// The longest wait of that sort.
const MAX_SETTLE: Duration = Duration::from_secs(5);

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// This row was added, changed or removed.
    Changed {
        /// Its table.
        table: String,
        /// Its key, columns with `/` between them.
        key: String,
    },
    /// Something may have been missed: look at everything.
    Everything,
}

/// A stream of signals, from when it was asked for.
///
/// # Guarantees
/// - Each change that is committed after this was made is told at least once.   // test: guarantees_every_change_is_told
/// - Nothing is asked of the database while nothing changes.                    // test: guarantees_no_question_while_nothing_changes
/// - What was missed while the database was away is told as [`Signal::Everything`]. // test: guarantees_what_was_missed_is_told
pub struct Signals {
    ledger: Ledger,
    bell: Bell,
    cursor: Cursor,
    /// Something rang and was not looked at yet. It outlives a caller that stopped waiting.
    due: bool,
    settle: Duration,
    read_since_trim: usize,
    reads: u64,
    looked: Option<Instant>,
}

impl Ledger {
    /// News from now on.
    pub async fn signals(&self) -> Result<Signals, LedgerError> {
        let bell = Bell::new(self).await;
        let cursor = Cursor::at(start(self).await?);
        Ok(Signals {
            ledger: self.clone(),
            bell,
            cursor,
            due: true,
            settle: SETTLE,
            read_since_trim: 0,
            reads: 0,
            looked: None,
        })
    }
}

impl Signals {
    /// Waits for news. To stop waiting loses none.
    pub async fn next(&mut self) -> Vec<Signal> {
        loop {
            if !self.due {
                self.wait().await;
                self.due = true;
            }
            if let Some(looked) = self.looked {
                sleep_until(looked + GATHER).await;
            }
            self.looked = Some(Instant::now());
            match self.look().await {
                Ok(signals) if signals.is_empty() => self.due = false,
                Ok(signals) => {
                    self.due = signals.len() >= READ_CHANGES;
                    return signals;
                }
                Err(error) => {
                    tracing::warn!(error = %error, retry_ms = POLL.as_millis() as u64, "could not look for changes");
                    self.cursor.doubt();
                    sleep(POLL).await;
                }
            }
        }
    }

    /// How often the database was asked, for whoever counts.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    async fn wait(&mut self) {
        let unsettled = self.cursor.is_unsettled();
        let settle = self.settle;
        let settled = async { if unsettled { sleep(settle).await } else { std::future::pending().await } };
        tokio::select! {
            missed = self.bell.rung() => if missed { self.cursor.doubt() },
            () = settled => self.settle = (self.settle * 2).min(MAX_SETTLE),
        }
    }

    async fn look(&mut self) -> Result<Vec<Signal>, LedgerError> {
        self.reads += 1;
        let (cut, horizon, entries) = read(&self.ledger, self.cursor.position()).await?;
        self.read_since_trim += entries.len();
        let signals = self.cursor.take(cut, horizon, entries);
        if !self.cursor.is_unsettled() {
            self.settle = SETTLE;
        }
        if self.read_since_trim >= TRIM_EVERY {
            trim(&self.ledger).await?;
            self.read_since_trim = 0;
        }
        Ok(signals)
    }
}

/// Where to begin: whatever is not committed by now comes later.
async fn start(ledger: &Ledger) -> Result<Position, LedgerError> {
    let sql = match ledger.pool.dialect() {
        Dialect::Postgres => "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint, 0::bigint",
        Dialect::Sqlite => "select 0, coalesce(max(seq), 0) from switchboard_change",
    };
    let mut transaction = within("begin to read", ledger.pool.begin(Intent::Read)).await?;
    let kinds = [Kind::Integer, Kind::Integer];
    let rows = within("find the end of the log", transaction.fetch(sql.to_string(), &kinds, &[])).await?;
    within("end reading", transaction.rollback()).await?;
    Ok(rows.first().map(|row| position(row)).unwrap_or_default())
}

/// Where the log was cut, before which transaction nothing new can appear, and what comes after a position.
async fn read(ledger: &Ledger, from: Position) -> Result<(Position, i64, Vec<Entry>), LedgerError> {
    let dialect = ledger.pool.dialect();
    let (by, after, horizon) = match dialect {
        Dialect::Postgres => (
            "made_by::text::bigint",
            "(made_by, seq) > ($1::text::xid8, $2)",
            "pg_snapshot_xmin(pg_current_snapshot())::text::bigint",
        ),
        Dialect::Sqlite => ("made_by", "(made_by, seq) > ($1, $2)", "1"),
    };
    let mut transaction = within("begin to read", ledger.pool.begin(Intent::Read)).await?;
    let sql = format!("select {by}, seq, {horizon} from switchboard_change_cut");
    let numbers = [Kind::Integer; 3];
    let cut = within("look where the log begins", transaction.fetch(sql, &numbers, &[])).await?;
    let kinds = [Kind::Integer, Kind::Integer, Kind::Text, Kind::Text];
    let sql = format!(
        "select {by}, seq, relation, row_key from switchboard_change where {after} order by made_by, seq limit {READ_CHANGES}"
    );
    let values = [Value::Integer(Some(from.made_by)), Value::Integer(Some(from.seq))];
    let rows = within("read the log of changes", transaction.fetch(sql, &kinds, &values)).await?;
    within("end reading", transaction.rollback()).await?;
    let entry = |row: &Vec<Value>| Entry {
        position: position(row),
        table: row.get(2).and_then(Value::as_text).unwrap_or_default().to_string(),
        key: row.get(3).and_then(Value::as_text).unwrap_or_default().to_string(),
    };
    let horizon = match cut.first().map(Vec::as_slice) {
        Some([_, _, Value::Integer(Some(horizon))]) => *horizon,
        _ => 0,
    };
    let cut = cut.first().map(|row| position(row)).unwrap_or_default();
    Ok((cut, horizon, rows.iter().map(entry).collect()))
}

/// Removes what is older than [`KEEP_CHANGES`], by the database's own clock, and notes up to where.
async fn trim(ledger: &Ledger) -> Result<(), LedgerError> {
    let keep_s = KEEP_CHANGES.as_secs();
    let old = match ledger.pool.dialect() {
        Dialect::Postgres => format!("made_on < (now() at time zone 'UTC') - interval '{keep_s} seconds'"),
        Dialect::Sqlite => format!("made_on < (unixepoch('subsec') - {keep_s}) * 1000000"),
    };
    let mut transaction = within("begin to write", ledger.pool.begin(Intent::Write)).await?;
    let newest = format!(
        "select c.made_by, c.seq from switchboard_change c where c.{old} order by c.made_by desc, c.seq desc limit 1"
    );
    let note = format!("update switchboard_change_cut set (made_by, seq) = ({newest}) where exists ({newest})");
    within("note where the log is cut", transaction.execute(note, &[])).await?;
    let remove = format!("delete from switchboard_change where {old}");
    within("remove old changes", transaction.execute(remove, &[])).await?;
    within("commit changes", transaction.commit()).await
}

fn position(row: &[Value]) -> Position {
    match row {
        [Value::Integer(Some(made_by)), Value::Integer(Some(seq)), ..] => Position { made_by: *made_by, seq: *seq },
        _ => Position::default(),
    }
}
