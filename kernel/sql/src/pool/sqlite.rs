//! SQLite connections.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{Row as _, Sqlite, SqlitePool};

use super::{BUSY_DEADLINE, CONNECT_DEADLINE, MAX_SQLITE_CONNECTIONS};
use crate::value::{ColumnType, DbTimestamp, SqlValue};

/// File mode: the file may contain credentials in plaintext, and always shows whose they are.
const FILE_MODE: u32 = 0o600;

/// Opens a file and creates it if it is missing, readable by its owner alone. Commits survive a power failure.
pub async fn open(file: &Path) -> Result<SqlitePool, sqlx::Error> {
    // The files that SQLite creates beside it inherit its mode. If the file cannot be created here, SQLite reports the
    // error below.
    drop(std::fs::OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(file));
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_DEADLINE);
    let pool = SqlitePoolOptions::new().max_connections(MAX_SQLITE_CONNECTIONS).acquire_timeout(CONNECT_DEADLINE);
    pool.connect_with(options).await
}

/// Opens a database in memory. The database lives as long as its single connection, so the pool keeps that.
pub async fn memory() -> Result<SqlitePool, sqlx::Error> {
    let options = SqliteConnectOptions::new().in_memory(true).foreign_keys(true);
    let pool = SqlitePoolOptions::new().max_connections(1).min_connections(1).idle_timeout(None).max_lifetime(None);
    pool.acquire_timeout(CONNECT_DEADLINE).connect_with(options).await
}

/// Binds the values of a query. Credentials are sealed by now; an unsealed one is a bug and is bound as NULL.
pub fn bind<'q>(
    mut query: Query<'q, Sqlite, SqliteArguments>,
    values: &[SqlValue],
) -> Query<'q, Sqlite, SqliteArguments> {
    for value in values {
        query = match value {
            SqlValue::Text(text) => query.bind(text.clone()),
            SqlValue::Secret(_) => query.bind(None::<String>),
            SqlValue::Integer(number) => query.bind(*number),
            SqlValue::Boolean(yes) => query.bind(*yes),
            SqlValue::Timestamp(moment) => query.bind(moment.map(|moment| moment.unix_us)),
            SqlValue::Bytes(bytes) => query.bind(bytes.clone()),
        };
    }
    query
}

/// Reads the values of a row. Credentials are returned as the stored text.
pub fn read(row: &SqliteRow, kinds: &[ColumnType]) -> Result<Vec<SqlValue>, sqlx::Error> {
    let value = |(at, kind): (usize, &ColumnType)| {
        Ok(match kind {
            ColumnType::Text | ColumnType::Secret => SqlValue::Text(row.try_get(at)?),
            ColumnType::Integer => SqlValue::Integer(row.try_get(at)?),
            ColumnType::Boolean => SqlValue::Boolean(row.try_get(at)?),
            ColumnType::Timestamp => {
                SqlValue::Timestamp(row.try_get::<Option<i64>, _>(at)?.map(DbTimestamp::from_unix_us))
            }
            ColumnType::Bytes => SqlValue::Bytes(row.try_get(at)?),
        })
    };
    kinds.iter().enumerate().map(value).collect()
}
