//! What can go wrong between a unit and its rows.

use std::error::Error;

use switchboard_gitops::argo::cluster_secret::SecretError;
use switchboard_gitops::argo::status::StatusError;
use switchboard_ledger::LedgerError;

/// Why a unit could not decide.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The database did not do what it should.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Rows changed faster than anything could be decided about them.
    #[error("could not commit: rows were changed by others {attempts} times in a row")]
    Contended {
        /// How often it was tried.
        attempts: u32,
    },
    /// An object is not what its kind says.
    #[error("could not understand an object")]
    Shape(#[from] serde_json::Error),
    /// No time can be read from a text.
    #[error("could not understand the time of a question")]
    Time(#[from] jiff::Error),
    /// What Argo CD says cannot be stored.
    #[error(transparent)]
    Status(#[from] StatusError),
    /// There is no Secret for a cluster.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A test lets the process die here.
    #[error("could not commit: the process is being stopped")]
    Stopped,
}

/// An error with all of its sources, for people.
pub fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
