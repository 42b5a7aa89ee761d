//! Changing.

use super::question::{Question, kinds};
use super::view::{counted, open};
use super::{Filter, Ledger, LedgerError, within};
use crate::change::{Bound, Change};
use crate::key::Key;
use crate::pool::{Intent, Transaction};
use crate::row::{Table, key_of};
use crate::seal::{Place, Sealing};
use crate::statement::{Dialect, Lock};
use crate::value::{Kind, Value};

/// What is cut rather than refused: a reason is better short than lost.
const CUT: (&str, &str) = ("operation", "human_readable_state");

/// Marks where a text was cut.
const ELLIPSIS: &str = "...";

/// The rows to be written, judged before the database is asked.
pub(super) fn prepare(changes: &[Change]) -> Result<Vec<Option<Vec<Value>>>, LedgerError> {
    changes.iter().map(|change| written(change).map(|values| fit(change.table(), values)).transpose()).collect()
}

fn written(change: &Change) -> Option<&Vec<Value>> {
    match change {
        Change::Insert { values, .. }
        | Change::Ensure { values, .. }
        | Change::Put { values, .. }
        | Change::Update { values, .. } => Some(values),
        Change::Delete { .. } | Change::Hold { .. } | Change::Room { .. } => None,
    }
}

fn fit(table: &'static Table, values: &[Value]) -> Result<Vec<Value>, LedgerError> {
    let key = key_of(table, values).to_string();
    let mut fitting = Vec::with_capacity(values.len());
    for (column, value) in table.columns.iter().zip(values) {
        let text = match value {
            Value::Text(Some(text)) => text.as_str(),
            Value::Secret(Some(secret)) => secret.expose(),
            _ => "",
        };
        if text.contains('\0') {
            return Err(LedgerError::Nul { table: table.name, key, column: column.name });
        }
        let (chars, max_chars) = (text.chars().count(), column.max_chars);
        if chars <= max_chars || max_chars == 0 {
            fitting.push(value.clone());
        } else if (table.name, column.name) == CUT {
            let kept: String = text.chars().take(max_chars - ELLIPSIS.len()).collect();
            fitting.push(Value::Text(Some(kept + ELLIPSIS)));
        } else {
            return Err(LedgerError::TooLong { table: table.name, key, column: column.name, chars, max_chars });
        }
    }
    Ok(fitting)
}

/// Makes all changes once. If one is refused, none is made.
pub(super) async fn attempt(
    ledger: &Ledger,
    changes: &[Change],
    rows: &[Option<Vec<Value>>],
) -> Result<(), LedgerError> {
    let mut transaction = within("begin to write", ledger.pool.begin(Intent::Write)).await?;
    for (change, row) in changes.iter().zip(rows) {
        make(&mut transaction, ledger.pool.dialect(), &ledger.sealing, change, row.as_deref().unwrap_or_default())
            .await?;
    }
    within("commit changes", transaction.commit()).await
}

async fn make(
    transaction: &mut Transaction,
    dialect: Dialect,
    sealing: &Sealing,
    change: &Change,
    row: &[Value],
) -> Result<(), LedgerError> {
    let (table, key) = (change.table(), change.key());
    let (sql, values) = match change {
        Change::Insert { .. } => (dialect.insert(table), sealed(table, &key, row, sealing)?),
        Change::Ensure { .. } => (dialect.ensure(table), sealed(table, &key, row, sealing)?),
        Change::Put { .. } => (dialect.put(table), sealed(table, &key, row, sealing)?),
        Change::Delete { .. } => (dialect.delete(table), texts(&key)),
        Change::Hold { was, .. } => return same(transaction, dialect, sealing, table, was, Lock::Share).await,
        Change::Room { was, bounds, .. } => {
            same(transaction, dialect, sealing, table, was, Lock::Update).await?;
            return within_bounds(transaction, dialect, change, bounds).await;
        }
        Change::Update { was, .. } => {
            same(transaction, dialect, sealing, table, was, Lock::Update).await?;
            (dialect.update(table), sealed(table, &key, row, sealing)?)
        }
    };
    let made = within("write a row", transaction.execute(sql, &values)).await;
    made.map(drop).map_err(|error| name(error, table, &key))
}

/// Refuses unless the row still is as it was read.
async fn same(
    transaction: &mut Transaction,
    dialect: Dialect,
    sealing: &Sealing,
    table: &'static Table,
    was: &[Value],
    lock: Lock,
) -> Result<(), LedgerError> {
    let key = key_of(table, was);
    let (kinds, values) = (kinds(table), texts(&key));
    let found = transaction.fetch(dialect.lock(table, lock), &kinds, &values);
    let found = within("read a row that is to change", found).await?.pop();
    let now = found.map(|values| open(table, values, sealing)).transpose()?;
    if now.is_some_and(|now| now.len() == was.len() && now.iter().zip(was).all(|(now, was)| alike(now, was))) {
        Ok(())
    } else {
        Err(LedgerError::Changed { table: table.name, key: key.to_string() })
    }
}

/// Refuses if more is there than may be. The row that is asked about is ours until the end: whoever else asks about it counts after us.
async fn within_bounds(
    transaction: &mut Transaction,
    dialect: Dialect,
    change: &Change,
    bounds: &[Bound],
) -> Result<(), LedgerError> {
    for bound in bounds {
        let mut there = 0;
        for &(table, ref rows) in &bound.rows {
            there += count(transaction, dialect, table, rows).await?;
        }
        if there > bound.most {
            let (table, key) = (change.table().name, change.key().to_string());
            return Err(LedgerError::Full { table, key, there, most: bound.most });
        }
    }
    Ok(())
}

/// How many rows a filter lets through, what was written in this transaction included.
async fn count(
    transaction: &mut Transaction,
    dialect: Dialect,
    table: &'static Table,
    rows: &Filter,
) -> Result<u64, LedgerError> {
    let question = Question::count(table, rows)?;
    let (sql, kinds) = (question.shape().statement(dialect).one, question.shape().answered());
    Ok(counted(&within("count rows", transaction.fetch(sql, &kinds, &question.values)).await?))
}

/// NULL is what a row says as an empty text, or as no.
pub(super) fn alike(now: &Value, was: &Value) -> bool {
    match (now, was) {
        (Value::Text(now), Value::Text(was)) => {
            now.as_deref().unwrap_or_default() == was.as_deref().unwrap_or_default()
        }
        (Value::Boolean(now), Value::Boolean(was)) => now.unwrap_or_default() == was.unwrap_or_default(),
        _ => now == was,
    }
}

pub(super) fn texts(key: &Key) -> Vec<Value> {
    key.parts().iter().map(|part| Value::from(part.as_str())).collect()
}

/// Credentials become what is stored.
pub(crate) fn sealed(table: &Table, key: &Key, values: &[Value], sealing: &Sealing) -> Result<Vec<Value>, LedgerError> {
    let seal = |(column, value): (&crate::row::Column, &Value)| {
        let Value::Secret(secret) = value else { return Ok(value.clone()) };
        debug_assert_eq!(column.kind, Kind::Secret);
        let place = Place { table: table.name, column: column.name, key };
        Ok(Value::Text(secret.as_ref().map(|secret| sealing.seal(secret, place)).transpose()?))
    };
    table.columns.iter().zip(values).map(seal).collect()
}

/// Says what a refusal of the database means.
fn name(error: LedgerError, table: &'static Table, key: &Key) -> LedgerError {
    let LedgerError::Query { act, source } = error else { return error };
    let (table, key) = (table.name, key.to_string());
    match source.as_database_error() {
        Some(refusal) if refusal.is_unique_violation() => LedgerError::Taken { table, key, source },
        Some(refusal) if refusal.is_foreign_key_violation() => LedgerError::Dangling { table, key, source },
        _ => LedgerError::Query { act, source },
    }
}
