//! Primary keys.

use std::fmt;

/// Primary key of a row, column by column. All keys of the ledger are text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey(Vec<String>);

impl RowKey {
    /// Returns a key of several columns, in the order of the table.
    pub fn of<const N: usize>(parts: [&str; N]) -> RowKey {
        RowKey(parts.iter().map(ToString::to_string).collect())
    }

    /// Returns the values of the key, column by column.
    pub fn parts(&self) -> &[String] {
        &self.0
    }
}

impl FromIterator<String> for RowKey {
    fn from_iter<I: IntoIterator<Item = String>>(parts: I) -> RowKey {
        RowKey(parts.into_iter().collect())
    }
}

impl From<&str> for RowKey {
    fn from(id: &str) -> RowKey {
        RowKey::of([id])
    }
}

/// Format of the change log: the columns, separated by `/`.
impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}
