//! Credentials that are stored otherwise than they should be: in clear although there is a key, or with an older key.

use crate::key::Key;
use crate::ledger::{LedgerError, within};
use crate::pool::Transaction;
use crate::row::{Column, Table};
use crate::rows::{TABLES, left};
use crate::seal::{Place, Sealing, Trial};
use crate::statement::Dialect;
use crate::value::{Kind, Value};

/// How many rows are looked at at once.
const PAGE_ROWS: usize = 200;

/// How many credentials would be stored otherwise. Whoever is told of none may forget an older key: so the newer one is tried.
pub(super) async fn count_others(
    transaction: &mut Transaction,
    dialect: Dialect,
    sealing: &Sealing,
    version: i64,
) -> Result<usize, LedgerError> {
    let (mut count, mut trial) = (0, Trial::default());
    for (table, column) in places(version) {
        let mut after = None;
        while let Some((page, last)) = page(transaction, dialect, table, column, after.as_ref()).await? {
            count += page.iter().filter(|(_, stored)| !sealing.is_current(stored)).count();
            for (key, stored) in &page {
                trial.open(sealing, stored, Place { table: table.name, column: column.name, key });
            }
            after = Some(last);
        }
    }
    trial.end()?;
    Ok(count)
}

/// Stores them as they should be.
pub(super) async fn store_again(
    transaction: &mut Transaction,
    dialect: Dialect,
    sealing: &Sealing,
) -> Result<(), LedgerError> {
    for (table, column) in places(i64::MAX) {
        let mut after = None;
        while let Some((page, last)) = page(transaction, dialect, table, column, after.as_ref()).await? {
            for (key, stored) in page.iter().filter(|(_, stored)| !sealing.is_current(stored)) {
                let place = Place { table: table.name, column: column.name, key };
                let sealed = sealing.seal(&sealing.open(stored, place)?, place)?;
                let id = table.keys().next().expect("a table has a key").name;
                let sql = format!("update {} set {} = $1 where {id} = $2", table.name, column.name);
                let values = [Value::from(&*sealed), Value::from(&*key.to_string())];
                within("store a credential again", transaction.execute(sql, &values)).await?;
            }
            after = Some(last);
        }
    }
    Ok(())
}

/// Columns that hold credentials after a step. Their tables have one column as key.
fn places(version: i64) -> impl Iterator<Item = (&'static Table, &'static Column)> {
    // What was added to the original's tables came with the second step, what was added to ours with the sixth.
    let tables = TABLES.iter().map(|table| (table, 2));
    let tables = tables.chain(left::TABLES.iter().filter(move |_| version >= 4).map(|table| (table, 6)));
    let columns = tables.flat_map(|(table, more)| table.columns.iter().map(move |column| (*table, column, more)));
    let secret =
        columns.filter(move |(_, column, more)| column.kind == Kind::Secret && (version >= *more || !column.ours));
    secret.map(|(table, column, _)| (table, column))
}

type Page = (Vec<(Key, String)>, String);

/// Keys and stored credentials, and the last key; none when there are no more.
async fn page(
    transaction: &mut Transaction,
    dialect: Dialect,
    table: &Table,
    column: &Column,
    after: Option<&String>,
) -> Result<Option<Page>, LedgerError> {
    let key = table.keys().next().expect("a table has a key");
    let id = key.name;
    let sql = format!(
        "select {}, {} from {} where {id} > $1 and length({}) > 0 order by {id} limit {PAGE_ROWS}",
        dialect.selected(key),
        dialect.selected(column),
        table.name,
        column.name
    );
    let values = [Value::from(after.map_or("", String::as_str))];
    let rows = within("read credentials", transaction.fetch(sql, &[Kind::Text, Kind::Text], &values)).await?;
    let read = |row: Vec<Value>| Some((row.first()?.as_text()?.to_string(), row.get(1)?.as_text()?.to_string()));
    let pairs: Vec<(String, String)> = rows.into_iter().filter_map(read).collect();
    let Some((last, _)) = pairs.last().cloned() else { return Ok(None) };
    Ok(Some((pairs.into_iter().map(|(id, stored)| (Key::from(&*id), stored)).collect(), last)))
}
