//! Connections to either database, and the few things that are done with one. Everything above speaks of values.

mod postgres;
mod sqlite;

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgPool, Postgres, Sqlite, SqlitePool};

use crate::address::{Address, Place};
use crate::statement::Dialect;
use crate::value::{Kind, Value};

/// The most connections to PostgreSQL of one process, the listening one included.
const MAX_POSTGRES_CONNECTIONS: u32 = 16;

/// The most connections to a SQLite file: one writes, the others read.
const MAX_SQLITE_CONNECTIONS: u32 = 4;

/// How long a connection is waited for.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// How long those who come one after the other wait for each other, so that they ask PostgreSQL together: so long for each that came
/// last time, up to [`POSTGRES_GATHER_MAX`].
const POSTGRES_GATHER: Duration = Duration::from_millis(10);

/// The longest that is.
const POSTGRES_GATHER_MAX: Duration = Duration::from_millis(40);

/// How long a writer waits for another one of the same file.
const BUSY_DEADLINE: Duration = Duration::from_secs(10);

/// A statement for one row, and the same for any number of them; the latter is in PostgreSQL's words alone.
#[derive(Debug)]
pub struct Statement {
    pub one: String,
    pub each: String,
}

/// Connections to the database.
#[derive(Clone, Debug)]
pub enum Pool {
    Postgres(PgPool),
    Sqlite(SqlitePool),
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// All of it sees one state of the database.
    Read,
    Write,
}

/// A transaction. Dropped, it leaves nothing behind.
pub enum Transaction {
    Postgres(sqlx::Transaction<'static, Postgres>),
    Sqlite(sqlx::Transaction<'static, Sqlite>),
}

impl Pool {
    pub async fn connect(address: &Address) -> Result<Pool, sqlx::Error> {
        match &address.place {
            Place::Postgres(options) => postgres::connect(options).await.map(Pool::Postgres),
            Place::File(file) => sqlite::open(file).await.map(Pool::Sqlite),
            Place::Memory => sqlite::memory().await.map(Pool::Sqlite),
        }
    }

    pub fn dialect(&self) -> Dialect {
        match self {
            Pool::Postgres(_) => Dialect::Postgres,
            Pool::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// How many may read at a time, and leave connections to those who write and listen.
    pub fn max_readings(&self) -> usize {
        match self {
            Pool::Postgres(_) => MAX_POSTGRES_CONNECTIONS as usize / 2,
            Pool::Sqlite(_) => MAX_SQLITE_CONNECTIONS as usize - 1,
        }
    }

    /// The time between two readings, and between two commits, if so many came to the last. A statement costs PostgreSQL more than ten
    /// rows do, and SQLite not.
    pub fn gather(&self, came: usize) -> Duration {
        match self {
            Pool::Postgres(_) => {
                let times = u32::try_from(came).unwrap_or(u32::MAX).max(1);
                POSTGRES_GATHER.saturating_mul(times).min(POSTGRES_GATHER_MAX)
            }
            Pool::Sqlite(_) => Duration::ZERO,
        }
    }

    pub async fn begin(&self, intent: Intent) -> Result<Transaction, sqlx::Error> {
        let begin = match (self, intent) {
            (Pool::Postgres(_), Intent::Read) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            (Pool::Postgres(_), Intent::Write) | (Pool::Sqlite(_), Intent::Read) => "BEGIN",
            // To begin by reading and then to write fails as soon as somebody else wrote in between.
            (Pool::Sqlite(_), Intent::Write) => "BEGIN IMMEDIATE",
        };
        match self.clone() {
            Pool::Postgres(pool) => {
                to_the_end(async move { pool.begin_with(begin).await }).await.map(Transaction::Postgres)
            }
            Pool::Sqlite(pool) => {
                to_the_end(async move { pool.begin_with(begin).await }).await.map(Transaction::Sqlite)
            }
        }
    }

    pub async fn close(&self) {
        match self {
            Pool::Postgres(pool) => pool.close().await,
            Pool::Sqlite(pool) => pool.close().await,
        }
    }
}

/// Begins to the end even if whoever asked stops waiting: the driver takes a connection whose BEGIN was sent and not heard of for one
/// outside of any transaction, and gives it to the next who asks.
async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, sqlx::Error>> + Send + 'static,
) -> Result<T, sqlx::Error> {
    tokio::spawn(work).await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
}

impl Transaction {
    pub fn dialect(&self) -> Dialect {
        match self {
            Transaction::Postgres(_) => Dialect::Postgres,
            Transaction::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Runs a statement for each of these rows, which have values of these kinds.
    pub async fn execute_each(
        &mut self,
        statement: Statement,
        kinds: &[Kind],
        rows: &[Vec<Value>],
    ) -> Result<(), sqlx::Error> {
        match self {
            Transaction::Postgres(transaction) => {
                let rows: Vec<&[Value]> = rows.iter().map(Vec::as_slice).collect();
                let query = postgres::bind_each(sqlx::query(AssertSqlSafe(statement.each)), kinds, &rows);
                query.execute(&mut **transaction).await.map(drop)
            }
            Transaction::Sqlite(_) => {
                for row in rows {
                    self.execute(statement.one.clone(), row).await?;
                }
                Ok(())
            }
        }
    }

    /// Asks a question for each of these values, which are of the kinds `asked`; answers each with rows of the kinds `answered`.
    pub async fn fetch_each(
        &mut self,
        statement: &Statement,
        asked: &[Kind],
        values: &[&[Value]],
        answered: &[Kind],
    ) -> Result<Vec<Vec<Vec<Value>>>, sqlx::Error> {
        match self {
            Transaction::Postgres(transaction) => {
                let query = sqlx::query(AssertSqlSafe(statement.each.clone()));
                let rows = postgres::bind_each(query, asked, values).fetch_all(&mut **transaction).await?;
                let mut all = vec![Vec::new(); values.len()];
                for row in &rows {
                    let (place, values) = postgres::read_placed(row, answered)?;
                    all.get_mut(place).ok_or(sqlx::Error::RowNotFound)?.push(values);
                }
                Ok(all)
            }
            Transaction::Sqlite(_) => {
                let mut all = Vec::with_capacity(values.len());
                for values in values {
                    all.push(self.fetch(statement.one.clone(), answered, values).await?);
                }
                Ok(all)
            }
        }
    }

    /// Runs a statement; says how many rows it touched. `sql` is made of names of ours, never of anybody's input.
    pub async fn execute(&mut self, sql: String, values: &[Value]) -> Result<u64, sqlx::Error> {
        match self {
            Transaction::Postgres(transaction) => {
                let query = postgres::bind(sqlx::query(AssertSqlSafe(sql)), values);
                Ok(query.execute(&mut **transaction).await?.rows_affected())
            }
            Transaction::Sqlite(transaction) => {
                let query = sqlite::bind(sqlx::query(AssertSqlSafe(sql)), values);
                Ok(query.execute(&mut **transaction).await?.rows_affected())
            }
        }
    }

    /// Asks a question; answers rows of values of these kinds.
    pub async fn fetch(
        &mut self,
        sql: String,
        kinds: &[Kind],
        values: &[Value],
    ) -> Result<Vec<Vec<Value>>, sqlx::Error> {
        match self {
            Transaction::Postgres(transaction) => {
                let query = postgres::bind(sqlx::query(AssertSqlSafe(sql)), values);
                let rows = query.fetch_all(&mut **transaction).await?;
                rows.iter().map(|row| postgres::read(row, kinds)).collect()
            }
            Transaction::Sqlite(transaction) => {
                let query = sqlite::bind(sqlx::query(AssertSqlSafe(sql)), values);
                let rows = query.fetch_all(&mut **transaction).await?;
                rows.iter().map(|row| sqlite::read(row, kinds)).collect()
            }
        }
    }

    /// Runs several statements that take no values.
    pub async fn script(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        match self {
            Transaction::Postgres(transaction) => sqlx::raw_sql(sql).execute(&mut **transaction).await.map(drop),
            Transaction::Sqlite(transaction) => sqlx::raw_sql(sql).execute(&mut **transaction).await.map(drop),
        }
    }

    pub async fn commit(self) -> Result<(), sqlx::Error> {
        match self {
            Transaction::Postgres(transaction) => transaction.commit().await,
            Transaction::Sqlite(transaction) => transaction.commit().await,
        }
    }

    pub async fn rollback(self) -> Result<(), sqlx::Error> {
        match self {
            Transaction::Postgres(transaction) => transaction.rollback().await,
            Transaction::Sqlite(transaction) => transaction.rollback().await,
        }
    }
}
