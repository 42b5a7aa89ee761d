//! What is decided: from resources, rows and Argo CD's objects to changes of rows and writes to Kubernetes.
//!
//! ```text
//!  read ─▶ decide ─▶ changes (one transaction) ─▶ writes (each may be made again) ─▶ read …
//! ```
//!
//! Nothing waits in here. What is under way is seen in the rows when the same is decided again, so that a kill between any two steps
//! loses nothing: the wish for an agent is a row that is committed with what it is about. The database tells of it, and an object rings
//! for it when it stays open.
//!
//! # Expected flow
//! A role reads the resource from the kernel's view and the rows in one [`switchboard_ledger::View`], decides, commits the changes and
//! reads again if [`switchboard_ledger::LedgerError::is_conflict`] says that it was too late; then come the writes, as a plan. Rows
//! are outside of Kubernetes: all of this is one question through the kernel's door (`Outward::reach`), whose answer, the writes,
//! holds no credential. `switchboard_ledger::Signals` says which rows changed, and so which unit is to be woken. Questions
//! ([`environment::Question`], [`credential::Question`]) are asked by whoever has a network, and their answers kept until the digest is
//! another.

pub mod agent;
pub mod credential;
pub mod deployment;
pub mod environment;
pub mod operation;
pub mod recheck;
pub mod sync_run;
pub mod tenant;

use serde_json::Value;
use switchboard_ledger::{Change, Moment};

/// When something is decided, in both forms it is written in.
#[derive(Clone, Copy, Debug)]
pub struct Now<'a> {
    /// For rows.
    pub moment: Moment,
    /// For conditions, as RFC 3339.
    pub text: &'a str,
}

/// What was decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// What becomes of rows, in one transaction, before anything is written.
    pub changes: Vec<Change>,
    /// What is written then, in this order.
    pub writes: Vec<Write>,
    /// When to decide again though nothing changed.
    pub again_ms: Option<u64>,
}

/// An object, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Group and version.
    pub api_version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// A write to Kubernetes. Made again, it changes nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Creates an object; one that is there is left as it is.
    Create(Value),
    /// Replaces an object that still is of the version it says.
    Update(Value),
    /// Merges into an object.
    Merge(Target, Value),
    /// Replaces the status of an object.
    Status(Target, Value),
    /// Deletes an object; one that is gone is no error.
    Delete(Target),
}

impl Decision {
    /// Looks again in so many milliseconds at the latest.
    pub fn again_in(&mut self, ms: u64) {
        self.again_ms = Some(self.again_ms.map_or(ms, |sooner| sooner.min(ms)));
    }
}

#[cfg(test)]
mod tests;
