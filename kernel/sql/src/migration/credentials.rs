//! Credentials to reseal: those in plaintext although there is a key, and those sealed with an older key.

use crate::key::RowKey;
use crate::ledger::{Ledger, LedgerError, within};
use crate::pool::Transaction;
use crate::row::{Column, Table};
use crate::schema::DatabaseSchema;
use crate::seal::{CredentialCell, KeyCheck};
use crate::statement::Dialect;
use crate::value::{ColumnType, SqlValue};

/// Rows per query.
const PAGE_ROWS: usize = 200;

/// Counts the credentials to reseal. A user who sees zero may delete an older key, so the current key is verified as
/// well.
pub(super) async fn count_outdated(
    transaction: &mut Transaction,
    ledger: &Ledger,
    version: i64,
) -> Result<usize, LedgerError> {
    let (dialect, sealer) = (ledger.pool.dialect(), &ledger.sealer);
    let (mut count, mut key_check) = (0, KeyCheck::default());
    for (table, column) in credential_columns(ledger.schema, version) {
        let mut after = None;
        while let Some((page, last)) = page(transaction, dialect, table, column, after.as_ref()).await? {
            count += page.iter().filter(|(_, stored)| !sealer.is_current(stored)).count();
            for (key, stored) in &page {
                key_check.open(sealer, stored, CredentialCell { table: table.name, column: column.name, key });
            }
            after = Some(last);
        }
    }
    key_check.end()?;
    Ok(count)
}

/// Reseals all outdated credentials.
pub(super) async fn reseal(transaction: &mut Transaction, ledger: &Ledger) -> Result<(), LedgerError> {
    let (dialect, sealer) = (ledger.pool.dialect(), &ledger.sealer);
    for (table, column) in credential_columns(ledger.schema, i64::MAX) {
        let mut after = None;
        while let Some((page, last)) = page(transaction, dialect, table, column, after.as_ref()).await? {
            for (key, stored) in page.iter().filter(|(_, stored)| !sealer.is_current(stored)) {
                let cell = CredentialCell { table: table.name, column: column.name, key };
                let sealed = sealer.seal(&sealer.open(stored, cell)?, cell)?;
                let id = table.keys().next().expect("every table has a key").name;
                let sql = format!("update {} set {} = $1 where {id} = $2", table.name, column.name);
                let values = [SqlValue::from(&*sealed), SqlValue::from(&*key.to_string())];
                within("store a re-encrypted credential", transaction.execute(sql, &values)).await?;
            }
            after = Some(last);
        }
    }
    Ok(())
}

/// Returns the columns that hold credentials after a step. Each of their tables has one key column.
fn credential_columns(
    schema: &DatabaseSchema,
    version: i64,
) -> impl Iterator<Item = (&'static Table, &'static Column)> + use<> {
    let columns = schema.tables().flat_map(|table| table.columns.iter().map(move |column| (table, column)));
    columns.filter(move |(_, column)| column.kind == ColumnType::Secret && column.since <= version)
}

type CredentialPage = (Vec<(RowKey, String)>, String);

/// Returns a page of keys and stored credentials, and the last key; `None` after the last page.
async fn page(
    transaction: &mut Transaction,
    dialect: Dialect,
    table: &Table,
    column: &Column,
    after: Option<&String>,
) -> Result<Option<CredentialPage>, LedgerError> {
    let key = table.keys().next().expect("every table has a key");
    let id = key.name;
    let sql = format!(
        "select {}, {} from {} where {id} > $1 and length({}) > 0 order by {id} limit {PAGE_ROWS}",
        dialect.selected(key),
        dialect.selected(column),
        table.name,
        column.name
    );
    let values = [SqlValue::from(after.map_or("", String::as_str))];
    let rows =
        within("read credentials", transaction.fetch(sql, &[ColumnType::Text, ColumnType::Text], &values)).await?;
    let read = |row: Vec<SqlValue>| Some((row.first()?.as_text()?.to_string(), row.get(1)?.as_text()?.to_string()));
    let pairs: Vec<(String, String)> = rows.into_iter().filter_map(read).collect();
    let Some((last, _)) = pairs.last().cloned() else { return Ok(None) };
    Ok(Some((pairs.into_iter().map(|(id, stored)| (RowKey::from(&*id), stored)).collect(), last)))
}
