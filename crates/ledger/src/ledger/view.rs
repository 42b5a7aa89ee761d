//! Reading.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Asked, Filter, LedgerError, within};
use crate::key::Key;
use crate::pool::Transaction;
use crate::row::{Row, Table};
use crate::seal::{Place, Sealing};
use crate::statement::Dialect;
use crate::value::{Kind, Value};

/// The database as it was at one moment.
pub struct View {
    transaction: Transaction,
    dialect: Dialect,
    sealing: Arc<Sealing>,
    asked: Arc<Asked>,
    /// What was asked in it, and the answers: there will be no others.
    known: Vec<Known>,
}

/// A question and its answer.
struct Known {
    sql: String,
    values: Vec<Value>,
    rows: Vec<Vec<Value>>,
}

/// How many questions are known, and of how many rows an answer may be: what is read in pages is read once.
const MAX_KNOWN: usize = 64;
const MAX_KNOWN_ROWS: usize = 16;

impl View {
    pub(super) fn new(transaction: Transaction, dialect: Dialect, sealing: Arc<Sealing>, asked: Arc<Asked>) -> View {
        View { transaction, dialect, sealing, asked, known: Vec::new() }
    }

    /// The row of a key, if there is one.
    pub async fn get<R: Row>(&mut self, key: &Key) -> Result<Option<R>, LedgerError> {
        let mut filter = Filter::all();
        for (column, part) in R::TABLE.keys().zip(key.parts()) {
            filter = filter.is(column.name, part.as_str());
        }
        Ok(self.list(&filter).await?.pop())
    }

    /// All rows that a filter lets through, in the order of their keys.
    pub async fn list<R: Row>(&mut self, filter: &Filter) -> Result<Vec<R>, LedgerError> {
        let table = R::TABLE;
        let (equal, mut values) = filter.equal(table)?;
        values.extend(filter.after.iter().flat_map(|key| key.parts()).map(|part| Value::from(part.as_str())));
        let sql = self.dialect.select(table, &equal, filter.after.is_some(), filter.limit);
        let rows = self.ask(table, sql, values).await?;
        rows.into_iter().map(|row| Ok(R::from_values(open(table, row, &self.sealing)?)?)).collect()
    }

    /// One state has one answer to a question: it is asked once.
    async fn ask(&mut self, table: &Table, sql: String, values: Vec<Value>) -> Result<Vec<Vec<Value>>, LedgerError> {
        if let Some(known) = self.known.iter().find(|known| known.sql == sql && known.values == values) {
            return Ok(known.rows.clone());
        }
        let rows = within("read rows", self.transaction.fetch(sql.clone(), &kinds(table), &values)).await?;
        self.asked.questions.fetch_add(1, Ordering::Relaxed);
        self.asked.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
        if self.known.len() < MAX_KNOWN && rows.len() <= MAX_KNOWN_ROWS {
            self.known.push(Known { sql, values, rows: rows.clone() });
        }
        Ok(rows)
    }

    /// How many rows have this value in this column.
    pub async fn count<R: Row>(&mut self, name: &'static str, value: impl Into<Value>) -> Result<u64, LedgerError> {
        self.asked.questions.fetch_add(1, Ordering::Relaxed);
        count(&mut self.transaction, self.dialect, R::TABLE, &Filter::all().is(name, value)).await
    }

    /// Gives the connection back.
    pub async fn end(self) -> Result<(), LedgerError> {
        within("end reading", self.transaction.rollback()).await
    }
}

/// How many rows a filter lets through.
pub(super) async fn count(
    transaction: &mut Transaction,
    dialect: Dialect,
    table: &'static Table,
    filter: &Filter,
) -> Result<u64, LedgerError> {
    let (equal, values) = filter.equal(table)?;
    let sql = dialect.count(table, &equal);
    let rows = within("count rows", transaction.fetch(sql, &[Kind::Integer], &values)).await?;
    match rows.first().map(Vec::as_slice) {
        Some([Value::Integer(Some(count))]) => Ok(u64::try_from(*count).unwrap_or_default()),
        _ => Ok(0),
    }
}

pub(super) fn kinds(table: &Table) -> Vec<Kind> {
    table.columns.iter().map(|column| column.kind).collect()
}

/// Stored credentials become credentials.
pub(super) fn open(table: &Table, mut values: Vec<Value>, sealing: &Sealing) -> Result<Vec<Value>, LedgerError> {
    let key = crate::row::key_of(table, &values);
    for (column, value) in table.columns.iter().zip(&mut values) {
        if column.kind == Kind::Secret {
            let place = Place { table: table.name, column: column.name, key: &key };
            let opened = value.as_text().map(|stored| sealing.open(stored, place)).transpose()?;
            *value = Value::Secret(opened);
        }
    }
    Ok(values)
}
