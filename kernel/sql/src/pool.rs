//! Connections to either database. The other modules deal with values only.

mod postgres;
mod sqlite;

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgPool, Postgres, Sqlite, SqlitePool};

use crate::address::{Address, AddressKind};
use crate::statement::Dialect;
use crate::value::{ColumnType, SqlValue};

/// Maximum number of PostgreSQL connections of a process, including the listening one.
const MAX_POSTGRES_CONNECTIONS: u32 = 16;

/// Maximum number of connections to a SQLite file: one writes, the others read.
const MAX_SQLITE_CONNECTIONS: u32 = 4;

/// Deadline for a connection.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// Delay per caller of the previous batch before the next batch of queries goes to PostgreSQL, up to
/// [`POSTGRES_MAX_BATCH_DELAY`].
const POSTGRES_BATCH_DELAY: Duration = Duration::from_millis(10);

/// Maximum delay of a batch.
const POSTGRES_MAX_BATCH_DELAY: Duration = Duration::from_millis(40);

/// Time a writer waits for another writer of the same file.
const BUSY_DEADLINE: Duration = Duration::from_secs(10);

/// SQL for one row, and for any number of rows. PostgreSQL alone has the latter.
#[derive(Debug)]
pub struct Statement {
    pub one: String,
    pub bulk: String,
}

/// Connection pool.
#[derive(Clone, Debug)]
pub enum Pool {
    Postgres(PgPool),
    Sqlite(SqlitePool),
}

/// Purpose of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// All queries see one state of the database.
    Read,
    Write,
}

/// Transaction, which is rolled back when dropped.
pub enum Transaction {
    Postgres(sqlx::Transaction<'static, Postgres>),
    Sqlite(sqlx::Transaction<'static, Sqlite>),
}

impl Pool {
    pub async fn connect(address: &Address) -> Result<Pool, sqlx::Error> {
        match &address.kind {
            AddressKind::Postgres(options) => postgres::connect(options).await.map(Pool::Postgres),
            AddressKind::File(file) => sqlite::open(file).await.map(Pool::Sqlite),
            AddressKind::Memory => sqlite::memory().await.map(Pool::Sqlite),
        }
    }

    pub fn dialect(&self) -> Dialect {
        match self {
            Pool::Postgres(_) => Dialect::Postgres,
            Pool::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Maximum number of concurrent read sessions, which leaves connections to writers and the listener.
    pub fn max_read_sessions(&self) -> usize {
        match self {
            Pool::Postgres(_) => MAX_POSTGRES_CONNECTIONS as usize / 2,
            Pool::Sqlite(_) => MAX_SQLITE_CONNECTIONS as usize - 1,
        }
    }

    /// Delay between two batches, given the size of the last one. For PostgreSQL, a statement costs more than ten rows;
    /// for SQLite it does not.
    pub fn batch_delay(&self, size: usize) -> Duration {
        match self {
            Pool::Postgres(_) => {
                let times = u32::try_from(size).unwrap_or(u32::MAX).max(1);
                POSTGRES_BATCH_DELAY.saturating_mul(times).min(POSTGRES_MAX_BATCH_DELAY)
            }
            Pool::Sqlite(_) => Duration::ZERO,
        }
    }

    pub async fn begin(&self, intent: Intent) -> Result<Transaction, sqlx::Error> {
        let begin = match (self, intent) {
            (Pool::Postgres(_), Intent::Read) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            (Pool::Postgres(_), Intent::Write) | (Pool::Sqlite(_), Intent::Read) => "BEGIN",
            // A transaction that reads first and writes later fails as soon as another connection writes in between.
            (Pool::Sqlite(_), Intent::Write) => "BEGIN IMMEDIATE",
        };
        match self.clone() {
            Pool::Postgres(pool) => {
                run_to_completion(async move { pool.begin_with(begin).await }).await.map(Transaction::Postgres)
            }
            Pool::Sqlite(pool) => {
                run_to_completion(async move { pool.begin_with(begin).await }).await.map(Transaction::Sqlite)
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

/// Runs BEGIN to completion even if the caller is cancelled: sqlx takes a connection whose BEGIN was sent without a
/// response for one outside of any transaction, and hands it to the next caller.
async fn run_to_completion<T: Send + 'static>(
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

    /// Runs a statement for each of these rows, whose values have these types.
    pub async fn execute_bulk(
        &mut self,
        statement: Statement,
        kinds: &[ColumnType],
        rows: &[Vec<SqlValue>],
    ) -> Result<(), sqlx::Error> {
        match self {
            Transaction::Postgres(transaction) => {
                let rows: Vec<&[SqlValue]> = rows.iter().map(Vec::as_slice).collect();
                let query = postgres::bind_bulk(sqlx::query(AssertSqlSafe(statement.bulk)), kinds, &rows);
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

    /// Runs a query for each of these parameter lists; returns the rows of each.
    pub async fn fetch_bulk(
        &mut self,
        statement: &Statement,
        parameter_types: &[ColumnType],
        values: &[&[SqlValue]],
        result_types: &[ColumnType],
    ) -> Result<Vec<Vec<Vec<SqlValue>>>, sqlx::Error> {
        match self {
            Transaction::Postgres(transaction) => {
                let query = sqlx::query(AssertSqlSafe(statement.bulk.clone()));
                let rows = postgres::bind_bulk(query, parameter_types, values).fetch_all(&mut **transaction).await?;
                let mut all = vec![Vec::new(); values.len()];
                for row in &rows {
                    let (number, values) = postgres::read_numbered(row, result_types)?;
                    all.get_mut(number).ok_or(sqlx::Error::RowNotFound)?.push(values);
                }
                Ok(all)
            }
            Transaction::Sqlite(_) => {
                let mut all = Vec::with_capacity(values.len());
                for values in values {
                    all.push(self.fetch(statement.one.clone(), result_types, values).await?);
                }
                Ok(all)
            }
        }
    }

    /// Runs a statement and returns the number of affected rows. `sql` consists of constant names and never contains
    /// input.
    pub async fn execute(&mut self, sql: String, values: &[SqlValue]) -> Result<u64, sqlx::Error> {
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

    /// Runs a query and returns its rows, with values of these types.
    pub async fn fetch(
        &mut self,
        sql: String,
        kinds: &[ColumnType],
        values: &[SqlValue],
    ) -> Result<Vec<Vec<SqlValue>>, sqlx::Error> {
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

    /// Runs several statements without parameters.
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
