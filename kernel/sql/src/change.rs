//! Changes of rows, as data. Other crates decide on them.

use crate::key::RowKey;
use crate::ledger::Filter;
use crate::row::{Row, Table, key_of};
use crate::value::SqlValue;

/// Change of one row. A list of changes is applied in order and atomically.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowChange {
    /// Inserts a row; the commit fails if its key exists.
    Insert {
        /// Table of the row.
        table: &'static Table,
        /// Values of the row.
        values: Vec<SqlValue>,
    },
    /// Inserts a row unless its key exists.
    Ensure {
        /// Table of the row.
        table: &'static Table,
        /// Values of the row.
        values: Vec<SqlValue>,
    },
    /// Inserts a row, or replaces the row of its key.
    Put {
        /// Table of the row.
        table: &'static Table,
        /// Values of the row.
        values: Vec<SqlValue>,
    },
    /// Updates a row; the commit fails if the row has changed since it was read.
    Update {
        /// Table of the row.
        table: &'static Table,
        /// Values as they were read.
        was: Vec<SqlValue>,
        /// New values.
        values: Vec<SqlValue>,
    },
    /// Deletes a row. A missing row is no conflict: the same deletion may be decided twice.
    Delete {
        /// Table of the row.
        table: &'static Table,
        /// Key of the row.
        key: RowKey,
    },
    /// Writes nothing; the commit fails if the row has changed since it was read.
    RequireUnchanged {
        /// Table of the row.
        table: &'static Table,
        /// Values as they were read.
        was: Vec<SqlValue>,
    },
    /// Writes nothing; the commit fails if the row has changed since it was read, or if a count exceeds its limit. The
    /// counts include earlier changes of the same list. Two commits that check limits of the same row are serialized,
    /// so the later one counts the rows of the earlier one.
    RequireLimits {
        /// Table of the row.
        table: &'static Table,
        /// Values as they were read.
        was: Vec<SqlValue>,
        /// Limits that must hold.
        limits: Vec<RowLimit>,
    },
}

/// Maximum for the total number of some rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLimit {
    /// Rows that count.
    pub rows: Vec<(&'static Table, Filter)>,
    /// Maximum number of rows.
    pub max_rows: u64,
}

impl RowLimit {
    /// Returns a limit that counts no rows yet.
    pub fn at_most(most: u64) -> RowLimit {
        RowLimit { rows: Vec::new(), max_rows: most }
    }

    /// Adds rows to the count.
    #[must_use]
    pub fn counting<R: Row>(mut self, rows: Filter) -> RowLimit {
        self.rows.push((R::TABLE, rows));
        self
    }
}

impl RowChange {
    /// Inserts a row; the commit fails if its key exists.
    pub fn insert<R: Row>(row: &R) -> RowChange {
        RowChange::Insert { table: R::TABLE, values: row.values() }
    }

    /// Inserts a row unless its key exists.
    pub fn ensure<R: Row>(row: &R) -> RowChange {
        RowChange::Ensure { table: R::TABLE, values: row.values() }
    }

    /// Inserts a row, or replaces the row of its key.
    pub fn put<R: Row>(row: &R) -> RowChange {
        RowChange::Put { table: R::TABLE, values: row.values() }
    }

    /// Updates a row; the commit fails if the row is no longer `was`. Both have the same key.
    pub fn update<R: Row>(was: &R, row: &R) -> RowChange {
        RowChange::Update { table: R::TABLE, was: was.values(), values: row.values() }
    }

    /// Deletes a row.
    pub fn delete<R: Row>(row: &R) -> RowChange {
        RowChange::Delete { table: R::TABLE, key: row.key() }
    }

    /// Fails the commit if the row is no longer `was`.
    pub fn require_unchanged<R: Row>(was: &R) -> RowChange {
        RowChange::RequireUnchanged { table: R::TABLE, was: was.values() }
    }

    /// Fails the commit if the row is no longer `was`, or if a count exceeds its limit.
    pub fn require_limits<R: Row>(was: &R, bounds: Vec<RowLimit>) -> RowChange {
        RowChange::RequireLimits { table: R::TABLE, was: was.values(), limits: bounds }
    }

    /// Returns the table of the row.
    pub fn table(&self) -> &'static Table {
        match self {
            RowChange::Insert { table, .. }
            | RowChange::Ensure { table, .. }
            | RowChange::Put { table, .. }
            | RowChange::Update { table, .. }
            | RowChange::Delete { table, .. }
            | RowChange::RequireUnchanged { table, .. }
            | RowChange::RequireLimits { table, .. } => table,
        }
    }

    /// Returns the key of the row.
    pub fn key(&self) -> RowKey {
        match self {
            RowChange::Delete { key, .. } => key.clone(),
            RowChange::Insert { table, values }
            | RowChange::Ensure { table, values }
            | RowChange::Put { table, values }
            | RowChange::Update { table, values, .. }
            | RowChange::RequireUnchanged { table, was: values }
            | RowChange::RequireLimits { table, was: values, .. } => key_of(table, values),
        }
    }
}
