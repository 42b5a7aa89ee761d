//! Tables, and the mapping between their rows and Rust structs.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::key::RowKey;
use crate::value::{ColumnType, SqlValue};

/// Table with its columns, in the order of a row's values.
#[derive(Debug)]
pub struct Table {
    /// Name in the database, in lower case.
    pub name: &'static str,
    /// Columns, without `seq_id`, which only serves debugging.
    pub columns: &'static [Column],
}

/// Column of a table.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Column {
    /// Name in the database.
    pub name: &'static str,
    /// Type of the values.
    pub kind: ColumnType,
    /// Whether the column is part of the primary key.
    pub key: bool,
    /// Maximum length of a text in characters; 0 for other types.
    pub max_chars: usize,
    /// Whether a longer text is cut at the end instead of refused.
    pub truncated: bool,
    /// Version of the migration step that adds the column.
    pub since: i64,
}

/// Table names are unique.
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
    /// Returns the columns of the primary key.
    pub fn keys(&self) -> impl Iterator<Item = &'static Column> {
        self.columns.iter().filter(|column| column.key)
    }

    /// Returns the column of this name.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// Row of a table.
pub trait Row: Sized + Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Table of the row.
    const TABLE: &'static Table;

    /// Returns the values, in the order of the table's columns.
    fn values(&self) -> Vec<SqlValue>;

    /// Builds a row from its values.
    fn from_values(values: Vec<SqlValue>) -> Result<Self, UnreadableColumn>;

    /// Returns the primary key.
    fn key(&self) -> RowKey {
        key_of(Self::TABLE, &self.values())
    }
}

/// Returns the primary key among a row's values.
pub(crate) fn key_of(table: &Table, values: &[SqlValue]) -> RowKey {
    let columns = table.columns.iter().zip(values).filter(|(column, _)| column.key);
    columns.map(|(_, value)| value.as_text().unwrap_or_default().to_string()).collect()
}

/// Error for a value that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not parse `{column}` of a row of `{table}`")]
pub struct UnreadableColumn {
    /// Table of the row.
    pub table: &'static str,
    /// Column of the value. The value is not repeated: it may be a misplaced credential.
    pub column: &'static str,
}

/// Declares rows: their structs, tables, and the conversion between both. `since` is the version of the migration step
/// that creates the tables, or that adds a column.
#[macro_export]
macro_rules! rows {
    (since $since:literal; $($(#[$doc:meta])* $name:ident = $table:literal {
        $($(#[$what:meta])* $field:ident: $type:ty = $column:literal $(max $max:literal)? $(key $key:tt)? $(truncated $truncated:tt)? $(since $column_since:literal)?,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$what])* pub $field: $type,)* }

        impl $crate::row::Row for $name {
            const TABLE: &'static $crate::row::Table = &$crate::row::Table {
                name: $table,
                columns: &[$($crate::row::Column {
                    name: $column,
                    kind: <$type as $crate::value::ColumnField>::KIND,
                    key: false $(|| $key)?,
                    max_chars: 0 $(+ $max)?,
                    truncated: false $(|| $truncated)?,
                    since: [$($column_since,)? $since][0],
                },)*],
            };

            fn values(&self) -> Vec<$crate::value::SqlValue> {
                vec![$($crate::value::ColumnField::to_value(&self.$field),)*]
            }

            fn from_values(values: Vec<$crate::value::SqlValue>) -> Result<Self, $crate::row::UnreadableColumn> {
                let mut values = values.into_iter();
                let mut next = |column| {
                    values.next().ok_or($crate::row::UnreadableColumn { table: $table, column }).map(|value| (column, value))
                };
                Ok($name {$($field: {
                    let (column, value) = next($column)?;
                    <$type as $crate::value::ColumnField>::from_value(value)
                        .ok_or($crate::row::UnreadableColumn { table: $table, column })?
                },)*})
            }
        }
    )*

    /// Every table, each after the tables it refers to.
    pub const TABLES: &[&$crate::row::Table] = &[$(<$name as $crate::row::Row>::TABLE,)*];
    };
}
