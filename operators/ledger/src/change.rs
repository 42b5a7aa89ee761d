//! Changes as data: what is to become of which row, decided by somebody else.

use crate::key::Key;
use crate::ledger::Filter;
use crate::row::{Row, Table, key_of};
use crate::value::Value;

/// One change of one row. A list of them is made in its order, whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A row that was not there.
    Insert {
        /// Of this table.
        table: &'static Table,
        /// With these values.
        values: Vec<Value>,
    },
    /// A row, unless one of its key is there already.
    Ensure {
        /// Of this table.
        table: &'static Table,
        /// With these values.
        values: Vec<Value>,
    },
    /// A row, in place of the one of its key if there is one.
    Put {
        /// Of this table.
        table: &'static Table,
        /// With these values.
        values: Vec<Value>,
    },
    /// A row that must still be as it was when this was decided.
    Update {
        /// Of this table.
        table: &'static Table,
        /// As it was read.
        was: Vec<Value>,
        /// As it should be.
        values: Vec<Value>,
    },
    /// A row that must go. That it has gone already is no conflict: the same deletion may be decided twice.
    Delete {
        /// Of this table.
        table: &'static Table,
        /// Of this key.
        key: Key,
    },
    /// Nothing is written, but all is refused unless this row still is as it was read.
    Hold {
        /// Of this table.
        table: &'static Table,
        /// As it was read.
        was: Vec<Value>,
    },
    /// Nothing is written, but all is refused unless this row still is as it was read and nothing is counted above its bound, with what
    /// was changed before it in the same list. No two that ask this of the same row are made at once: the later one counts what the
    /// earlier one has written.
    Room {
        /// Of this table.
        table: &'static Table,
        /// As it was read.
        was: Vec<Value>,
        /// What may be there.
        bounds: Vec<Bound>,
    },
}

/// So many rows may be there, of all these together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Which rows are counted.
    pub rows: Vec<(&'static Table, Filter)>,
    /// How many there may be.
    pub most: u64,
}

impl Bound {
    /// So many, of none yet.
    pub fn of(most: u64) -> Bound {
        Bound { rows: Vec::new(), most }
    }

    /// Counts these as well.
    #[must_use]
    pub fn counting<R: Row>(mut self, rows: Filter) -> Bound {
        self.rows.push((R::TABLE, rows));
        self
    }
}

impl Change {
    /// Adds a row; all is refused if one of its key is there.
    pub fn insert<R: Row>(row: &R) -> Change {
        Change::Insert { table: R::TABLE, values: row.values() }
    }

    /// Adds a row unless one of its key is there.
    pub fn ensure<R: Row>(row: &R) -> Change {
        Change::Ensure { table: R::TABLE, values: row.values() }
    }

    /// Adds a row, or replaces the one of its key.
    pub fn put<R: Row>(row: &R) -> Change {
        Change::Put { table: R::TABLE, values: row.values() }
    }

    /// Replaces a row; all is refused if it is no longer `was`. Both have the same key.
    pub fn update<R: Row>(was: &R, row: &R) -> Change {
        Change::Update { table: R::TABLE, was: was.values(), values: row.values() }
    }

    /// Removes a row.
    pub fn delete<R: Row>(row: &R) -> Change {
        Change::Delete { table: R::TABLE, key: row.key() }
    }

    /// Refuses all if the row is no longer `was`.
    pub fn hold<R: Row>(was: &R) -> Change {
        Change::Hold { table: R::TABLE, was: was.values() }
    }

    /// Refuses all if the row is no longer `was`, or more is there than these allow.
    pub fn room<R: Row>(was: &R, bounds: Vec<Bound>) -> Change {
        Change::Room { table: R::TABLE, was: was.values(), bounds }
    }

    /// The table it is about.
    pub fn table(&self) -> &'static Table {
        match self {
            Change::Insert { table, .. }
            | Change::Ensure { table, .. }
            | Change::Put { table, .. }
            | Change::Update { table, .. }
            | Change::Delete { table, .. }
            | Change::Hold { table, .. }
            | Change::Room { table, .. } => table,
        }
    }

    /// The row it is about.
    pub fn key(&self) -> Key {
        match self {
            Change::Delete { key, .. } => key.clone(),
            Change::Insert { table, values }
            | Change::Ensure { table, values }
            | Change::Put { table, values }
            | Change::Update { table, values, .. }
            | Change::Hold { table, was: values }
            | Change::Room { table, was: values, .. } => key_of(table, values),
        }
    }
}
