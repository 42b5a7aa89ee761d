//! Statements for any number of rows, for PostgreSQL alone: there a statement costs more than a row, in SQLite it does
//! not.
//!
//! Values are passed as one array per column, so the SQL is the same for any number of rows and is prepared once per
//! connection. Lookups are nested loops inside the server (`offset 0` prevents other plans) and use an index.

use super::{ColumnFilter, Dialect, Lock, key_names};
use crate::row::{Column, Table};
use crate::value::ColumnType;

/// Runs a query for many parameter lists: the rows, each preceded by the number of its parameter list.
pub fn select(table: &Table, equal: &[ColumnFilter], limit: Option<u32>) -> String {
    let limit = limit.map(|limit| format!(" limit {limit}")).unwrap_or_default();
    let columns = result_columns(table);
    let order = key_order(table);
    format!(
        "select q.place, {columns} from {}, lateral (select {} from {} where {} order by {}{limit} offset 0) as t({columns}) order by q.place, {order}",
        parameters(equal),
        Dialect::Postgres.list(table),
        table.name,
        conditions(equal),
        key_names(table),
    )
}

/// Counts the rows for each parameter list.
pub fn count(table: &Table, equal: &[ColumnFilter]) -> String {
    let (parameters, conditions) = (parameters(equal), conditions(equal));
    format!("select q.place, (select count(*) from {} where {conditions}) from {parameters}", table.name)
}

/// Selects the rows of many keys, in the order of the keys, and locks them until the transaction ends.
pub fn lock(table: &Table, lock: Lock) -> String {
    let keys: Vec<ColumnFilter> = table.keys().map(|column| ColumnFilter { column, null: false, values: 1 }).collect();
    let columns = result_columns(table);
    format!(
        "select q.place, {columns} from {}, lateral (select {} from {} where {} offset 0 {}) as t({columns})",
        parameters(&keys),
        Dialect::Postgres.list(table),
        table.name,
        conditions(&keys),
        match lock {
            Lock::Update => "for update",
            Lock::Share => "for share",
        },
    )
}

/// Inserts rows.
pub fn insert(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let parameter_value: Vec<String> = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| parameter_value(&format!("v.c{at}"), column.kind))
        .collect();
    format!(
        "insert into {} ({}) select {} from {}",
        table.name,
        names.join(", "),
        parameter_value.join(", "),
        rows(table)
    )
}

/// Inserts the rows whose keys do not exist.
pub fn ensure(table: &Table) -> String {
    format!("{} on conflict ({}) do nothing", insert(table), key_names(table))
}

/// Inserts rows, or replaces the rows of their keys.
pub fn put(table: &Table) -> String {
    format!("{} on conflict ({}) do {}", insert(table), key_names(table), super::on_conflict(table))
}

/// Updates the rows of these keys.
pub fn update(table: &Table) -> String {
    let columns = table.columns.iter().enumerate();
    let sets: Vec<String> = columns
        .map(|(at, column)| format!("{} = {}", column.name, parameter_value(&format!("v.c{at}"), column.kind)))
        .collect();
    format!("update {} as t set {} from {} where {}", table.name, sets.join(", "), rows(table), key_condition(table))
}

/// Deletes the rows of these keys.
pub fn delete(table: &Table) -> String {
    let arrays: Vec<String> = table.keys().enumerate().map(|(at, column)| array(at + 1, column.kind)).collect();
    let names: Vec<String> = table.keys().enumerate().map(|(at, _)| format!("c{at}")).collect();
    let is: Vec<String> = table.keys().enumerate().map(|(at, column)| format!("t.{} = v.c{at}", column.name)).collect();
    let from = format!("unnest({}) as v({})", arrays.join(", "), names.join(", "));
    format!("delete from {} as t using {from} where {}", table.name, is.join(" and "))
}

fn key_condition(table: &Table) -> String {
    let keys = table.columns.iter().enumerate().filter(|(_, column)| column.key);
    let is: Vec<String> = keys.map(|(at, column)| format!("t.{} = v.c{at}", column.name)).collect();
    is.join(" and ")
}

/// Returns the table expression with all columns of many rows.
fn rows(table: &Table) -> String {
    let columns = table.columns.iter().enumerate();
    let arrays: Vec<String> = columns.map(|(at, column)| array(at + 1, column.kind)).collect();
    let names: Vec<String> = (0..table.columns.len()).map(|at| format!("c{at}")).collect();
    format!("unnest({}) as v({})", arrays.join(", "), names.join(", "))
}

/// Returns the table expression with the numbered parameter lists.
fn parameters(equal: &[ColumnFilter]) -> String {
    let of: Vec<&ColumnFilter> = equal.iter().filter(|one| !one.null).collect();
    let arrays: Vec<String> = of.iter().enumerate().map(|(at, one)| array(at + 1, one.column.kind)).collect();
    let names: Vec<String> = (0..of.len()).map(|at| format!("c{at}")).collect();
    format!("unnest({}) with ordinality as q({}, place)", arrays.join(", "), names.join(", "))
}

fn conditions(equal: &[ColumnFilter]) -> String {
    let mut at = 0;
    let mut is = |one: &ColumnFilter| {
        if one.null {
            return format!("{} is null", one.column.name);
        }
        at += 1;
        format!("{} = {}", one.column.name, parameter_value(&format!("q.c{}", at - 1), one.column.kind))
    };
    let all: Vec<String> = equal.iter().map(&mut is).collect();
    all.join(" and ")
}

fn result_columns(table: &Table) -> String {
    let names: Vec<String> = (0..table.columns.len()).map(|at| format!("r{at}")).collect();
    names.join(", ")
}

fn key_order(table: &Table) -> String {
    let keys = table.columns.iter().enumerate().filter(|(_, column): &(usize, &Column)| column.key);
    let names: Vec<String> = keys.map(|(at, _)| format!("r{at}")).collect();
    names.join(", ")
}

fn array(number: usize, kind: ColumnType) -> String {
    let of = match kind {
        ColumnType::Text | ColumnType::Secret => "text",
        ColumnType::Integer | ColumnType::Timestamp => "bigint",
        ColumnType::Boolean => "boolean",
        ColumnType::Bytes => "bytea",
    };
    format!("${number}::{of}[]")
}

/// Returns the expression that converts a value of an array to the type of its column.
fn parameter_value(name: &str, kind: ColumnType) -> String {
    match kind {
        ColumnType::Timestamp => format!("(timestamp 'epoch' + {name} * interval '1 microsecond')"),
        _ => name.to_string(),
    }
}
