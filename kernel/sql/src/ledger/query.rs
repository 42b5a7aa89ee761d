//! Queries of one table.

use super::{Filter, LedgerError};
use crate::pool::Statement;
use crate::row::Table;
use crate::statement::{ColumnFilter, Dialect, bulk};
use crate::value::{ColumnType, SqlValue};

/// Query for rows of a table, or for their number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RowQuery {
    shape: QueryShape,
    pub values: Vec<SqlValue>,
}

/// Query without its values. Queries of the same shape share a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct QueryShape {
    table: &'static Table,
    equal: Vec<ColumnFilter>,
    after: bool,
    limit: Option<u32>,
    is_count: bool,
}

impl RowQuery {
    /// Returns the query for the rows that match a filter.
    pub fn rows(table: &'static Table, filter: &Filter) -> Result<RowQuery, LedgerError> {
        let (equal, mut values) = filter.equal(table)?;
        values.extend(filter.after.iter().flat_map(|key| key.parts()).map(|part| SqlValue::from(part.as_str())));
        let shape = QueryShape { table, equal, after: filter.after.is_some(), limit: filter.limit, is_count: false };
        Ok(RowQuery { shape, values })
    }

    /// Returns the query for the number of rows that match a filter.
    pub fn count(table: &'static Table, filter: &Filter) -> Result<RowQuery, LedgerError> {
        let (equal, values) = filter.equal(table)?;
        Ok(RowQuery { shape: QueryShape { table, equal, after: false, limit: None, is_count: true }, values })
    }

    pub fn shape(&self) -> &QueryShape {
        &self.shape
    }
}

impl QueryShape {
    /// Whether one statement can run several queries of this shape: each has exactly one value for each column.
    pub fn is_batchable(&self) -> bool {
        let is_single = |one: &ColumnFilter| one.null || one.values == 1;
        !self.after && self.equal.iter().all(is_single) && self.equal.iter().any(|one| !one.null)
    }

    /// Types of the parameters of a batchable query.
    pub fn parameter_types(&self) -> Vec<ColumnType> {
        self.equal.iter().filter(|one| !one.null).map(|one| one.column.kind).collect()
    }

    /// Types of the result columns.
    pub fn result_types(&self) -> Vec<ColumnType> {
        if self.is_count { vec![ColumnType::Integer] } else { column_types(self.table) }
    }

    pub fn statement(&self, dialect: Dialect) -> Statement {
        let QueryShape { table, equal, after, limit, is_count } = self;
        match (is_count, self.is_batchable()) {
            (true, true) => Statement { one: dialect.count(table, equal), bulk: bulk::count(table, equal) },
            (true, false) => Statement { one: dialect.count(table, equal), bulk: String::new() },
            (false, true) => {
                let one = dialect.select(table, equal, *after, *limit);
                Statement { one, bulk: bulk::select(table, equal, *limit) }
            }
            (false, false) => Statement { one: dialect.select(table, equal, *after, *limit), bulk: String::new() },
        }
    }
}

/// Returns the types of a table's columns.
pub(super) fn column_types(table: &Table) -> Vec<ColumnType> {
    table.columns.iter().map(|column| column.kind).collect()
}
