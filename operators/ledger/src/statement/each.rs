//! Statements that serve any number of rows at once. PostgreSQL alone: a statement costs it more than a row does, SQLite not.
//!
//! Values come as one array for each column, so that the words are the same however many rows there are, and are read once for each
//! connection. Whatever is looked up is looked up row by row inside the server (`offset 0` keeps it so), through an index.

use super::{Dialect, Equal, Lock, key_names};
use crate::row::{Column, Table};
use crate::value::Kind;

/// A question that many ask at once, each with values of its own: rows, with the number of the one who asked before them.
pub fn select(table: &Table, equal: &[Equal], limit: Option<u32>) -> String {
    let limit = limit.map(|limit| format!(" limit {limit}")).unwrap_or_default();
    let columns = named(table);
    let order = order(table);
    format!(
        "select q.place, {columns} from {}, lateral (select {} from {} where {} order by {}{limit} offset 0) as t({columns}) order by q.place, {order}",
        asked(equal),
        Dialect::Postgres.list(table),
        table.name,
        wheres(equal),
        key_names(table),
    )
}

/// How many rows each of many asks for.
pub fn count(table: &Table, equal: &[Equal]) -> String {
    let (asked, wheres) = (asked(equal), wheres(equal));
    format!("select q.place, (select count(*) from {} where {wheres}) from {asked}", table.name)
}

/// Rows of many keys, in the order of the keys, which nobody changes until the transaction ends.
pub fn lock(table: &Table, lock: Lock) -> String {
    let keys: Vec<Equal> = table.keys().map(|column| Equal { column, null: false, values: 1 }).collect();
    let columns = named(table);
    format!(
        "select q.place, {columns} from {}, lateral (select {} from {} where {} offset 0 {}) as t({columns})",
        asked(&keys),
        Dialect::Postgres.list(table),
        table.name,
        wheres(&keys),
        match lock {
            Lock::Update => "for update",
            Lock::Share => "for share",
        },
    )
}

/// Adds rows.
pub fn insert(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let given: Vec<String> =
        table.columns.iter().enumerate().map(|(at, column)| given(&format!("v.c{at}"), column.kind)).collect();
    format!("insert into {} ({}) select {} from {}", table.name, names.join(", "), given.join(", "), rows(table))
}

/// Adds those of which none of their key is there.
pub fn ensure(table: &Table) -> String {
    format!("{} on conflict ({}) do nothing", insert(table), key_names(table))
}

/// Adds rows, or replaces those of their keys.
pub fn put(table: &Table) -> String {
    format!("{} on conflict ({}) do {}", insert(table), key_names(table), super::excluded(table))
}

/// Replaces rows of these keys.
pub fn update(table: &Table) -> String {
    let columns = table.columns.iter().enumerate();
    let sets: Vec<String> =
        columns.map(|(at, column)| format!("{} = {}", column.name, given(&format!("v.c{at}"), column.kind))).collect();
    format!("update {} as t set {} from {} where {}", table.name, sets.join(", "), rows(table), is_row(table))
}

/// Removes rows of these keys.
pub fn delete(table: &Table) -> String {
    let arrays: Vec<String> = table.keys().enumerate().map(|(at, column)| array(at + 1, column.kind)).collect();
    let names: Vec<String> = table.keys().enumerate().map(|(at, _)| format!("c{at}")).collect();
    let is: Vec<String> = table.keys().enumerate().map(|(at, column)| format!("t.{} = v.c{at}", column.name)).collect();
    let from = format!("unnest({}) as v({})", arrays.join(", "), names.join(", "));
    format!("delete from {} as t using {from} where {}", table.name, is.join(" and "))
}

fn is_row(table: &Table) -> String {
    let keys = table.columns.iter().enumerate().filter(|(_, column)| column.key);
    let is: Vec<String> = keys.map(|(at, column)| format!("t.{} = v.c{at}", column.name)).collect();
    is.join(" and ")
}

/// All columns of many rows.
fn rows(table: &Table) -> String {
    let columns = table.columns.iter().enumerate();
    let arrays: Vec<String> = columns.map(|(at, column)| array(at + 1, column.kind)).collect();
    let names: Vec<String> = (0..table.columns.len()).map(|at| format!("c{at}")).collect();
    format!("unnest({}) as v({})", arrays.join(", "), names.join(", "))
}

/// What many ask with, numbered.
fn asked(equal: &[Equal]) -> String {
    let of: Vec<&Equal> = equal.iter().filter(|one| !one.null).collect();
    let arrays: Vec<String> = of.iter().enumerate().map(|(at, one)| array(at + 1, one.column.kind)).collect();
    let names: Vec<String> = (0..of.len()).map(|at| format!("c{at}")).collect();
    format!("unnest({}) with ordinality as q({}, place)", arrays.join(", "), names.join(", "))
}

fn wheres(equal: &[Equal]) -> String {
    let mut at = 0;
    let mut is = |one: &Equal| {
        if one.null {
            return format!("{} is null", one.column.name);
        }
        at += 1;
        format!("{} = {}", one.column.name, given(&format!("q.c{}", at - 1), one.column.kind))
    };
    let all: Vec<String> = equal.iter().map(&mut is).collect();
    all.join(" and ")
}

fn named(table: &Table) -> String {
    let names: Vec<String> = (0..table.columns.len()).map(|at| format!("r{at}")).collect();
    names.join(", ")
}

fn order(table: &Table) -> String {
    let keys = table.columns.iter().enumerate().filter(|(_, column): &(usize, &Column)| column.key);
    let names: Vec<String> = keys.map(|(at, _)| format!("r{at}")).collect();
    names.join(", ")
}

fn array(number: usize, kind: Kind) -> String {
    let of = match kind {
        Kind::Text | Kind::Secret => "text",
        Kind::Integer | Kind::Moment => "bigint",
        Kind::Boolean => "boolean",
        Kind::Bytes => "bytea",
    };
    format!("${number}::{of}[]")
}

/// A value of an array, as its column takes it.
fn given(name: &str, kind: Kind) -> String {
    match kind {
        Kind::Moment => format!("(timestamp 'epoch' + {name} * interval '1 microsecond')"),
        _ => name.to_string(),
    }
}
