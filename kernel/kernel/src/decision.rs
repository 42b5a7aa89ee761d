//! Recorded decision.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operator::UnitId;
use crate::plan::{Mutation, UnitStatus};
use crate::resource::{ListQuery, ObjectKey, TableKey};
use crate::timestamp::Timestamp;
use crate::view::{ExternalQuery, ListedObject, RecordedRowReads, WriteRejection};

/// Number of a decision; it increases over the life of a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DecisionId(pub u64);

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Reason for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// The unit is new since the process started.
    Started,
    /// An object the unit had read was created, changed or deleted.
    Changed {
        /// Changed object.
        object: ObjectKey,
        /// Revision after the change, or of the deletion.
        revision: u64,
    },
    /// An object started or stopped matching a list that the unit had read.
    Matched {
        /// List.
        list: ListQuery,
        /// Object.
        object: ObjectKey,
        /// Revision after the change, or of the deletion.
        revision: u64,
    },
    /// A kind the unit waits for became readable.
    KindCached {
        /// Kind.
        table: TableKey,
    },
    /// The plan had asked to requeue the unit.
    RequeueAfter,
    /// Periodic resync.
    Resync,
    /// The previous run failed.
    Retry {
        /// Number of failed runs in a row.
        failures: u32,
    },
    /// The previous run wrote less than planned: the budget was spent, or an object had changed.
    Unfinished,
    /// A user requested a run.
    Requested,
    /// Something outside the clusters changed.
    External,
}

/// Decision of a unit: causes, reads, plan and outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Number of the decision.
    pub id: DecisionId,
    /// Unit that decided.
    #[serde(flatten)]
    pub unit: UnitId,
    /// Causes of the run: the first ones, at most [`MAX_CAUSES`].
    pub causes: Vec<Cause>,
    /// Time of the first cause.
    pub triggered_at: Timestamp,
    /// Time of the decision, as passed to the operator.
    pub started: Timestamp,
    /// Time the operator took to decide, in microseconds.
    pub decide_us: u64,
    /// Time the writes took, in microseconds.
    pub write_us: u64,
    /// Objects read by name, with their revisions; `None` for an absent object.
    pub gets: Vec<(ObjectKey, Option<u64>)>,
    /// Lists with their objects.
    pub lists: Vec<(ListQuery, Vec<ListedObject>)>,
    /// Counts and samples of rows. Rows by key and lists are among those of objects.
    #[serde(default, skip_serializing_if = "RecordedRowReads::is_empty")]
    pub rows: RecordedRowReads,
    /// Queries to external systems.
    pub external_queries: Vec<ExternalQuery>,
    /// Rejected writes of the previous run, as passed to the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected_writes: Vec<WriteRejection>,
    /// Settings the operator decides by, as returned by [`crate::operator::Operator::settings`]; null for none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub settings: Value,
    /// Outcome of the run.
    pub outcome: RunOutcome,
}

impl Decision {
    /// Returns the time for which the run has waited for rows alone, in milliseconds; `None` if it does not.
    pub(crate) fn waits_for_rows_since(&self, now: Timestamp) -> Option<u64> {
        let RunOutcome::NotCached { missing } = &self.outcome else { return None };
        missing.iter().all(TableKey::is_rows).then(|| now.0.saturating_sub(self.triggered_at.0))
    }
}

/// Maximum number of causes kept for a run.
pub const MAX_CAUSES: usize = 16;

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunOutcome {
    /// The operator returned a plan.
    Decided {
        /// Writes in execution order, with their results.
        writes: Vec<Write>,
        /// Status of the unit.
        status: UnitStatus,
    },
    /// The operator returned an error, panicked, or timed out.
    Failed {
        /// Error message.
        message: String,
    },
    /// The operator read a kind that is not cached yet.
    NotCached {
        /// Missing kinds.
        missing: Vec<TableKey>,
    },
}

/// Write with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Write {
    /// Mutation of the plan.
    pub mutation: Mutation,
    /// Object, with its final name even if the operator uses `generateName`.
    pub object: ObjectKey,
    /// Result of the write.
    pub result: WriteResult,
}

/// Result of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WriteResult {
    /// The object was written.
    Written {
        /// Revision after the write.
        revision: u64,
    },
    /// The object was already in the wanted state.
    Unchanged,
    /// The arbiter refused the write.
    Refused {
        /// Reason.
        reason: String,
    },
    /// The write budget is spent; the unit decides again.
    OverBudget,
    /// The object has changed since it was read; the unit decides again.
    Stale {
        /// Message of the API server.
        message: String,
    },
    /// The API server rejected the write, or could not be reached.
    Failed {
        /// Error message.
        message: String,
    },
    /// The API server rejected an Event; no other write depends on it.
    EventRejected {
        /// Error message.
        message: String,
    },
    /// A dry run would have written the object.
    DryRun,
    /// Not sent, because an earlier write failed.
    Skipped,
}
