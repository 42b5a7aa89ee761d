//! PostgreSQL connections.

use sqlx::postgres::{PgArguments, PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::query::Query;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, PgPool, Postgres, Row as _};

use super::{CONNECT_DEADLINE, MAX_POSTGRES_CONNECTIONS};
use crate::value::{ColumnType, DbTimestamp, SqlValue};

/// Every frequent query uses a key or an index. A connection keeps the plan of a prepared query, and a plan from a time
/// when a table was small would scan a table that has grown. JIT compilation takes longer than any of the queries.
const PLANNER_SETTINGS: &str = "set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set jit = off; set plan_cache_mode = force_generic_plan";

pub async fn connect(options: &PgConnectOptions) -> Result<PgPool, sqlx::Error> {
    let options = options.clone().application_name("switchboard");
    // The pool retries a refusing server for ten seconds and then reports only a timeout. This connection reports at
    // once what is wrong with the address.
    let first = tokio::time::timeout(CONNECT_DEADLINE, options.connect()).await;
    first.map_err(|_| sqlx::Error::PoolTimedOut)??.close().await?;
    PgPoolOptions::new()
        .max_connections(MAX_POSTGRES_CONNECTIONS)
        .acquire_timeout(CONNECT_DEADLINE)
        .after_connect(|connection, _| Box::pin(async move { connection.execute(PLANNER_SETTINGS).await.map(drop) }))
        .connect_with(options)
        .await
}

/// Binds the values of a query. Credentials are sealed by now; an unsealed one is a bug and is bound as NULL.
pub fn bind<'q>(mut query: Query<'q, Postgres, PgArguments>, values: &[SqlValue]) -> Query<'q, Postgres, PgArguments> {
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

/// Binds the values of many rows, as one array for each column.
pub fn bind_bulk<'q>(
    mut query: Query<'q, Postgres, PgArguments>,
    kinds: &[ColumnType],
    rows: &[&[SqlValue]],
) -> Query<'q, Postgres, PgArguments> {
    for (at, kind) in kinds.iter().enumerate() {
        let column = rows.iter().map(|row| row.get(at));
        query = match kind {
            ColumnType::Text | ColumnType::Secret => query.bind(array(column, |value| match value {
                SqlValue::Text(text) => text.clone(),
                _ => None,
            })),
            ColumnType::Integer => query.bind(array(column, |value| match value {
                SqlValue::Integer(number) => *number,
                _ => None,
            })),
            ColumnType::Boolean => query.bind(array(column, |value| match value {
                SqlValue::Boolean(yes) => *yes,
                _ => None,
            })),
            ColumnType::Timestamp => query.bind(array(column, |value| match value {
                SqlValue::Timestamp(moment) => moment.map(|moment| moment.unix_us),
                _ => None,
            })),
            ColumnType::Bytes => query.bind(array(column, |value| match value {
                SqlValue::Bytes(bytes) => bytes.clone(),
                _ => None,
            })),
        };
    }
    query
}

fn array<'a, T>(
    column: impl Iterator<Item = Option<&'a SqlValue>>,
    of: impl Fn(&SqlValue) -> Option<T>,
) -> Vec<Option<T>> {
    column.map(|value| value.and_then(&of)).collect()
}

/// Reads a row that begins with the number of its query; returns that number, counted from 0, and the values.
pub fn read_numbered(row: &PgRow, kinds: &[ColumnType]) -> Result<(usize, Vec<SqlValue>), sqlx::Error> {
    let number: i64 = row.try_get(0)?;
    let number = usize::try_from(number - 1).map_err(|error| sqlx::Error::Decode(error.into()))?;
    Ok((number, read_from(row, 1, kinds)?))
}

/// Reads the values of a row. Credentials are returned as the stored text.
pub fn read(row: &PgRow, kinds: &[ColumnType]) -> Result<Vec<SqlValue>, sqlx::Error> {
    read_from(row, 0, kinds)
}

fn read_from(row: &PgRow, first: usize, kinds: &[ColumnType]) -> Result<Vec<SqlValue>, sqlx::Error> {
    let value = |(at, kind): (usize, &ColumnType)| {
        let at = first + at;
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
