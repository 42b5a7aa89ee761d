//! Stores of objects and rows.
//!
//! A cluster is watched per kind ([`crate::watch`]) and written by [`crate::applier`]. A database has one change log and
//! commits several rows atomically: it is a [`RowStore`].

mod commit;
mod memory;

use futures::future::BoxFuture;
use std::sync::Arc;

use crate::resource::{ListQuery, ObjectKey};
use crate::row::{Row, RowWrite};

pub use crate::topology::ClusterName as StoreName;
pub use commit::{PlannedRow, commit_rows, commit_then_write, finish_commit};
pub use memory::{MemoryRowStore, MemorySession};

/// Position in the change log of a store. Only the store knows its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreCursor(pub Arc<str>);

/// Error of a store, as a message for users.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// Database whose rows are objects of views.
pub trait RowStore: Send + Sync + 'static {
    /// Returns the name of the store.
    fn name(&self) -> &StoreName;

    /// Whether [`RowStore::commit`] can check a commit without writing.
    fn supports_dry_run(&self) -> bool {
        true
    }

    /// Begins a read transaction and reads the change log since a cursor. Everything that the session returns is exact
    /// at the cursor of its log.
    fn begin(&self, since: Option<StoreCursor>) -> BoxFuture<'_, Result<BegunSession, StoreError>>;

    /// Waits until the log may have new entries. A cancelled call loses no notification.
    fn changed(&self) -> BoxFuture<'_, ()>;

    /// Commits changes in one transaction, or checks them if `dry_run`.
    fn commit<'a>(&'a self, writes: &'a [RowWrite], dry_run: bool) -> BoxFuture<'a, CommitOutcome>;
}

/// Changes since a cursor, and the read transaction at their end.
pub type BegunSession = (RowLog, Box<dyn RowSession>);

/// Read transaction of a store. It ends when it is dropped.
pub trait RowSession: Send {
    /// Reads rows by key and runs queries.
    fn fetch(&mut self, fetch: RowFetch) -> BoxFuture<'_, Result<RowBatch, StoreError>>;
}

/// Changes since a cursor, up to the transaction's own snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLog {
    /// Keys of changed rows; repetitions are allowed. Empty after a resync.
    pub changed: Vec<ObjectKey>,
    /// Position of the transaction's snapshot.
    pub cursor: StoreCursor,
    /// Whether changes since the cursor may be missing: the log was trimmed, the database was replaced, or no cursor was
    /// given.
    pub is_resync: bool,
}

/// Rows and queries to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowFetch {
    /// Rows by key.
    pub rows: Vec<ObjectKey>,
    /// Queries by index.
    pub queries: Vec<ListQuery>,
}

/// Results of a [`RowFetch`], complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowBatch {
    /// Rows by key; `None` for an absent row.
    pub rows: Vec<(ObjectKey, Option<Row>)>,
    /// Results of the queries.
    pub results: Vec<(ListQuery, FetchedRows)>,
}

/// Result of a query by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchedRows {
    /// Selected rows.
    Rows(Vec<Row>),
    /// Whether there are fewer rows than the filter's `below`.
    Below(bool),
}

/// Result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// Everything was committed, or would be.
    Done,
    /// A precondition did not hold; nothing was written. Message for users.
    Conflict(String),
    /// Nothing was written, or it is unknown whether everything was: the response was lost. Message for users.
    Failed(String),
}
