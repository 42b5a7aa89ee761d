//! PostgreSQL's side of the pool.

use sqlx::postgres::{PgArguments, PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::query::Query;
use sqlx::{ConnectOptions as _, Connection as _, PgPool, Postgres, Row as _};

use super::{CONNECT_DEADLINE, MAX_POSTGRES_CONNECTIONS};
use crate::value::{Kind, Moment, Value};

pub async fn connect(options: &PgConnectOptions) -> Result<PgPool, sqlx::Error> {
    let options = options.clone().application_name("switchboard");
    // The pool tries a server that refuses for ten seconds, and then says only that time is up. Whoever gave an address wants to know
    // at once what is wrong with it.
    let first = tokio::time::timeout(CONNECT_DEADLINE, options.connect()).await;
    first.map_err(|_| sqlx::Error::PoolTimedOut)??.close().await?;
    PgPoolOptions::new()
        .max_connections(MAX_POSTGRES_CONNECTIONS)
        .acquire_timeout(CONNECT_DEADLINE)
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

/// The values of a row. Credentials come as the text that is stored.
pub fn read(row: &PgRow, kinds: &[Kind]) -> Result<Vec<Value>, sqlx::Error> {
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
