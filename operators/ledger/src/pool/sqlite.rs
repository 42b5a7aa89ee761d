//! SQLite's side of the pool.

use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{Row as _, Sqlite, SqlitePool};

use super::{BUSY_DEADLINE, CONNECT_DEADLINE, MAX_SQLITE_CONNECTIONS};
use crate::value::{Kind, Moment, Value};

/// Credentials may be in it in clear, and always whose they are.
const FILE_MODE: u32 = 0o600;

/// A file, made if there is none, for its owner alone. What was committed survives a loss of power.
pub async fn open(file: &Path) -> Result<SqlitePool, sqlx::Error> {
    // SQLite's own files beside it take its mode. What cannot be made here, SQLite refuses in its own words.
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

/// The database is the connection: there is one, and it is kept.
pub async fn memory() -> Result<SqlitePool, sqlx::Error> {
    let options = SqliteConnectOptions::new().in_memory(true).foreign_keys(true);
    let pool = SqlitePoolOptions::new().max_connections(1).min_connections(1).idle_timeout(None).max_lifetime(None);
    pool.acquire_timeout(CONNECT_DEADLINE).connect_with(options).await
}

/// Gives a query its values. A credential is sealed by now: one that is not is a mistake of ours, and goes nowhere.
pub fn bind<'q>(mut query: Query<'q, Sqlite, SqliteArguments>, values: &[Value]) -> Query<'q, Sqlite, SqliteArguments> {
    for value in values {
        query = match value {
            Value::Text(text) => query.bind(text.clone()),
            Value::Secret(_) => query.bind(None::<String>),
            Value::Integer(number) => query.bind(*number),
            Value::Boolean(yes) => query.bind(*yes),
            Value::Moment(moment) => query.bind(moment.map(|moment| moment.unix_us)),
            Value::Bytes(bytes) => query.bind(bytes.clone()),
        };
    }
    query
}

/// The values of a row. Credentials come as the text that is stored.
pub fn read(row: &SqliteRow, kinds: &[Kind]) -> Result<Vec<Value>, sqlx::Error> {
    let value = |(at, kind): (usize, &Kind)| {
        Ok(match kind {
            Kind::Text | Kind::Secret => Value::Text(row.try_get(at)?),
            Kind::Integer => Value::Integer(row.try_get(at)?),
            Kind::Boolean => Value::Boolean(row.try_get(at)?),
            Kind::Moment => Value::Moment(row.try_get::<Option<i64>, _>(at)?.map(Moment::from_unix_us)),
            Kind::Bytes => Value::Bytes(row.try_get(at)?),
        })
    };
    kinds.iter().enumerate().map(value).collect()
}
