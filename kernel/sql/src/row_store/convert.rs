//! Conversion between rows of the ledger and rows of the kernel.

use std::collections::HashMap;

use switchboard_kernel::operator::DecideError;
use switchboard_kernel::resource::TableKey;
use switchboard_kernel::row::{
    self, ColumnValue, Row, RowFilter, RowOperation, RowPrecondition, RowTable, RowWrite, SecretText,
};
use switchboard_kernel::store::StoreName;

use crate::change::{RowChange, RowLimit};
use crate::ledger::{Filter, LedgerError};
use crate::row::{Column, Table, key_of};
use crate::schema::DatabaseSchema;
use crate::seal::{CredentialCell, Sealer};
use crate::secret::SecretString;
use crate::value::{ColumnType, DbTimestamp, SqlValue};

/// Tables with their form in the kernel.
pub struct StoreTables(HashMap<&'static str, (&'static Table, &'static RowTable)>);

impl StoreTables {
    /// Returns all tables of a database.
    pub fn of_schema(schema: &DatabaseSchema) -> StoreTables {
        let forms = schema.row_tables.iter().flat_map(|group| group.iter());
        let tables = schema.tables.iter().flat_map(|group| group.iter());
        StoreTables(tables.zip(forms).map(|(table, form)| (table.name, (*table, *form))).collect())
    }

    pub fn of_name(&self, name: &str) -> Option<(&'static Table, &'static RowTable)> {
        self.0.get(name).copied()
    }

    pub fn of_key(&self, table: &TableKey) -> Option<(&'static Table, &'static RowTable)> {
        self.of_name(&table.resource.kind)
    }
}

/// Returns the kernel's type of a column.
pub const fn stored_type(kind: ColumnType) -> row::ColumnType {
    match kind {
        ColumnType::Text => row::ColumnType::Text,
        ColumnType::Secret => row::ColumnType::Secret,
        ColumnType::Integer => row::ColumnType::Integer,
        ColumnType::Boolean => row::ColumnType::Boolean,
        ColumnType::Timestamp => row::ColumnType::Timestamp,
        ColumnType::Bytes => row::ColumnType::Bytes,
    }
}

/// Returns a row of a table without credentials, or whose credentials are NULL.
///
/// # Errors
/// A message without any value.
pub fn typed<R: crate::row::Row>(row: &Row) -> Result<R, String> {
    if row.values.iter().any(|value| matches!(value, ColumnValue::Sealed(_))) {
        return Err("it has sealed credentials, which only `open_row` opens".to_string());
    }
    let values = R::TABLE.columns.iter().zip(row.values.iter()).map(|(column, value)| plain(column.kind, value));
    R::from_values(values.collect()).map_err(|error| error.to_string())
}

/// Returns a row with its credentials in plaintext.
///
/// # Errors
/// [`DecideError::Failed`] if a credential cannot be opened; in a replay, the error of data that is not recorded.
pub fn open_row<R: crate::row::Row>(row: &Row, sealer: &Sealer) -> Result<R, DecideError> {
    if row.values.iter().any(ColumnValue::is_redacted) {
        return Err(DecideError::unrecorded(format!("a credential of {}", row.key)));
    }
    let read = || Ok::<_, LedgerError>(R::from_values(opened(R::TABLE, sealer, &row.values)?)?);
    read().map_err(|error| DecideError::failed(format!("could not read {}: {error}", row.key)))
}

/// Returns the values of a row for a plan; credentials are in plaintext until the commit seals them.
pub fn stored_values<R: crate::row::Row>(row: &R) -> Vec<ColumnValue> {
    let values = row.values();
    R::TABLE.columns.iter().zip(&values).map(|(column, value)| stored(column, value)).collect()
}

/// Returns a row as it is stored, with sealed credentials.
pub fn row(store: &StoreName, table: &Table, form: &'static RowTable, values: &[SqlValue]) -> Row {
    let values: Vec<ColumnValue> = table.columns.iter().zip(values).map(|(column, one)| stored(column, one)).collect();
    Row::new(store, form, values)
}

fn stored(column: &Column, value: &SqlValue) -> ColumnValue {
    match value {
        SqlValue::Text(Some(text)) if column.kind == ColumnType::Secret => ColumnValue::sealed(text),
        SqlValue::Text(Some(text)) => text.as_str().into(),
        SqlValue::Secret(Some(secret)) => ColumnValue::secret(secret.expose()),
        SqlValue::Integer(Some(number)) => (*number).into(),
        SqlValue::Boolean(Some(yes)) => ColumnValue::Boolean(*yes),
        SqlValue::Timestamp(Some(time)) => ColumnValue::Timestamp(time.unix_us),
        SqlValue::Bytes(Some(bytes)) => ColumnValue::Bytes(bytes.as_slice().into()),
        _ => ColumnValue::Null,
    }
}

/// Returns the changes of a commit.
///
/// # Errors
/// A message for users, if a change has no form here.
pub fn changes_of(tables: &StoreTables, sealer: &Sealer, writes: &[RowWrite]) -> Result<Vec<RowChange>, String> {
    let mut changes = Vec::new();
    for write in writes {
        let (table, _) = tables.of_name(write.table.name).ok_or_else(|| format!("unknown table of {}", write.key))?;
        let values = |values: &[ColumnValue]| {
            opened(table, sealer, values).map_err(|error| format!("could not open {}: {error}", write.key))
        };
        let was = write.required().map(|was| values(was)).transpose()?;
        match (&write.operation, was) {
            (RowOperation::Put(new), Some(was)) => {
                changes.push(RowChange::Update { table, was, values: values(new)? });
            }
            (RowOperation::Put(new), None) => changes.push(match write.precondition {
                RowPrecondition::Absent => RowChange::Insert { table, values: values(new)? },
                _ => RowChange::Put { table, values: values(new)? },
            }),
            (RowOperation::Ensure(new), _) => changes.push(RowChange::Ensure { table, values: values(new)? }),
            (RowOperation::Delete, was) => {
                changes.extend(was.map(|was| RowChange::RequireUnchanged { table, was }));
                let columns = table.keys().count();
                let key = write.key.name.splitn(columns, '/').map(str::to_string).collect();
                changes.push(RowChange::Delete { table, key });
            }
            (RowOperation::Check(limits), Some(was)) if limits.is_empty() => {
                changes.push(RowChange::RequireUnchanged { table, was });
            }
            (RowOperation::Check(limits), Some(was)) => {
                let limits = limits.iter().map(|limit| limit_of(tables, limit)).collect::<Result<_, _>>()?;
                changes.push(RowChange::RequireLimits { table, was, limits });
            }
            // Nothing is required of a row that the plan leaves absent.
            (RowOperation::Check(_), None) => {}
        }
    }
    Ok(changes)
}

fn limit_of(tables: &StoreTables, limit: &row::RowLimit) -> Result<RowLimit, String> {
    let counted = |(form, filter): &(&'static RowTable, RowFilter)| {
        let (table, _) = tables.of_name(form.name).ok_or_else(|| format!("unknown table {}", form.name))?;
        Ok::<_, String>((table, filter_of(table, filter).map_err(|error| error.to_string())?))
    };
    let rows = limit.rows.iter().map(counted).collect::<Result<_, _>>()?;
    Ok(RowLimit { rows, max_rows: limit.max_rows })
}

/// Returns values as the ledger writes them, with credentials in plaintext.
fn opened(table: &'static Table, sealer: &Sealer, values: &[ColumnValue]) -> Result<Vec<SqlValue>, LedgerError> {
    let plain: Vec<SqlValue> = table.columns.iter().zip(values).map(|(column, one)| plain(column.kind, one)).collect();
    let key = key_of(table, &plain);
    let open = |((column, value), plain): ((&Column, &ColumnValue), SqlValue)| match value {
        ColumnValue::Sealed(SecretText(text)) => {
            let cell = CredentialCell { table: table.name, column: column.name, key: &key };
            Ok(SqlValue::Secret(Some(sealer.open(text, cell)?)))
        }
        _ => Ok(plain),
    };
    table.columns.iter().zip(values).zip(plain).map(open).collect()
}

fn plain(kind: ColumnType, value: &ColumnValue) -> SqlValue {
    match (kind, value) {
        (_, ColumnValue::Text(text)) => SqlValue::Text(Some(text.to_string())),
        (_, ColumnValue::Secret(SecretText(text))) => SqlValue::Secret(Some(SecretString::from(&**text))),
        (_, ColumnValue::Integer(number)) => SqlValue::Integer(Some(*number)),
        (_, ColumnValue::Boolean(yes)) => SqlValue::Boolean(Some(*yes)),
        (_, ColumnValue::Timestamp(us)) => SqlValue::Timestamp(Some(DbTimestamp::from_unix_us(*us))),
        (_, ColumnValue::Bytes(bytes)) => SqlValue::Bytes(Some(bytes.to_vec())),
        (ColumnType::Text, ColumnValue::Null | ColumnValue::Sealed(_)) => SqlValue::Text(None),
        (ColumnType::Secret, ColumnValue::Null | ColumnValue::Sealed(_)) => SqlValue::Secret(None),
        (ColumnType::Integer, ColumnValue::Null | ColumnValue::Sealed(_)) => SqlValue::Integer(None),
        (ColumnType::Boolean, ColumnValue::Null | ColumnValue::Sealed(_)) => SqlValue::Boolean(None),
        (ColumnType::Timestamp, ColumnValue::Null | ColumnValue::Sealed(_)) => SqlValue::Timestamp(None),
        (ColumnType::Bytes, ColumnValue::Null | ColumnValue::Sealed(_)) => SqlValue::Bytes(None),
    }
}

/// Returns the ledger's form of a filter. Counts have no limit.
pub fn filter_of(table: &'static Table, filter: &RowFilter) -> Result<Filter, LedgerError> {
    let mut found = Filter::all();
    for (name, values) in &filter.equal {
        let column = table.columns.iter().find(|column| column.name == *name);
        let column = column.ok_or(LedgerError::NoColumn { table: table.name, column: "unknown" })?;
        found = match values.as_slice() {
            [ColumnValue::Null] => found.is_null(column.name),
            values => found.is_any_of(column.name, values.iter().map(|value| plain(column.kind, value))),
        };
    }
    Ok(match filter.limit {
        Some(limit) if filter.below.is_none() => found.limit(limit),
        _ => found,
    })
}
