//! What is asked of one table.

use super::{Filter, LedgerError};
use crate::pool::Statement;
use crate::row::Table;
use crate::statement::{Dialect, Equal, each};
use crate::value::{Kind, Value};

/// A question: which rows of a table, or how many.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Question {
    shape: Shape,
    pub values: Vec<Value>,
}

/// A question without its values. Those of one shape are asked with the same words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    table: &'static Table,
    equal: Vec<Equal>,
    after: bool,
    limit: Option<u32>,
    is_count: bool,
}

impl Question {
    /// Which rows a filter lets through.
    pub fn rows(table: &'static Table, filter: &Filter) -> Result<Question, LedgerError> {
        let (equal, mut values) = filter.equal(table)?;
        values.extend(filter.after.iter().flat_map(|key| key.parts()).map(|part| Value::from(part.as_str())));
        let shape = Shape { table, equal, after: filter.after.is_some(), limit: filter.limit, is_count: false };
        Ok(Question { shape, values })
    }

    /// How many rows it lets through.
    pub fn count(table: &'static Table, filter: &Filter) -> Result<Question, LedgerError> {
        let (equal, values) = filter.equal(table)?;
        Ok(Question { shape: Shape { table, equal, after: false, limit: None, is_count: true }, values })
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Shape {
    /// Whether several of them can be asked at once: each has one value for each column.
    pub fn is_for_many(&self) -> bool {
        let is_single = |one: &Equal| one.null || one.values == 1;
        !self.after && self.equal.iter().all(is_single) && self.equal.iter().any(|one| !one.null)
    }

    /// The kinds of its values, where it is for many.
    pub fn asked(&self) -> Vec<Kind> {
        self.equal.iter().filter(|one| !one.null).map(|one| one.column.kind).collect()
    }

    /// The kinds of what is answered.
    pub fn answered(&self) -> Vec<Kind> {
        if self.is_count { vec![Kind::Integer] } else { kinds(self.table) }
    }

    pub fn statement(&self, dialect: Dialect) -> Statement {
        let Shape { table, equal, after, limit, is_count } = self;
        match (is_count, self.is_for_many()) {
            (true, true) => Statement { one: dialect.count(table, equal), each: each::count(table, equal) },
            (true, false) => Statement { one: dialect.count(table, equal), each: String::new() },
            (false, true) => {
                let one = dialect.select(table, equal, *after, *limit);
                Statement { one, each: each::select(table, equal, *limit) }
            }
            (false, false) => Statement { one: dialect.select(table, equal, *after, *limit), each: String::new() },
        }
    }
}

/// The kinds of a table's columns.
pub(super) fn kinds(table: &Table) -> Vec<Kind> {
    table.columns.iter().map(|column| column.kind).collect()
}
