//! Which rows are meant.

use super::LedgerError;
use crate::key::Key;
use crate::row::Table;
use crate::statement::Equal;
use crate::value::{Kind, Value};

/// Which rows are asked for: those whose columns have these values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    equal: Vec<(&'static str, Vec<Value>)>,
    pub(super) after: Option<Key>,
    pub(super) limit: Option<u32>,
}

impl Filter {
    /// Every row.
    pub fn all() -> Filter {
        Filter::default()
    }

    /// Only rows whose `column` is this.
    pub fn is(self, column: &'static str, value: impl Into<Value>) -> Filter {
        self.any(column, [value])
    }

    /// Only rows whose `column` is one of these.
    pub fn any(mut self, column: &'static str, values: impl IntoIterator<Item = impl Into<Value>>) -> Filter {
        self.equal.push((column, values.into_iter().map(Into::into).collect()));
        self
    }

    /// Only rows whose `column` is NULL.
    pub fn is_null(self, column: &'static str) -> Filter {
        self.any(column, [Value::Text(None)])
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

    /// What is said of columns, and the values that are asked for, in their order.
    pub(super) fn equal(&self, table: &'static Table) -> Result<(Vec<Equal>, Vec<Value>), LedgerError> {
        let mut equal = Vec::new();
        let mut all = Vec::new();
        for (name, values) in &self.equal {
            let null = **values == [Value::Text(None)];
            let is_of = |column: &&'static crate::row::Column| values.iter().all(|value| value.kind() == column.kind);
            let found = table.column(name).filter(|column| null || is_of(column));
            // A sealed value is never the same twice: to ask for one finds nothing.
            let found = found.filter(|column| column.kind != Kind::Secret || null);
            let column = found.ok_or(LedgerError::NoColumn { table: table.name, column: name })?;
            let values = if null { &[] } else { values.as_slice() };
            equal.push(Equal { column, null, values: values.len() });
            all.extend(values.iter().cloned());
        }
        Ok((equal, all))
    }
}
