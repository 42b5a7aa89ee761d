//! Filters of rows.

use super::LedgerError;
use crate::key::RowKey;
use crate::row::Table;
use crate::statement::ColumnFilter;
use crate::value::{ColumnType, SqlValue};

/// Filter by values of columns, with an optional start and a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    equal: Vec<(&'static str, Vec<SqlValue>)>,
    pub(super) after: Option<RowKey>,
    pub(super) limit: Option<u32>,
}

impl Filter {
    /// Returns a filter that matches every row.
    pub fn all() -> Filter {
        Filter::default()
    }

    /// Matches rows whose `column` has this value.
    pub fn is(self, column: &'static str, value: impl Into<SqlValue>) -> Filter {
        self.is_any_of(column, [value])
    }

    /// Matches rows whose `column` has one of these values.
    pub fn is_any_of(mut self, column: &'static str, values: impl IntoIterator<Item = impl Into<SqlValue>>) -> Filter {
        self.equal.push((column, values.into_iter().map(Into::into).collect()));
        self
    }

    /// Matches rows whose `column` is NULL.
    pub fn is_null(self, column: &'static str) -> Filter {
        self.is_any_of(column, [SqlValue::Text(None)])
    }

    /// Starts after this key, to read a long table in pages. No row is skipped when earlier rows are deleted between
    /// pages.
    pub fn after(mut self, key: RowKey) -> Filter {
        self.after = Some(key);
        self
    }

    /// Limits the number of rows.
    pub fn limit(mut self, rows: u32) -> Filter {
        self.limit = Some(rows);
        self
    }

    /// Returns the conditions for each column, and all values in their order.
    pub(super) fn equal(&self, table: &'static Table) -> Result<(Vec<ColumnFilter>, Vec<SqlValue>), LedgerError> {
        let mut equal = Vec::new();
        let mut all = Vec::new();
        for (name, values) in &self.equal {
            let null = **values == [SqlValue::Text(None)];
            let is_of = |column: &&'static crate::row::Column| values.iter().all(|value| value.kind() == column.kind);
            let found = table.column(name).filter(|column| null || is_of(column));
            // Sealing the same value twice gives different texts, so a sealed value cannot be searched for.
            let found = found.filter(|column| column.kind != ColumnType::Secret || null);
            let column = found.ok_or(LedgerError::NoColumn { table: table.name, column: name })?;
            let values = if null { &[] } else { values.as_slice() };
            equal.push(ColumnFilter { column, null, values: values.len() });
            all.extend(values.iter().cloned());
        }
        Ok((equal, all))
    }
}
