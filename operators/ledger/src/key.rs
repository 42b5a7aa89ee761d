//! What tells a row from all others of its table.

use std::fmt;

/// The primary key of a row, column by column. All keys of the ledger are texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Vec<String>);

impl Key {
    /// A key of several columns, in the order of the table.
    pub fn of<const N: usize>(parts: [&str; N]) -> Key {
        Key(parts.iter().map(ToString::to_string).collect())
    }

    /// Column by column.
    pub fn parts(&self) -> &[String] {
        &self.0
    }
}

impl FromIterator<String> for Key {
    fn from_iter<I: IntoIterator<Item = String>>(parts: I) -> Key {
        Key(parts.into_iter().collect())
    }
}

impl From<&str> for Key {
    fn from(id: &str) -> Key {
        Key::of([id])
    }
}

/// As it stands in the log of changes: the columns, with `/` between them.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}
