//! The words of SQL for a change or a question, in the dialect of either database. Values never stand in them.

pub mod each;

use crate::row::{Column, Table};
use crate::value::Kind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    Sqlite,
}

impl Dialect {
    /// Where the `number`th value goes.
    pub fn parameter(self, number: usize, kind: Kind) -> String {
        match (self, kind) {
            // A TIMESTAMP takes no number, and a driver's own time type would bring a second calendar in.
            (Dialect::Postgres, Kind::Moment) => {
                format!("(timestamp 'epoch' + ${number}::bigint * interval '1 microsecond')")
            }
            _ => format!("${number}"),
        }
    }

    /// A column as it is read.
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

    /// Adds a row of all its values.
    pub fn insert(self, table: &Table) -> String {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let values: Vec<String> =
            table.columns.iter().enumerate().map(|(at, column)| self.parameter(at + 1, column.kind)).collect();
        format!("insert into {} ({}) values ({})", table.name, names.join(", "), values.join(", "))
    }

    /// Adds a row unless one of its key is there.
    pub fn ensure(self, table: &Table) -> String {
        format!("{} on conflict ({}) do nothing", self.insert(table), key_names(table))
    }

    /// Adds a row, or replaces the one of its key.
    pub fn put(self, table: &Table) -> String {
        format!("{} on conflict ({}) do {}", self.insert(table), key_names(table), excluded(table))
    }

    /// Replaces the row of a key by all its values.
    pub fn update(self, table: &Table) -> String {
        let columns = || table.columns.iter().enumerate();
        let is = |(at, column): (usize, &Column)| format!("{} = {}", column.name, self.parameter(at + 1, column.kind));
        let sets: Vec<String> = columns().map(is).collect();
        let key: Vec<String> = columns().filter(|(_, column)| column.key).map(is).collect();
        format!("update {} set {} where {}", table.name, sets.join(", "), key.join(" and "))
    }

    /// The row of a key, which nobody changes until the transaction ends.
    pub fn lock(self, table: &Table, lock: Lock) -> String {
        let lock = match (self, lock) {
            (Dialect::Postgres, Lock::Update) => " for update",
            (Dialect::Postgres, Lock::Share) => " for share",
            // The whole database is ours from the beginning of a transaction that writes.
            (Dialect::Sqlite, _) => "",
        };
        format!("select {} from {} where {}{lock}", self.list(table), table.name, key_is(table))
    }

    /// Removes the row of a key.
    pub fn delete(self, table: &Table) -> String {
        format!("delete from {} where {}", table.name, key_is(table))
    }

    /// How many rows have given values in some columns.
    pub fn count(self, table: &Table, equal: &[Equal]) -> String {
        let mut text = format!("select count(*) from {}", table.name);
        let wheres = self.wheres(equal).0;
        if !wheres.is_empty() {
            text.push_str(&format!(" where {}", wheres.join(" and ")));
        }
        text
    }

    /// What columns must have, and how many values that takes.
    ///
    /// A column that should be NULL takes no value. `=` and not `is not distinct from`: only the former uses an index.
    fn wheres(self, equal: &[Equal]) -> (Vec<String>, usize) {
        let mut number = 0;
        let mut place = |kind: Kind| {
            number += 1;
            self.parameter(number, kind)
        };
        let mut wheres = Vec::new();
        for Equal { column, null, values } in equal {
            let places: Vec<String> = (0..*values).map(|_| place(column.kind)).collect();
            wheres.push(match (null, &*places) {
                (true, _) => format!("{} is null", column.name),
                (false, [one]) => format!("{} = {one}", column.name),
                (false, []) => "1 = 0".to_string(),
                (false, some) => format!("{} in ({})", column.name, some.join(", ")),
            });
        }
        (wheres, number)
    }

    /// Rows of which some columns have given values, after a key if `after`, in the order of their keys.
    pub fn select(self, table: &Table, equal: &[Equal], after: bool, limit: Option<u32>) -> String {
        let (mut wheres, number) = self.wheres(equal);
        if after {
            let places: Vec<String> = table.keys().enumerate().map(|(at, _)| format!("${}", number + at + 1)).collect();
            wheres.push(format!("({}) > ({})", key_names(table), places.join(", ")));
        }
        let mut text = format!("select {} from {}", self.list(table), table.name);
        if !wheres.is_empty() {
            text.push_str(&format!(" where {}", wheres.join(" and ")));
        }
        text.push_str(&format!(" order by {}", key_names(table)));
        if let Some(limit) = limit {
            text.push_str(&format!(" limit {limit}"));
        }
        text
    }
}

/// What may be done to a row while it is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// It is about to be changed.
    Update,
    /// Others may read it, nobody may change it.
    Share,
}

/// A column that has one of so many given values, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Equal {
    pub column: &'static Column,
    pub null: bool,
    pub values: usize,
}

/// A column as PostgreSQL is asked for it.
fn selected(column: &Column) -> String {
    let name = column.name;
    match column.kind {
        Kind::Moment => format!("(extract(epoch from {name}) * 1000000)::bigint"),
        Kind::Integer => format!("{name}::bigint"),
        // A column may become wider while a connection has the question prepared; its answer's type must not change with it.
        Kind::Text | Kind::Secret => format!("{name}::text"),
        _ => name.to_string(),
    }
}

/// What becomes of a row whose key is there.
fn excluded(table: &Table) -> String {
    let rest = table.columns.iter().filter(|column| !column.key);
    let sets: Vec<String> = rest.map(|column| format!("{0} = excluded.{0}", column.name)).collect();
    if sets.is_empty() { "nothing".to_string() } else { format!("update set {}", sets.join(", ")) }
}

fn key_is(table: &Table) -> String {
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
