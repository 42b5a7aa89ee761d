//! Reading.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::question::Question;
use super::reading::{Rows, Seat, Wanted, lost};
use super::{Filter, LedgerError};
use crate::key::Key;
use crate::row::{Row, Table};
use crate::seal::{Place, Sealing};
use crate::value::{Kind, Value};

/// The database as it was at one moment. Others who came at the same time may see the same one.
pub struct View {
    seat: Seat,
    sealing: Arc<Sealing>,
    /// What was asked in it, and the answers: there will be no others.
    known: HashMap<Question, Rows>,
}

/// Where an answer comes.
type Answer = oneshot::Receiver<Result<Rows, LedgerError>>;

/// How many questions are known, and of how many rows an answer may be: what is read in pages is read once.
const MAX_KNOWN: usize = 64;
const MAX_KNOWN_ROWS: usize = 16;

impl View {
    pub(super) fn new(seat: Seat, sealing: Arc<Sealing>) -> View {
        View { seat, sealing, known: HashMap::new() }
    }

    /// The row of a key, if there is one.
    pub async fn get<R: Row>(&mut self, key: &Key) -> Result<Option<R>, LedgerError> {
        Ok(self.list(&of_key::<R>(key)).await?.pop())
    }

    /// All rows that a filter lets through, in the order of their keys.
    pub async fn list<R: Row>(&mut self, filter: &Filter) -> Result<Vec<R>, LedgerError> {
        let rows = self.ask(Question::rows(R::TABLE, filter)?).await?;
        self.rows(&rows)
    }

    /// The rows of many keys, those that are there, asked for at once.
    pub async fn get_each<R: Row>(&mut self, keys: &[Key]) -> Result<Vec<R>, LedgerError> {
        let filters: Vec<Filter> = keys.iter().map(of_key::<R>).collect();
        self.list_each(&filters).await
    }

    /// All rows that any of these filters lets through, asked for at once; a row that several let through comes as often.
    pub async fn list_each<R: Row>(&mut self, filters: &[Filter]) -> Result<Vec<R>, LedgerError> {
        let mut asked = Vec::new();
        for filter in filters {
            asked.push(self.send(Question::rows(R::TABLE, filter)?).await?);
        }
        let mut all = Vec::new();
        for rows in asked {
            all.extend(self.rows(&rows.await.map_err(|_| lost())??)?);
        }
        Ok(all)
    }

    fn rows<R: Row>(&self, rows: &[Vec<Value>]) -> Result<Vec<R>, LedgerError> {
        rows.iter().map(|row| Ok(R::from_values(open(R::TABLE, row.clone(), &self.sealing)?)?)).collect()
    }

    /// One state has one answer to a question: it is asked once.
    async fn ask(&mut self, question: Question) -> Result<Rows, LedgerError> {
        if let Some(rows) = self.known.get(&question) {
            return Ok(Arc::clone(rows));
        }
        let kept = (self.known.len() < MAX_KNOWN).then(|| question.clone());
        let rows = self.send(question).await?.await.map_err(|_| lost())??;
        if let Some(question) = kept.filter(|_| rows.len() <= MAX_KNOWN_ROWS) {
            self.known.insert(question, Arc::clone(&rows));
        }
        Ok(rows)
    }

    async fn send(&self, question: Question) -> Result<Answer, LedgerError> {
        let (answer, answered) = oneshot::channel();
        self.seat.send(Wanted { question, answer }).await.map_err(|_| lost())?;
        Ok(answered)
    }

    /// How many rows have this value in this column.
    pub async fn count<R: Row>(&mut self, name: &'static str, value: impl Into<Value>) -> Result<u64, LedgerError> {
        let rows = self.ask(Question::count(R::TABLE, &Filter::all().is(name, value))?).await?;
        Ok(counted(&rows))
    }

    /// Gives its place up.
    pub fn end(self) {}
}

/// Only the row of this key.
fn of_key<R: Row>(key: &Key) -> Filter {
    let columns = R::TABLE.keys().zip(key.parts());
    columns.fold(Filter::all(), |filter, (column, part)| filter.is(column.name, part.as_str()))
}

/// What was counted.
pub(super) fn counted(rows: &[Vec<Value>]) -> u64 {
    match rows.first().map(Vec::as_slice) {
        Some([Value::Integer(Some(count))]) => u64::try_from(*count).unwrap_or_default(),
        _ => 0,
    }
}

/// Stored credentials become credentials.
pub(super) fn open(table: &Table, mut values: Vec<Value>, sealing: &Sealing) -> Result<Vec<Value>, LedgerError> {
    let has_secrets = table.columns.iter().any(|column| column.kind == Kind::Secret);
    let key = has_secrets.then(|| crate::row::key_of(table, &values));
    let Some(key) = key else { return Ok(values) };
    for (column, value) in table.columns.iter().zip(&mut values) {
        if column.kind == Kind::Secret {
            let place = Place { table: table.name, column: column.name, key: &key };
            let opened = value.as_text().map(|stored| sealing.open(stored, place)).transpose()?;
            *value = Value::Secret(opened);
        }
    }
    Ok(values)
}
