//! PostgreSQL's side of the pool.

use sqlx::postgres::{PgArguments, PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::query::Query;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, PgPool, Postgres, Row as _};

use super::{CONNECT_DEADLINE, MAX_POSTGRES_CONNECTIONS};
use crate::value::{Kind, Moment, Value};

/// Whatever is asked often is asked by a key or an index. A connection keeps the plan it made for a question, and one that was made
/// while a table was small would read all of it when it has grown. To compile a plan takes longer than any of them.
const PLANS: &str = "set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set jit = off; set plan_cache_mode = force_generic_plan";

pub async fn connect(options: &PgConnectOptions) -> Result<PgPool, sqlx::Error> {
    let options = options.clone().application_name("switchboard");
    // The pool tries a server that refuses for ten seconds, and then says only that time is up. Whoever gave an address wants to know
    // at once what is wrong with it.
    let first = tokio::time::timeout(CONNECT_DEADLINE, options.connect()).await;
    first.map_err(|_| sqlx::Error::PoolTimedOut)??.close().await?;
    PgPoolOptions::new()
        .max_connections(MAX_POSTGRES_CONNECTIONS)
        .acquire_timeout(CONNECT_DEADLINE)
        .after_connect(|connection, _| Box::pin(async move { connection.execute(PLANS).await.map(drop) }))
        .connect_with(options)
        .await
}

/// Gives a query its values. A credential is sealed by now: one that is not is a mistake of ours, and goes nowhere.
pub fn bind<'q>(mut query: Query<'q, Postgres, PgArguments>, values: &[Value]) -> Query<'q, Postgres, PgArguments> {
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

/// Gives a query the values of many rows, as one array for each column.
pub fn bind_each<'q>(
    mut query: Query<'q, Postgres, PgArguments>,
    kinds: &[Kind],
    rows: &[&[Value]],
) -> Query<'q, Postgres, PgArguments> {
    for (at, kind) in kinds.iter().enumerate() {
        let column = rows.iter().map(|row| row.get(at));
        query = match kind {
            Kind::Text | Kind::Secret => query.bind(array(column, |value| match value {
                Value::Text(text) => text.clone(),
                _ => None,
            })),
            Kind::Integer => query.bind(array(column, |value| match value {
                Value::Integer(number) => *number,
                _ => None,
            })),
            Kind::Boolean => query.bind(array(column, |value| match value {
                Value::Boolean(yes) => *yes,
                _ => None,
            })),
            Kind::Moment => query.bind(array(column, |value| match value {
                Value::Moment(moment) => moment.map(|moment| moment.unix_us),
                _ => None,
            })),
            Kind::Bytes => query.bind(array(column, |value| match value {
                Value::Bytes(bytes) => bytes.clone(),
                _ => None,
            })),
        };
    }
    query
}

fn array<'a, T>(column: impl Iterator<Item = Option<&'a Value>>, of: impl Fn(&Value) -> Option<T>) -> Vec<Option<T>> {
    column.map(|value| value.and_then(&of)).collect()
}

/// The values of a row that begins with the number of the one who asked, and that number, from 0.
pub fn read_placed(row: &PgRow, kinds: &[Kind]) -> Result<(usize, Vec<Value>), sqlx::Error> {
    let place: i64 = row.try_get(0)?;
    let place = usize::try_from(place - 1).map_err(|error| sqlx::Error::Decode(error.into()))?;
    Ok((place, read_from(row, 1, kinds)?))
}

/// The values of a row. Credentials come as the text that is stored.
pub fn read(row: &PgRow, kinds: &[Kind]) -> Result<Vec<Value>, sqlx::Error> {
    read_from(row, 0, kinds)
}

fn read_from(row: &PgRow, first: usize, kinds: &[Kind]) -> Result<Vec<Value>, sqlx::Error> {
    let value = |(at, kind): (usize, &Kind)| {
        let at = first + at;
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
