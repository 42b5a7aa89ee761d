//! Commits.

use super::query::{RowQuery, column_types};
use super::view::{open_values, read_count};
use super::{Filter, Ledger, LedgerError, within};
use crate::change::{RowChange, RowLimit};
use crate::key::RowKey;
use crate::pool::{Intent, Transaction};
use crate::row::{Table, key_of};
use crate::seal::{CredentialCell, Sealer};
use crate::statement::{Dialect, Lock};
use crate::value::{ColumnType, SqlValue};

/// Ending of a truncated text.
const ELLIPSIS: &str = "...";

/// Validates the rows to write before the transaction begins.
pub(super) fn prepare(changes: &[RowChange]) -> Result<Vec<Option<Vec<SqlValue>>>, LedgerError> {
    changes
        .iter()
        .map(|change| written_values(change).map(|values| validate(change.table(), values)).transpose())
        .collect()
}

fn written_values(change: &RowChange) -> Option<&Vec<SqlValue>> {
    match change {
        RowChange::Insert { values, .. }
        | RowChange::Ensure { values, .. }
        | RowChange::Put { values, .. }
        | RowChange::Update { values, .. } => Some(values),
        RowChange::Delete { .. } | RowChange::RequireUnchanged { .. } | RowChange::RequireLimits { .. } => None,
    }
}

fn validate(table: &'static Table, values: &[SqlValue]) -> Result<Vec<SqlValue>, LedgerError> {
    let key = key_of(table, values).to_string();
    let mut fitting = Vec::with_capacity(values.len());
    for (column, value) in table.columns.iter().zip(values) {
        let text = match value {
            SqlValue::Text(Some(text)) => text.as_str(),
            SqlValue::Secret(Some(secret)) => secret.expose(),
            _ => "",
        };
        if text.contains('\0') {
            return Err(LedgerError::Nul { table: table.name, key, column: column.name });
        }
        let (chars, max_chars) = (text.chars().count(), column.max_chars);
        if chars <= max_chars || max_chars == 0 {
            fitting.push(value.clone());
        } else if column.truncated {
            let kept: String = text.chars().take(max_chars - ELLIPSIS.len()).collect();
            fitting.push(SqlValue::Text(Some(kept + ELLIPSIS)));
        } else {
            return Err(LedgerError::TooLong { table: table.name, key, column: column.name, chars, max_chars });
        }
    }
    Ok(fitting)
}

/// Applies all changes in one transaction.
pub(super) async fn attempt(
    ledger: &Ledger,
    changes: &[RowChange],
    rows: &[Option<Vec<SqlValue>>],
) -> Result<(), LedgerError> {
    let mut transaction = within("begin a write transaction", ledger.pool.begin(Intent::Write)).await?;
    for (change, row) in changes.iter().zip(rows) {
        apply(&mut transaction, ledger.pool.dialect(), &ledger.sealer, change, row.as_deref().unwrap_or_default())
            .await?;
    }
    within("commit changes", transaction.commit()).await
}

async fn apply(
    transaction: &mut Transaction,
    dialect: Dialect,
    sealer: &Sealer,
    change: &RowChange,
    row: &[SqlValue],
) -> Result<(), LedgerError> {
    let (table, key) = (change.table(), change.key());
    let (sql, values) = match change {
        RowChange::Insert { .. } => (dialect.insert(table), seal_values(table, &key, row, sealer)?),
        RowChange::Ensure { .. } => (dialect.ensure(table), seal_values(table, &key, row, sealer)?),
        RowChange::Put { .. } => (dialect.put(table), seal_values(table, &key, row, sealer)?),
        RowChange::Delete { .. } => (dialect.delete(table), key_values(&key)),
        RowChange::RequireUnchanged { was, .. } => {
            return require_same(transaction, dialect, sealer, table, was, Lock::Share).await;
        }
        RowChange::RequireLimits { was, limits: bounds, .. } => {
            require_same(transaction, dialect, sealer, table, was, Lock::Update).await?;
            return check_limits(transaction, dialect, change, bounds).await;
        }
        RowChange::Update { was, .. } => {
            require_same(transaction, dialect, sealer, table, was, Lock::Update).await?;
            (dialect.update(table), seal_values(table, &key, row, sealer)?)
        }
    };
    let made = within("write a row", transaction.execute(sql, &values)).await;
    made.map(drop).map_err(|error| classify(error, table, &key))
}

/// Fails unless the row is as it was read.
async fn require_same(
    transaction: &mut Transaction,
    dialect: Dialect,
    sealer: &Sealer,
    table: &'static Table,
    was: &[SqlValue],
    lock: Lock,
) -> Result<(), LedgerError> {
    let key = key_of(table, was);
    let (kinds, values) = (column_types(table), key_values(&key));
    let found = transaction.fetch(dialect.lock(table, lock), &kinds, &values);
    let found = within("read a row to change", found).await?.pop();
    let now = found.map(|values| open_values(table, values, sealer)).transpose()?;
    if now.is_some_and(|now| now.len() == was.len() && now.iter().zip(was).all(|(now, was)| values_equal(now, was))) {
        Ok(())
    } else {
        Err(LedgerError::Changed { table: table.name, key: key.to_string() })
    }
}

/// Fails if a count exceeds its limit. The transaction holds the lock of the change's row, so concurrent checks of the
/// same row wait and count its rows.
async fn check_limits(
    transaction: &mut Transaction,
    dialect: Dialect,
    change: &RowChange,
    bounds: &[RowLimit],
) -> Result<(), LedgerError> {
    for bound in bounds {
        let mut count_so_far = 0;
        for &(table, ref rows) in &bound.rows {
            count_so_far += count(transaction, dialect, table, rows).await?;
        }
        if count_so_far > bound.max_rows {
            let (table, key) = (change.table().name, change.key().to_string());
            return Err(LedgerError::LimitExceeded { table, key, count: count_so_far, max_rows: bound.max_rows });
        }
    }
    Ok(())
}

/// Returns the number of rows that match a filter, including the writes of this transaction.
async fn count(
    transaction: &mut Transaction,
    dialect: Dialect,
    table: &'static Table,
    rows: &Filter,
) -> Result<u64, LedgerError> {
    let query = RowQuery::count(table, rows)?;
    let (sql, kinds) = (query.shape().statement(dialect).one, query.shape().result_types());
    Ok(read_count(&within("count rows", transaction.fetch(sql, &kinds, &query.values)).await?))
}

/// Whether two values are the same to a row: NULL is the same as an empty text or as false.
pub(super) fn values_equal(now: &SqlValue, was: &SqlValue) -> bool {
    match (now, was) {
        (SqlValue::Text(now), SqlValue::Text(was)) => {
            now.as_deref().unwrap_or_default() == was.as_deref().unwrap_or_default()
        }
        (SqlValue::Boolean(now), SqlValue::Boolean(was)) => now.unwrap_or_default() == was.unwrap_or_default(),
        _ => now == was,
    }
}

pub(super) fn key_values(key: &RowKey) -> Vec<SqlValue> {
    key.parts().iter().map(|part| SqlValue::from(part.as_str())).collect()
}

/// Replaces credentials by their stored form.
pub(crate) fn seal_values(
    table: &Table,
    key: &RowKey,
    values: &[SqlValue],
    sealer: &Sealer,
) -> Result<Vec<SqlValue>, LedgerError> {
    let seal = |(column, value): (&crate::row::Column, &SqlValue)| {
        let SqlValue::Secret(secret) = value else { return Ok(value.clone()) };
        debug_assert_eq!(column.kind, ColumnType::Secret);
        let cell = CredentialCell { table: table.name, column: column.name, key };
        Ok(SqlValue::Text(secret.as_ref().map(|secret| sealer.seal(secret, cell)).transpose()?))
    };
    table.columns.iter().zip(values).map(seal).collect()
}

/// Translates a constraint violation into the error for it.
fn classify(error: LedgerError, table: &'static Table, key: &RowKey) -> LedgerError {
    let LedgerError::Query { act, source } = error else { return error };
    let (table, key) = (table.name, key.to_string());
    match source.as_database_error() {
        Some(refusal) if refusal.is_unique_violation() => LedgerError::Duplicate { table, key, source },
        Some(refusal) if refusal.is_foreign_key_violation() => LedgerError::Dangling { table, key, source },
        _ => LedgerError::Query { act, source },
    }
}
