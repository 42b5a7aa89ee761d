//! Schema of an existing database.

use std::collections::{BTreeMap, BTreeSet};

use super::{ADOPTED_STEP, MigrationError};
use crate::ledger::{LedgerError, within};
use crate::pool::Transaction;
use crate::schema::{AdoptedProgram, DatabaseSchema};
use crate::statement::Dialect;
use crate::value::{ColumnType, SqlValue};

/// Schema of a database before a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// The database has none of the tables.
    Empty,
    /// Schema of the program that the migration adopts, at this version of that program.
    Adoptable {
        /// Version of the program's schema.
        version: i64,
    },
    /// Schema of Switchboard.
    Switchboard {
        /// Newest applied step.
        version: i64,
    },
}

pub(super) async fn inspect(
    transaction: &mut Transaction,
    dialect: Dialect,
    schema: &DatabaseSchema,
) -> Result<SchemaState, MigrationError> {
    let columns = columns(transaction, dialect).await?;
    if columns.contains_key("switchboard_step") {
        return inspect_switchboard(transaction, dialect, schema, &columns).await;
    }
    if let Some(program) = schema.adopts.as_ref().filter(|_| columns.contains_key("schema_migrations")) {
        return inspect_adopted(transaction, program, schema, &columns).await;
    }
    match schema.tables().find(|table| columns.contains_key(table.name)) {
        Some(table) => Err(MigrationError::Foreign { table: table.name, owners: schema.owners() }),
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
    schema: &DatabaseSchema,
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
        let step = schema.steps.iter().find(|step| step.version == *version).ok_or(MigrationError::Newer(*version))?;
        if step.digest(dialect) != *digest {
            return Err(MigrationError::Altered(*version));
        }
        newest = *version;
    }
    require_columns(columns, schema, newest)?;
    Ok(SchemaState::Switchboard { version: newest })
}

async fn inspect_adopted(
    transaction: &mut Transaction,
    program: &AdoptedProgram,
    schema: &DatabaseSchema,
    columns: &SchemaColumns,
) -> Result<SchemaState, MigrationError> {
    let sql = "select version, dirty from schema_migrations order by version desc limit 1".to_string();
    let rows = within(
        "read the schema version of the adopted program",
        transaction.fetch(sql, &[ColumnType::Integer, ColumnType::Boolean], &[]),
    )
    .await?;
    match rows.first().map(Vec::as_slice) {
        Some([SqlValue::Integer(Some(version)), SqlValue::Boolean(Some(true))]) => {
            Err(MigrationError::Dirty { program: program.name, version: *version })
        }
        Some([SqlValue::Integer(Some(version)), _]) if *version == program.version => {
            require_columns(columns, schema, ADOPTED_STEP)?;
            Ok(SchemaState::Adoptable { version: *version })
        }
        other => {
            let found = match other {
                Some([SqlValue::Integer(Some(version)), _]) => *version,
                _ => 0,
            };
            Err(MigrationError::UnsupportedVersion { program: program.name, found, supported: program.version })
        }
    }
}

/// Fails unless every table has every column that it should have after a step.
fn require_columns(columns: &SchemaColumns, schema: &DatabaseSchema, version: i64) -> Result<(), MigrationError> {
    for table in schema.tables() {
        let have = columns.get(table.name);
        for column in table.columns.iter().filter(|column| column.since <= version) {
            if !have.is_some_and(|have| have.contains(column.name)) {
                return Err(MigrationError::MissingColumn { table: table.name, column: column.name.to_string() });
            }
        }
    }
    Ok(())
}
