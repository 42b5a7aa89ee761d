//! Reconciliation logic: from resources, rows and Argo CD's objects to row changes and Kubernetes writes.
//!
//! ```text
//!  read ─▶ decide ─▶ changes (one transaction) ─▶ writes (idempotent) ─▶ read …
//! ```
//!
//! Functions never wait. Work in progress is visible in the rows when the decision is repeated, so that a crash between
//! any two steps loses nothing: the request to an agent is a row that is committed with the change it is about. The
//! database notifies the agent, and an Operation object notifies it again while the row stays open.
//!
//! # Expected flow
//! A role reads the resource from the kernel's view and the rows in one [`switchboard_sql::LedgerView`], decides,
//! and commits the changes. If [`switchboard_sql::LedgerError::is_conflict`] is true, it reads again. Then it
//! executes the writes as a plan. To the kernel, all of this is one external query, whose answer, the
//! writes, contains no credential. `switchboard_sql::Signals` reports which rows changed, and so which unit to
//! trigger. Checks ([`ClusterCheck`](crate::environment::ClusterCheck),
//! [`CredentialCheck`](crate::credential::CredentialCheck)) are executed by a caller with network access, and their results are kept until the digest changes.

#[cfg(test)]
pub(crate) mod fixture;

use serde_json::Value;
use switchboard_sql::{DbTimestamp, RowChange};

/// Time of a decision in both formats in which it is written.
#[derive(Clone, Copy, Debug)]
pub struct DecisionTime<'a> {
    /// Time for rows.
    pub timestamp: DbTimestamp,
    /// Time for conditions, in RFC 3339 format.
    pub text: &'a str,
}

/// Result of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReconcileResult {
    /// Row changes, committed in one transaction before anything is written.
    pub changes: Vec<RowChange>,
    /// Writes to execute after the commit, in this order.
    pub writes: Vec<KubernetesWrite>,
    /// Delay after which the decision is repeated without an event.
    pub requeue_after_ms: Option<u64>,
}

/// Reference to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteTarget {
    /// Group and version.
    pub api_version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// Idempotent write to Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubernetesWrite {
    /// Creates an object unless it exists.
    Create(Value),
    /// Replaces an object if it still has the given resourceVersion.
    Update(Value),
    /// Applies a JSON merge patch to an object.
    Merge(WriteTarget, Value),
    /// Replaces the status of an object.
    Status(WriteTarget, Value),
    /// Deletes an object; a missing object is not an error.
    Delete(WriteTarget),
}

impl ReconcileResult {
    /// Requests that the decision is repeated after at most this many milliseconds.
    pub fn requeue_in(&mut self, ms: u64) {
        self.requeue_after_ms = Some(self.requeue_after_ms.map_or(ms, |sooner| sooner.min(ms)));
    }
}
