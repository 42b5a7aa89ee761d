//! SQL of changes and queries, in the dialect of either database. Values are always parameters.

pub mod bulk;

use crate::row::{Column, Table};
use crate::value::ColumnType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    Sqlite,
}

impl Dialect {
    /// Returns the placeholder of the `number`th value.
    pub fn parameter(self, number: usize, kind: ColumnType) -> String {
        match (self, kind) {
            // A TIMESTAMP takes no number, and sqlx's own time types would add another date library.
            (Dialect::Postgres, ColumnType::Timestamp) => {
                format!("(timestamp 'epoch' + ${number}::bigint * interval '1 microsecond')")
            }
            _ => format!("${number}"),
        }
    }

    /// Returns the expression that reads a column.
    pub fn selected(self, column: &Column) -> String {
        match self {
            Dialect::Postgres => selected(column),
            Dialect::Sqlite => column.name.to_string(),
        }
    }

    fn list(self, table: &Table) -> String {
        let columns: Vec<String> = table.columns.iter().map(|column| self.selected(column)).collect();
        columns.join(", ")
    }

    /// Inserts a row.
    pub fn insert(self, table: &Table) -> String {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let values: Vec<String> =
            table.columns.iter().enumerate().map(|(at, column)| self.parameter(at + 1, column.kind)).collect();
        format!("insert into {} ({}) values ({})", table.name, names.join(", "), values.join(", "))
    }

    /// Inserts a row unless its key exists.
    pub fn ensure(self, table: &Table) -> String {
        format!("{} on conflict ({}) do nothing", self.insert(table), key_names(table))
    }

    /// Inserts a row, or replaces the row of its key.
    pub fn put(self, table: &Table) -> String {
        format!("{} on conflict ({}) do {}", self.insert(table), key_names(table), on_conflict(table))
    }

    /// Updates all columns of the row of a key.
    pub fn update(self, table: &Table) -> String {
        let columns = || table.columns.iter().enumerate();
        let is = |(at, column): (usize, &Column)| format!("{} = {}", column.name, self.parameter(at + 1, column.kind));
        let sets: Vec<String> = columns().map(is).collect();
        let key: Vec<String> = columns().filter(|(_, column)| column.key).map(is).collect();
        format!("update {} set {} where {}", table.name, sets.join(", "), key.join(" and "))
    }

    /// Selects the row of a key and locks it until the transaction ends.
    pub fn lock(self, table: &Table, lock: Lock) -> String {
        let lock = match (self, lock) {
            (Dialect::Postgres, Lock::Update) => " for update",
            (Dialect::Postgres, Lock::Share) => " for share",
            // A SQLite transaction that writes locks the whole database from its beginning.
            (Dialect::Sqlite, _) => "",
        };
        format!("select {} from {} where {}{lock}", self.list(table), table.name, key_condition(table))
    }

    /// Deletes the row of a key.
    pub fn delete(self, table: &Table) -> String {
        format!("delete from {} where {}", table.name, key_condition(table))
    }

    /// Counts the rows that match the filters.
    pub fn count(self, table: &Table, equal: &[ColumnFilter]) -> String {
        let mut text = format!("select count(*) from {}", table.name);
        let conditions = self.conditions(equal).0;
        if !conditions.is_empty() {
            text.push_str(&format!(" where {}", conditions.join(" and ")));
        }
        text
    }

    /// Returns the conditions for columns, and the number of values they take.
    ///
    /// A condition for NULL takes no value. `=` is used instead of `is not distinct from` because only `=` uses an
    /// index.
    fn conditions(self, equal: &[ColumnFilter]) -> (Vec<String>, usize) {
        let mut number = 0;
        let mut placeholder = |kind: ColumnType| {
            number += 1;
            self.parameter(number, kind)
        };
        let mut conditions = Vec::new();
        for ColumnFilter { column, null, values } in equal {
            let placeholders: Vec<String> = (0..*values).map(|_| placeholder(column.kind)).collect();
            conditions.push(match (null, &*placeholders) {
                (true, _) => format!("{} is null", column.name),
                (false, [one]) => format!("{} = {one}", column.name),
                (false, []) => "1 = 0".to_string(),
                (false, some) => format!("{} in ({})", column.name, some.join(", ")),
            });
        }
        (conditions, number)
    }

    /// Selects the rows that match the filters, after a key if `after`, in the order of their keys.
    pub fn select(self, table: &Table, equal: &[ColumnFilter], after: bool, limit: Option<u32>) -> String {
        let (mut conditions, number) = self.conditions(equal);
        if after {
            let placeholders: Vec<String> =
                table.keys().enumerate().map(|(at, _)| format!("${}", number + at + 1)).collect();
            conditions.push(format!("({}) > ({})", key_names(table), placeholders.join(", ")));
        }
        let mut text = format!("select {} from {}", self.list(table), table.name);
        if !conditions.is_empty() {
            text.push_str(&format!(" where {}", conditions.join(" and ")));
        }
        text.push_str(&format!(" order by {}", key_names(table)));
        if let Some(limit) = limit {
            text.push_str(&format!(" limit {limit}"));
        }
        text
    }
}

/// Row lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// The row is about to be changed.
    Update,
    /// Other transactions may read the row but not change it.
    Share,
}

/// Condition that a column has one of `values` values, or is NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColumnFilter {
    pub column: &'static Column,
    pub null: bool,
    pub values: usize,
}

/// Returns PostgreSQL's expression that reads a column.
fn selected(column: &Column) -> String {
    let name = column.name;
    match column.kind {
        ColumnType::Timestamp => format!("(extract(epoch from {name}) * 1000000)::bigint"),
        ColumnType::Integer => format!("{name}::bigint"),
        // A column may become wider while a connection has the query prepared; the type of its result must stay the
        // same.
        ColumnType::Text | ColumnType::Secret => format!("{name}::text"),
        _ => name.to_string(),
    }
}

/// Returns the action for a key that exists.
fn on_conflict(table: &Table) -> String {
    let rest = table.columns.iter().filter(|column| !column.key);
    let sets: Vec<String> = rest.map(|column| format!("{0} = excluded.{0}", column.name)).collect();
    if sets.is_empty() { "nothing".to_string() } else { format!("update set {}", sets.join(", ")) }
}

fn key_condition(table: &Table) -> String {
    let keys = table.keys().enumerate();
    let equal: Vec<String> = keys.map(|(at, column)| format!("{} = ${}", column.name, at + 1)).collect();
    equal.join(" and ")
}

fn key_names(table: &Table) -> String {
    let names: Vec<&str> = table.keys().map(|column| column.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
