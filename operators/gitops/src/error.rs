//! Errors of units.

use switchboard_sql::LedgerError;

use crate::deployment::status::StatusError;
use crate::environment::cluster_secret::ClusterSecretError;

/// Error of a decision.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The database failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Other writers changed the rows in every attempt.
    #[error("could not commit: other writers changed the rows in {attempts} consecutive attempts")]
    Contended {
        /// Number of attempts.
        attempts: u32,
    },
    /// An object does not match its kind.
    #[error("could not parse an object")]
    Shape(#[from] serde_json::Error),
    /// A time could not be parsed.
    #[error("could not parse the time of a request")]
    Time(#[from] jiff::Error),
    /// The status of an Application cannot be stored.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// The Secret of a cluster cannot be built.
    #[error(transparent)]
    Secret(#[from] ClusterSecretError),
    /// A test stops the process here.
    #[error("could not commit: the process is stopping")]
    Stopped,
}
