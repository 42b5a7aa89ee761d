//! Schema of an existing database.

use std::collections::{BTreeMap, BTreeSet};

use super::{MANAGED_GITOPS_VERSION, MigrationError, STEPS};
use crate::ledger::{LedgerError, within};
use crate::pool::Transaction;
use crate::row::Table;
use crate::rows::{TABLES, fleet, settings, tenant_clusters};
use crate::statement::Dialect;
use crate::value::{ColumnType, SqlValue};

/// Schema of a database before a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// The database has none of the tables.
    Empty,
    /// Schema of managed-gitops, at its newest version.
    ManagedGitops,
    /// Schema of Switchboard.
    Switchboard {
        /// Newest applied step.
        version: i64,
    },
}

pub(super) async fn inspect(transaction: &mut Transaction, dialect: Dialect) -> Result<SchemaState, MigrationError> {
    let columns = columns(transaction, dialect).await?;
    if columns.contains_key("switchboard_step") {
        return inspect_switchboard(transaction, dialect, &columns).await;
    }
    if columns.contains_key("schema_migrations") {
        return inspect_managed_gitops(transaction, &columns).await;
    }
    match TABLES.iter().find(|table| columns.contains_key(table.name)) {
        Some(table) => Err(MigrationError::Foreign(table.name.to_string())),
        None => Ok(SchemaState::Empty),
    }
}

type SchemaColumns = BTreeMap<String, BTreeSet<String>>;

/// Returns the names of all tables and their columns, in lower case.
async fn columns(transaction: &mut Transaction, dialect: Dialect) -> Result<SchemaColumns, LedgerError> {
    let sql = match dialect {
        Dialect::Postgres => {
            "select table_name::text, column_name::text from information_schema.columns where table_schema = current_schema()"
        }
        Dialect::Sqlite => {
            "select lower(t.name), lower(c.name) from sqlite_master t join pragma_table_info(t.name) c where t.type = 'table'"
        }
    };
    let rows =
        within("list the tables", transaction.fetch(sql.to_string(), &[ColumnType::Text, ColumnType::Text], &[]))
            .await?;
    let mut columns = SchemaColumns::new();
    for row in rows {
        if let [SqlValue::Text(Some(table)), SqlValue::Text(Some(column))] = &*row {
            columns.entry(table.clone()).or_default().insert(column.clone());
        }
    }
    Ok(columns)
}

async fn inspect_switchboard(
    transaction: &mut Transaction,
    dialect: Dialect,
    columns: &SchemaColumns,
) -> Result<SchemaState, MigrationError> {
    let sql = "select version, digest from switchboard_step order by version".to_string();
    let rows = within(
        "read the applied migration steps",
        transaction.fetch(sql, &[ColumnType::Integer, ColumnType::Text], &[]),
    )
    .await?;
    let mut newest = 0;
    for row in &rows {
        let [SqlValue::Integer(Some(version)), SqlValue::Text(Some(digest))] = &**row else { continue };
        let step = STEPS.iter().find(|step| step.version == *version).ok_or(MigrationError::Newer(*version))?;
        if step.digest(dialect) != *digest {
            return Err(MigrationError::Altered(*version));
        }
        newest = *version;
    }
    require_columns(columns, TABLES, newest >= 2)?;
    if newest >= 3 {
        require_columns(columns, fleet::TABLES, true)?;
    }
    if newest >= 4 {
        require_columns(columns, tenant_clusters::TABLES, newest >= 6)?;
    }
    if newest >= 5 {
        require_columns(columns, settings::TABLES, true)?;
    }
    Ok(SchemaState::Switchboard { version: newest })
}

async fn inspect_managed_gitops(
    transaction: &mut Transaction,
    columns: &SchemaColumns,
) -> Result<SchemaState, MigrationError> {
    let sql = "select version, dirty from schema_migrations order by version desc limit 1".to_string();
    let rows = within(
        "read the managed-gitops schema version",
        transaction.fetch(sql, &[ColumnType::Integer, ColumnType::Boolean], &[]),
    )
    .await?;
    match rows.first().map(Vec::as_slice) {
        Some([SqlValue::Integer(Some(version)), SqlValue::Boolean(Some(true))]) => Err(MigrationError::Dirty(*version)),
        Some([SqlValue::Integer(Some(MANAGED_GITOPS_VERSION)), _]) => {
            require_columns(columns, TABLES, false)?;
            Ok(SchemaState::ManagedGitops)
        }
        Some([SqlValue::Integer(Some(version)), _]) => Err(MigrationError::OldManagedGitops(*version)),
        _ => Err(MigrationError::OldManagedGitops(0)),
    }
}

/// Fails unless every table has every column that it should have by now.
fn require_columns(
    columns: &SchemaColumns,
    tables: &[&'static Table],
    with_switchboard_columns: bool,
) -> Result<(), MigrationError> {
    for table in tables {
        let have = columns.get(table.name);
        for column in table.columns.iter().filter(|column| with_switchboard_columns || !column.switchboard_only) {
            if !have.is_some_and(|have| have.contains(column.name)) {
                return Err(MigrationError::MissingColumn { table: table.name, column: column.name.to_string() });
            }
        }
    }
    Ok(())
}
