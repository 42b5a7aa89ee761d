//! What a database holds.

use std::collections::{BTreeMap, BTreeSet};

use super::{MigrationError, ORIGINAL_VERSION, STEPS};
use crate::ledger::{LedgerError, within};
use crate::pool::Transaction;
use crate::row::Table;
use crate::rows::{TABLES, fleet, left, settings};
use crate::statement::Dialect;
use crate::value::{Kind, Value};

/// What a database holds before a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// None of the tables.
    Nothing,
    /// The original's, at its newest version.
    Original,
    /// Ours, at a version.
    Ours {
        /// The newest step that was made.
        version: i64,
    },
}

pub(super) async fn inspect(transaction: &mut Transaction, dialect: Dialect) -> Result<Found, MigrationError> {
    let columns = columns(transaction, dialect).await?;
    if columns.contains_key("switchboard_step") {
        return ours(transaction, dialect, &columns).await;
    }
    if columns.contains_key("schema_migrations") {
        return original(transaction, &columns).await;
    }
    match TABLES.iter().find(|table| columns.contains_key(table.name)) {
        Some(table) => Err(MigrationError::Foreign(table.name.to_string())),
        None => Ok(Found::Nothing),
    }
}

type Columns = BTreeMap<String, BTreeSet<String>>;

/// Names of all tables and their columns, in lower case.
async fn columns(transaction: &mut Transaction, dialect: Dialect) -> Result<Columns, LedgerError> {
    let sql = match dialect {
        Dialect::Postgres => {
            "select table_name::text, column_name::text from information_schema.columns where table_schema = current_schema()"
        }
        Dialect::Sqlite => {
            "select lower(t.name), lower(c.name) from sqlite_master t join pragma_table_info(t.name) c where t.type = 'table'"
        }
    };
    let rows = within("look for tables", transaction.fetch(sql.to_string(), &[Kind::Text, Kind::Text], &[])).await?;
    let mut columns = Columns::new();
    for row in rows {
        if let [Value::Text(Some(table)), Value::Text(Some(column))] = &*row {
            columns.entry(table.clone()).or_default().insert(column.clone());
        }
    }
    Ok(columns)
}

async fn ours(transaction: &mut Transaction, dialect: Dialect, columns: &Columns) -> Result<Found, MigrationError> {
    let sql = "select version, digest from switchboard_step order by version".to_string();
    let rows = within("read which steps were made", transaction.fetch(sql, &[Kind::Integer, Kind::Text], &[])).await?;
    let mut newest = 0;
    for row in &rows {
        let [Value::Integer(Some(version)), Value::Text(Some(digest))] = &**row else { continue };
        let step = STEPS.iter().find(|step| step.version == *version).ok_or(MigrationError::Newer(*version))?;
        if step.digest(dialect) != *digest {
            return Err(MigrationError::Altered(*version));
        }
        newest = *version;
    }
    complete(columns, TABLES, newest >= 2)?;
    if newest >= 3 {
        complete(columns, fleet::TABLES, true)?;
    }
    if newest >= 4 {
        complete(columns, left::TABLES, newest >= 6)?;
    }
    if newest >= 5 {
        complete(columns, settings::TABLES, true)?;
    }
    Ok(Found::Ours { version: newest })
}

async fn original(transaction: &mut Transaction, columns: &Columns) -> Result<Found, MigrationError> {
    let sql = "select version, dirty from schema_migrations order by version desc limit 1".to_string();
    let rows =
        within("read the original's version", transaction.fetch(sql, &[Kind::Integer, Kind::Boolean], &[])).await?;
    match rows.first().map(Vec::as_slice) {
        Some([Value::Integer(Some(version)), Value::Boolean(Some(true))]) => Err(MigrationError::Dirty(*version)),
        Some([Value::Integer(Some(ORIGINAL_VERSION)), _]) => {
            complete(columns, TABLES, false)?;
            Ok(Found::Original)
        }
        Some([Value::Integer(Some(version)), _]) => Err(MigrationError::OldOriginal(*version)),
        _ => Err(MigrationError::OldOriginal(0)),
    }
}

/// Every table has every column it should have by now.
fn complete(columns: &Columns, tables: &[&'static Table], with_ours: bool) -> Result<(), MigrationError> {
    for table in tables {
        let have = columns.get(table.name);
        for column in table.columns.iter().filter(|column| with_ours || !column.ours) {
            if !have.is_some_and(|have| have.contains(column.name)) {
                return Err(MigrationError::Missing { table: table.name, column: column.name.to_string() });
            }
        }
    }
    Ok(())
}
