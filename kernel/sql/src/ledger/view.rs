//! Reads.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::query::RowQuery;
use super::shared_reads::{MAX_CACHED_ROWS, PendingQuery, QuerySender, SharedRows, worker_lost};
use super::{Filter, LedgerError};
use crate::key::RowKey;
use crate::row::{Row, Table};
use crate::seal::{CredentialCell, Sealer};
use crate::value::{ColumnType, SqlValue};

/// Consistent view of the database at one point in time. Concurrent readers may share it.
pub struct LedgerView {
    join: QuerySender,
    sealer: Arc<Sealer>,
    /// Results of earlier queries, which cannot change within the view.
    cache: HashMap<RowQuery, SharedRows>,
}

/// Receiver of a query's rows.
type PendingRows = oneshot::Receiver<Result<SharedRows, LedgerError>>;

/// Maximum number of queries that a view caches.
const MAX_CACHED_QUERIES: usize = 64;

impl LedgerView {
    pub(super) fn new(join: QuerySender, sealer: Arc<Sealer>) -> LedgerView {
        LedgerView { join, sealer, cache: HashMap::new() }
    }

    /// Returns the row of a key.
    pub async fn get<R: Row>(&mut self, key: &RowKey) -> Result<Option<R>, LedgerError> {
        Ok(self.list(&key_filter::<R>(key)).await?.pop())
    }

    /// Returns all rows that match a filter, in the order of their keys.
    pub async fn list<R: Row>(&mut self, filter: &Filter) -> Result<Vec<R>, LedgerError> {
        let rows = self.query(RowQuery::rows(R::TABLE, filter)?).await?;
        self.rows(&rows)
    }

    /// Returns the existing rows of many keys, with one query where possible.
    pub async fn get_many<R: Row>(&mut self, keys: &[RowKey]) -> Result<Vec<R>, LedgerError> {
        let filters: Vec<Filter> = keys.iter().map(key_filter::<R>).collect();
        self.list_many(&filters).await
    }

    /// Returns all rows that match any of these filters, with one query where possible. A row that matches several
    /// filters is repeated.
    pub async fn list_many<R: Row>(&mut self, filters: &[Filter]) -> Result<Vec<R>, LedgerError> {
        let mut pending = Vec::new();
        for filter in filters {
            pending.push(self.send(RowQuery::rows(R::TABLE, filter)?).await?);
        }
        let mut all = Vec::new();
        for rows in pending {
            all.extend(self.rows(&rows.await.map_err(|_| worker_lost())??)?);
        }
        Ok(all)
    }

    fn rows<R: Row>(&self, rows: &[Vec<SqlValue>]) -> Result<Vec<R>, LedgerError> {
        rows.iter().map(|row| Ok(R::from_values(open_values(R::TABLE, row.clone(), &self.sealer)?)?)).collect()
    }

    /// Runs a query, or returns its cached result.
    async fn query(&mut self, query: RowQuery) -> Result<SharedRows, LedgerError> {
        if let Some(rows) = self.cache.get(&query) {
            return Ok(Arc::clone(rows));
        }
        let kept = (self.cache.len() < MAX_CACHED_QUERIES).then(|| query.clone());
        let rows = self.send(query).await?.await.map_err(|_| worker_lost())??;
        if let Some(query) = kept.filter(|_| rows.len() <= MAX_CACHED_ROWS) {
            self.cache.insert(query, Arc::clone(&rows));
        }
        Ok(rows)
    }

    async fn send(&self, query: RowQuery) -> Result<PendingRows, LedgerError> {
        let (answer, answered) = oneshot::channel();
        self.join.send(PendingQuery { query, answer }).await.map_err(|_| worker_lost())?;
        Ok(answered)
    }

    /// Returns the number of rows whose column has this value.
    pub async fn count<R: Row>(&mut self, name: &'static str, value: impl Into<SqlValue>) -> Result<u64, LedgerError> {
        let rows = self.query(RowQuery::count(R::TABLE, &Filter::all().is(name, value))?).await?;
        Ok(read_count(&rows))
    }

    /// Leaves the session.
    pub fn end(self) {}
}

/// Returns the filter for the row of a key.
fn key_filter<R: Row>(key: &RowKey) -> Filter {
    let columns = R::TABLE.keys().zip(key.parts());
    columns.fold(Filter::all(), |filter, (column, part)| filter.is(column.name, part.as_str()))
}

/// Reads the result of a count query.
pub(super) fn read_count(rows: &[Vec<SqlValue>]) -> u64 {
    match rows.first().map(Vec::as_slice) {
        Some([SqlValue::Integer(Some(count))]) => u64::try_from(*count).unwrap_or_default(),
        _ => 0,
    }
}

/// Opens the stored credentials of a row.
pub(super) fn open_values(
    table: &Table,
    mut values: Vec<SqlValue>,
    sealer: &Sealer,
) -> Result<Vec<SqlValue>, LedgerError> {
    let has_secrets = table.columns.iter().any(|column| column.kind == ColumnType::Secret);
    let key = has_secrets.then(|| crate::row::key_of(table, &values));
    let Some(key) = key else { return Ok(values) };
    for (column, value) in table.columns.iter().zip(&mut values) {
        if column.kind == ColumnType::Secret {
            let cell = CredentialCell { table: table.name, column: column.name, key: &key };
            let opened = value.as_text().map(|stored| sealer.open(stored, cell)).transpose()?;
            *value = SqlValue::Secret(opened);
        }
    }
    Ok(values)
}
