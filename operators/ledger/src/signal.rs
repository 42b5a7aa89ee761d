//! News of changed rows, whoever changed them.
//!
//! ```text
//!  a row changes ─▶ trigger ─▶ switchboard_change ◀── read from the cursor on ── Signals
//!                      └─▶ NOTIFY (PostgreSQL), bell (SQLite) ───── "look" ────────┘
//! ```
//!
//! The log of changes is what counts; the bell only says when to look. Nothing is asked while nothing rings, unless the bell is out
//! of order: then the log is looked at every few seconds. What other processes write to a SQLite file is seen by its age.
//!
//! What was told is remembered as what could be seen: a transaction that ends late is told when it ends, and one that somebody keeps
//! open, in whatever database of the server, keeps nothing back.

mod bell;
mod cursor;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use crate::ledger::{Ledger, LedgerError, within};
use crate::pool::{Intent, Transaction};
use crate::statement::Dialect;
use crate::value::{Kind, Value};

use bell::Bell;
use cursor::{Cursor, Entry, Log, Position, Snapshot};

/// How many changes are read at once.
const READ_CHANGES: usize = 1000;

/// How long changes are kept for those who look late.
pub const KEEP_CHANGES: Duration = Duration::from_secs(15 * 60);

/// After so many changes that were read, old ones are removed.
const TRIM_EVERY: usize = 1000;

/// How often the log is looked at while there is no bell.
const POLL: Duration = Duration::from_secs(2);

/// The least time between two looks: many commit at the same time, and one look is enough for all of them.
const GATHER: Duration = Duration::from_millis(50);

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
/// - Nobody else's open transaction delays that.                                // test: a_transaction_of_another_database_makes_nobody_deaf
/// - Nothing is asked of the database while nothing changes.                    // test: guarantees_no_question_while_nothing_changes
/// - What was missed while the database was away is told as [`Signal::Everything`]. // test: guarantees_what_was_missed_is_told
pub struct Signals {
    ledger: Ledger,
    bell: Bell,
    cursor: Cursor,
    /// Something rang and was not looked at yet. It outlives a caller that stopped waiting.
    due: bool,
    read_since_trim: usize,
    reads: u64,
    looked: Option<Instant>,
}

impl Ledger {
    /// News from now on.
    pub async fn signals(&self) -> Result<Signals, LedgerError> {
        let bell = Bell::new(self).await;
        let cursor = Cursor::at(start(self).await?);
        Ok(Signals { ledger: self.clone(), bell, cursor, due: true, read_since_trim: 0, reads: 0, looked: None })
    }
}

impl Signals {
    /// Waits for news. To stop waiting loses none.
    pub async fn next(&mut self) -> Vec<Signal> {
        loop {
            if !self.due {
                if self.bell.rung().await {
                    self.cursor.doubt();
                }
                self.due = true;
            }
            if let Some(looked) = self.looked {
                sleep_until(looked + GATHER).await;
            }
            self.looked = Some(Instant::now());
            match self.look().await {
                Ok(signals) => {
                    self.due = self.cursor.has_more();
                    if !signals.is_empty() {
                        return signals;
                    }
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

    async fn look(&mut self) -> Result<Vec<Signal>, LedgerError> {
        self.reads += 1;
        let log = read(&self.ledger, &self.cursor).await?;
        self.read_since_trim += log.entries.len();
        if self.read_since_trim >= TRIM_EVERY {
            trim(&self.ledger).await?;
            self.read_since_trim = 0;
        }
        // Last: whoever stops waiting before has taken nothing.
        Ok(self.cursor.take(log))
    }
}

/// Where to begin: whatever is not committed by now comes later.
async fn start(ledger: &Ledger) -> Result<Snapshot, LedgerError> {
    let mut transaction = within("begin to read", ledger.pool.begin(Intent::Read)).await?;
    let (_, now) = head(&mut transaction, ledger.pool.dialect()).await?;
    within("end reading", transaction.rollback()).await?;
    Ok(now)
}

/// The newest transaction of which something was cut from the log, and which can be seen. In SQLite, where one writes at a time, each
/// change is taken for a transaction of its own.
async fn head(transaction: &mut Transaction, dialect: Dialect) -> Result<(i64, Snapshot), LedgerError> {
    let sql = match dialect {
        Dialect::Postgres => "select made_by::text::bigint, pg_current_snapshot()::text from switchboard_change_cut",
        Dialect::Sqlite => {
            "select seq, ':' || (1 + max(seq, coalesce((select max(seq) from switchboard_change), 0))) || ':' from switchboard_change_cut"
        }
    };
    let act = "look where the log begins and ends";
    let rows = within(act, transaction.fetch(sql.to_string(), &[Kind::Integer, Kind::Text], &[])).await?;
    let found = match rows.first().map(Vec::as_slice) {
        Some([Value::Integer(Some(cut)), Value::Text(Some(now))]) => Snapshot::parse(now).map(|now| (*cut, now)),
        _ => None,
    };
    let unreadable = || LedgerError::Query { act, source: Arc::new(sqlx::Error::Decode("it is not said".into())) };
    found.ok_or_else(unreadable)
}

/// What follows in the log.
async fn read(ledger: &Ledger, cursor: &Cursor) -> Result<Log, LedgerError> {
    let dialect = ledger.pool.dialect();
    let mut transaction = within("begin to read", ledger.pool.begin(Intent::Read)).await?;
    let (cut, now) = head(&mut transaction, dialect).await?;
    let (told, until, after) = (cursor.told(), cursor.until(&now), cursor.after());
    let number = |number: i64| Value::Integer(Some(number));
    let (sql, values) = match dialect {
        Dialect::Postgres => {
            // Two questions, each in the order of the index: what began later than all that was told, and what was open then.
            let from = after.max(Position { made_by: told.end(), seq: 0 });
            let open: Vec<String> = told.open().map(|one| one.to_string()).collect();
            let open = Value::Text(Some(open.join(",")));
            let of = |which: &str| {
                format!(
                    "(select c.made_by::text::bigint, c.seq, c.relation, c.row_key from switchboard_change c where {which} order by c.made_by, c.seq limit {READ_CHANGES})"
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
            (format!("{later} union all {late} order by 1, 2 limit {READ_CHANGES}"), values)
        }
        Dialect::Sqlite => {
            let sql = format!(
                "select seq, seq, relation, row_key from switchboard_change where seq > $1 and seq < $2 order by seq limit {READ_CHANGES}"
            );
            (sql, vec![number(after.seq.max(told.end() - 1)), number(until.end())])
        }
    };
    let kinds = [Kind::Integer, Kind::Integer, Kind::Text, Kind::Text];
    let rows = within("read the log of changes", transaction.fetch(sql, &kinds, &values)).await?;
    within("end reading", transaction.rollback()).await?;
    let entry = |row: &Vec<Value>| Entry {
        position: position(row),
        table: row.get(2).and_then(Value::as_text).unwrap_or_default().to_string(),
        key: row.get(3).and_then(Value::as_text).unwrap_or_default().to_string(),
    };
    let is_all = rows.len() < READ_CHANGES;
    Ok(Log { cut, now, entries: rows.iter().map(entry).collect(), is_all })
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
