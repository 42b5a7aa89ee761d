//! What a table is, and how a Rust value is a row of it.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::key::Key;
use crate::value::{Kind, Value};

/// A table: its name and its columns in the order in which rows give their values.
#[derive(Debug)]
pub struct Table {
    /// As the database calls it, in lower case.
    pub name: &'static str,
    /// Its columns, but for `seq_id`, which is for whoever debugs.
    pub columns: &'static [Column],
}

/// A column.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Column {
    /// As the database calls it.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether it is part of the primary key.
    pub key: bool,
    /// The most characters it holds; for what is not text, 0.
    pub max_chars: usize,
    /// Whether the original has no such column.
    pub ours: bool,
}

/// No two tables have one name.
impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        self.name == other.name
    }
}

impl Eq for Table {}

impl Hash for Table {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Table {
    /// The columns of the primary key.
    pub fn keys(&self) -> impl Iterator<Item = &'static Column> {
        self.columns.iter().filter(|column| column.key)
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// A row of one of the tables.
pub trait Row: Sized + Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Its table.
    const TABLE: &'static Table;

    /// Its values, in the order of the table's columns.
    fn values(&self) -> Vec<Value>;

    /// The row of these values.
    fn from_values(values: Vec<Value>) -> Result<Self, Unreadable>;

    /// Its primary key.
    fn key(&self) -> Key {
        key_of(Self::TABLE, &self.values())
    }
}

/// The key among a row's values.
pub(crate) fn key_of(table: &Table, values: &[Value]) -> Key {
    let columns = table.columns.iter().zip(values).filter(|(column, _)| column.key);
    columns.map(|(_, value)| value.as_text().unwrap_or_default().to_string()).collect()
}

/// A row says what this program has no word for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not understand `{column}` of a row of `{table}`")]
pub struct Unreadable {
    /// Whose row.
    pub table: &'static str,
    /// Which column. Its value is not said: it may be a credential in the wrong place.
    pub column: &'static str,
}

/// Declares a row: the struct, its table, and the way from one to the other.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident = $table:literal {
        $($(#[$what:meta])* $field:ident: $type:ty = $column:literal $(max $max:literal)? $(key $key:tt)? $(ours $ours:tt)?,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$what])* pub $field: $type,)* }

        impl $crate::row::Row for $name {
            const TABLE: &'static $crate::row::Table = &$crate::row::Table {
                name: $table,
                columns: &[$($crate::row::Column {
                    name: $column,
                    kind: <$type as $crate::value::Field>::KIND,
                    key: false $(|| $key)?,
                    max_chars: 0 $(+ $max)?,
                    ours: false $(|| $ours)?,
                },)*],
            };

            fn values(&self) -> Vec<$crate::value::Value> {
                vec![$($crate::value::Field::to_value(&self.$field),)*]
            }

            fn from_values(values: Vec<$crate::value::Value>) -> Result<Self, $crate::row::Unreadable> {
                let mut values = values.into_iter();
                let mut next = |column| {
                    values.next().ok_or($crate::row::Unreadable { table: $table, column }).map(|value| (column, value))
                };
                Ok($name {$($field: {
                    let (column, value) = next($column)?;
                    <$type as $crate::value::Field>::from_value(value)
                        .ok_or($crate::row::Unreadable { table: $table, column })?
                },)*})
            }
        }
    )*

    /// Every table, each after those it refers to.
    pub const TABLES: &[&$crate::row::Table] = &[$(<$name as $crate::row::Row>::TABLE,)*];
    };
}

pub(crate) use rows;
