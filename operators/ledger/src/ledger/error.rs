//! What can go wrong between us and the database.

use std::sync::Arc;

use crate::row::Unreadable;
use crate::seal::SealError;

/// Why the ledger could not answer, or would not change.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The database could not be reached.
    #[error("could not connect to {to}")]
    Connect {
        /// Where it should be.
        to: String,
        /// What the driver says.
        #[source]
        source: sqlx::Error,
    },
    /// The database did not do what it was asked.
    #[error("could not {act}")]
    Query {
        /// What was asked.
        act: &'static str,
        /// What the driver says, to all who asked together.
        #[source]
        source: Arc<sqlx::Error>,
    },
    /// The database did not answer in time.
    #[error("could not {act} in time: the database did not answer for {deadline_s} seconds")]
    Late {
        /// What was asked.
        act: &'static str,
        /// How long it was waited for.
        deadline_s: u64,
    },
    /// A row is no longer as it was when the change was decided.
    #[error("could not change `{table}` {key}: it was changed since it was read")]
    Changed {
        /// The table.
        table: &'static str,
        /// The row.
        key: String,
    },
    /// More would be there than may be.
    #[error("could not change what counts for `{table}` {key}: there would be {there}, and {most} may be")]
    Full {
        /// The table.
        table: &'static str,
        /// The row.
        key: String,
        /// How many there would be.
        there: u64,
        /// How many there may be.
        most: u64,
    },
    /// Another row has what may be there once.
    #[error("could not write `{table}` {key}: another row has its key or a value that must be unique")]
    Taken {
        /// The table.
        table: &'static str,
        /// The row.
        key: String,
        /// What the driver says.
        #[source]
        source: Arc<sqlx::Error>,
    },
    /// A row that this one refers to is missing, or a row that is to go is still referred to.
    #[error("could not write `{table}` {key}: it refers to a row that is missing, or is itself referred to")]
    Dangling {
        /// The table.
        table: &'static str,
        /// The row.
        key: String,
        /// What the driver says.
        #[source]
        source: Arc<sqlx::Error>,
    },
    /// A value does not fit its column.
    #[error("could not write `{table}` {key}: `{column}` has {chars} characters and takes {max_chars}")]
    TooLong {
        /// The table.
        table: &'static str,
        /// The row.
        key: String,
        /// The column.
        column: &'static str,
        /// How long the value is.
        chars: usize,
        /// How long it may be.
        max_chars: usize,
    },
    /// A text has a character that PostgreSQL does not store.
    #[error("could not write `{table}` {key}: `{column}` has a NUL character")]
    Nul {
        /// The table.
        table: &'static str,
        /// The row.
        key: String,
        /// The column.
        column: &'static str,
    },
    /// A filter names a column that its table does not have, or a value of another kind.
    #[error("could not ask `{table}` for its `{column}`: there is no such column of that kind")]
    NoColumn {
        /// The table.
        table: &'static str,
        /// What was asked for.
        column: &'static str,
    },
    /// A row is not understood.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// A credential could not be sealed or opened.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// SQLSTATE of a transaction that met another one: serialization_failure, deadlock_detected.
const PASSING: [&str; 2] = ["40001", "40P01"];

/// SQLite's codes for a database that another connection writes to.
const BUSY: [&str; 3] = ["5", "261", "517"];

impl LedgerError {
    /// Whether to try the same again is all it takes: nothing was done, and nothing is wrong with what was asked.
    pub fn is_passing(&self) -> bool {
        self.refusal()
            .and_then(|error| error.code())
            .is_some_and(|code| PASSING.contains(&&*code) || BUSY.contains(&&*code))
    }

    /// Whether the database did not answer: nobody knows what became of what it was asked.
    pub(super) fn is_silence(&self) -> bool {
        match self {
            LedgerError::Late { .. } => true,
            LedgerError::Query { .. } => self.refusal().is_none(),
            _ => false,
        }
    }

    /// What the database itself said to a question: whatever it was asked is undone.
    fn refusal(&self) -> Option<&dyn sqlx::error::DatabaseError> {
        match self {
            LedgerError::Query { source, .. } => source.as_database_error(),
            _ => None,
        }
    }

    /// The same, for another of those who asked together.
    pub(super) fn shared(&self) -> LedgerError {
        match self {
            LedgerError::Late { act, deadline_s } => LedgerError::Late { act, deadline_s: *deadline_s },
            LedgerError::Query { act, source } => LedgerError::Query { act, source: Arc::clone(source) },
            // Nothing else is said to several.
            other => {
                let source = Arc::new(sqlx::Error::Protocol(other.to_string()));
                LedgerError::Query { act: "ask the database together with others", source }
            }
        }
    }

    /// Whether the decision was made on rows that are others now: read again and decide again.
    pub fn is_conflict(&self) -> bool {
        use LedgerError::{Changed, Dangling, Full, Taken};
        matches!(self, Changed { .. } | Full { .. } | Taken { .. } | Dangling { .. })
    }
}

/// What keeps people from their database most often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody answers there.
    Unreachable,
    /// TLS failed: none on the other side, or a certificate nobody vouches for.
    Tls,
    /// User or password are refused, or this user may not do what is needed.
    Denied,
    /// There is no database of that name.
    NoDatabase,
    /// A file cannot be opened or written.
    File,
}

impl LedgerError {
    /// Which of the usual troubles this is.
    pub fn trouble(&self) -> Option<Trouble> {
        match self {
            LedgerError::Connect { source, .. } => trouble_of(source),
            LedgerError::Query { source, .. } => trouble_of(source),
            LedgerError::Late { .. } => Some(Trouble::Unreachable),
            _ => None,
        }
    }
}

fn trouble_of(error: &sqlx::Error) -> Option<Trouble> {
    match error {
        sqlx::Error::Tls(_) => Some(Trouble::Tls),
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => Some(Trouble::Unreachable),
        sqlx::Error::Database(refusal) => match refusal.code().as_deref() {
            // Invalid authorisation, wrong password, lacking privilege.
            Some("28000" | "28P01" | "42501") => Some(Trouble::Denied),
            Some("3D000") => Some(Trouble::NoDatabase),
            // SQLite: cannot open, read-only.
            Some("14" | "8" | "10") => Some(Trouble::File),
            _ => None,
        },
        _ => None,
    }
}
