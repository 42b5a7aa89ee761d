//! Reading.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Asked, LedgerError, within};
use crate::key::Key;
use crate::pool::Transaction;
use crate::row::{Row, Table};
use crate::seal::{Place, Sealing};
use crate::statement::{Dialect, Equal};
use crate::value::{Kind, Value};

/// Which rows are asked for: those whose columns have these values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    equal: Vec<(&'static str, Value)>,
    after: Option<Key>,
    limit: Option<u32>,
}

impl Filter {
    /// Every row.
    pub fn all() -> Filter {
        Filter::default()
    }

    /// Only rows whose `column` is this.
    pub fn is(mut self, column: &'static str, value: impl Into<Value>) -> Filter {
        self.equal.push((column, value.into()));
        self
    }

    /// Only rows whose `column` is NULL.
    pub fn is_null(mut self, column: &'static str) -> Filter {
        self.equal.push((column, Value::Text(None)));
        self
    }

    /// Only rows after this key: how a long table is read in pages, and none is skipped when earlier ones go meanwhile.
    pub fn after(mut self, key: Key) -> Filter {
        self.after = Some(key);
        self
    }

    /// At most so many rows.
    pub fn limit(mut self, rows: u32) -> Filter {
        self.limit = Some(rows);
        self
    }
}

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
        let mut equal = Vec::new();
        let mut values = Vec::new();
        for (name, value) in &filter.equal {
            let null = *value == Value::Text(None);
            let found = table.column(name).filter(|column| null || column.kind == value.kind());
            // A sealed value is never the same twice: to ask for one finds nothing.
            let found = found.filter(|column| column.kind != Kind::Secret || null);
            let column = found.ok_or(LedgerError::NoColumn { table: table.name, column: name })?;
            equal.push(Equal { column, null });
            if !null {
                values.push(value.clone());
            }
        }
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
        self.asked.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
        if self.known.len() < MAX_KNOWN && rows.len() <= MAX_KNOWN_ROWS {
            self.known.push(Known { sql, values, rows: rows.clone() });
        }
        Ok(rows)
    }

    /// How many rows have this value in this column.
    pub async fn count<R: Row>(&mut self, name: &'static str, value: impl Into<Value>) -> Result<u64, LedgerError> {
        let (table, value) = (R::TABLE, value.into());
        let found = table.column(name).filter(|column| column.kind == value.kind() && column.kind != Kind::Secret);
        let column = found.ok_or(LedgerError::NoColumn { table: table.name, column: name })?;
        let sql = self.dialect.count(table, column);
        let rows = within("count rows", self.transaction.fetch(sql, &[Kind::Integer], &[value])).await?;
        match rows.first().map(Vec::as_slice) {
            Some([Value::Integer(Some(count))]) => Ok(u64::try_from(*count).unwrap_or_default()),
            _ => Ok(0),
        }
    }

    /// Gives the connection back.
    pub async fn end(self) -> Result<(), LedgerError> {
        within("end reading", self.transaction.rollback()).await
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
