//! Errors of the ledger.

use std::sync::Arc;

use crate::row::UnreadableColumn;
use crate::seal::SealError;

/// Error of a query or a commit.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The connection failed.
    #[error("could not connect to {to}")]
    Connect {
        /// Description of the database.
        to: String,
        /// Error of sqlx.
        #[source]
        source: sqlx::Error,
    },
    /// A query failed.
    #[error("could not {act}")]
    Query {
        /// Failed action, as a verb with its object.
        act: &'static str,
        /// Error of sqlx, shared by the callers of one transaction.
        #[source]
        source: Arc<sqlx::Error>,
    },
    /// The database did not respond within the deadline.
    #[error("could not {act}: the database did not respond within {deadline_s} seconds")]
    Timeout {
        /// Failed action, as a verb with its object.
        act: &'static str,
        /// Deadline in seconds.
        deadline_s: u64,
    },
    /// A row has changed since it was read.
    #[error("could not change `{table}` {key}: another writer has changed the row")]
    Changed {
        /// Table of the row.
        table: &'static str,
        /// Key of the row.
        key: String,
    },
    /// A count exceeds its limit.
    #[error("could not add rows for `{table}` {key}: {count} rows would exceed the limit of {max_rows}")]
    LimitExceeded {
        /// Table of the row.
        table: &'static str,
        /// Key of the row.
        key: String,
        /// Count that the changes would lead to.
        count: u64,
        /// Limit of the count.
        max_rows: u64,
    },
    /// Another row has the same key or the same unique value.
    #[error("could not write `{table}` {key}: another row has the same key or unique value")]
    Duplicate {
        /// Table of the row.
        table: &'static str,
        /// Key of the row.
        key: String,
        /// Error of sqlx.
        #[source]
        source: Arc<sqlx::Error>,
    },
    /// A row refers to a missing row, or the deleted row is still referred to.
    #[error("could not write `{table}` {key}: the row refers to a missing row, or another row refers to it")]
    Dangling {
        /// Table of the row.
        table: &'static str,
        /// Key of the row.
        key: String,
        /// Error of sqlx.
        #[source]
        source: Arc<sqlx::Error>,
    },
    /// A value is too long for its column.
    #[error("could not write `{table}` {key}: `{column}` has {chars} characters, and the maximum is {max_chars}")]
    TooLong {
        /// Table of the row.
        table: &'static str,
        /// Key of the row.
        key: String,
        /// Column of the value.
        column: &'static str,
        /// Length of the value in characters.
        chars: usize,
        /// Maximum length in characters.
        max_chars: usize,
    },
    /// A text contains a NUL character, which PostgreSQL does not store.
    #[error("could not write `{table}` {key}: `{column}` contains a NUL character")]
    Nul {
        /// Table of the row.
        table: &'static str,
        /// Key of the row.
        key: String,
        /// Column of the value.
        column: &'static str,
    },
    /// A filter names a column that its table lacks, or a value of another type.
    #[error("could not query `{table}` by `{column}`: no column of that name and type")]
    NoColumn {
        /// Table of the row.
        table: &'static str,
        /// Column of the filter.
        column: &'static str,
    },
    /// A row has a value that this version does not know.
    #[error(transparent)]
    Unreadable(#[from] UnreadableColumn),
    /// A credential could not be sealed or opened.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// SQLSTATE codes of transactions that conflict with others: serialization_failure, deadlock_detected.
const TRANSIENT_SQLSTATES: [&str; 2] = ["40001", "40P01"];

/// SQLite codes for a database that another connection writes to.
const SQLITE_BUSY_CODES: [&str; 3] = ["5", "261", "517"];

impl LedgerError {
    /// Whether a retry may succeed: the transaction was rolled back because of concurrent ones.
    pub fn is_transient(&self) -> bool {
        self.database_error()
            .and_then(|error| error.code())
            .is_some_and(|code| TRANSIENT_SQLSTATES.contains(&&*code) || SQLITE_BUSY_CODES.contains(&&*code))
    }

    /// Whether the database did not respond, so that the outcome of the transaction is unknown.
    pub(super) fn is_outcome_unknown(&self) -> bool {
        match self {
            LedgerError::Timeout { .. } => true,
            LedgerError::Query { .. } => self.database_error().is_none(),
            _ => false,
        }
    }

    /// Returns the database's own error for a query. The transaction was rolled back then.
    fn database_error(&self) -> Option<&dyn sqlx::error::DatabaseError> {
        match self {
            LedgerError::Query { source, .. } => source.as_database_error(),
            _ => None,
        }
    }

    /// Returns a copy of the error for another caller of the same transaction.
    pub(super) fn to_shared(&self) -> LedgerError {
        match self {
            LedgerError::Timeout { act, deadline_s } => LedgerError::Timeout { act, deadline_s: *deadline_s },
            LedgerError::Query { act, source } => LedgerError::Query { act, source: Arc::clone(source) },
            // Callers of one transaction share no other errors.
            other => {
                let source = Arc::new(sqlx::Error::Protocol(other.to_string()));
                LedgerError::Query { act: "send a shared query", source }
            }
        }
    }

    /// Whether rows have changed since the decision: read and decide again.
    pub fn is_conflict(&self) -> bool {
        use LedgerError::{Changed, Dangling, Duplicate, LimitExceeded};
        matches!(self, Changed { .. } | LimitExceeded { .. } | Duplicate { .. } | Dangling { .. })
    }
}

/// Frequent reason for which a database cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionProblem {
    /// Nothing listens at the address.
    Unreachable,
    /// TLS failed: the server has none, or its certificate is not trusted.
    Tls,
    /// The user or the password was rejected, or the user lacks a privilege.
    Denied,
    /// The database does not exist.
    NoDatabase,
    /// The file cannot be opened or written.
    File,
}

impl LedgerError {
    /// Returns the reason if it is a frequent one.
    pub fn connection_problem(&self) -> Option<ConnectionProblem> {
        match self {
            LedgerError::Connect { source, .. } => connection_problem_of(source),
            LedgerError::Query { source, .. } => connection_problem_of(source),
            LedgerError::Timeout { .. } => Some(ConnectionProblem::Unreachable),
            _ => None,
        }
    }
}

fn connection_problem_of(error: &sqlx::Error) -> Option<ConnectionProblem> {
    match error {
        sqlx::Error::Tls(_) => Some(ConnectionProblem::Tls),
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => Some(ConnectionProblem::Unreachable),
        sqlx::Error::Database(database_error) => match database_error.code().as_deref() {
            // Invalid authorization, wrong password, insufficient privilege.
            Some("28000" | "28P01" | "42501") => Some(ConnectionProblem::Denied),
            Some("3D000") => Some(ConnectionProblem::NoDatabase),
            // SQLite: cannot open, read-only.
            Some("14" | "8" | "10") => Some(ConnectionProblem::File),
            _ => None,
        },
        _ => None,
    }
}
