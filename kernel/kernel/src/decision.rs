//! What is recorded of a decision.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::moment::Moment;
use crate::operator::UnitId;
use crate::plan::{Mutation, Standing};
use crate::resource::{ObjectKey, Query, TableKey};
use crate::view::{Asked, Listed, Refusal};

/// The number of a decision, counted up for the life of a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DecisionId(pub u64);

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a unit ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// The unit was seen for the first time since the process began.
    Started,
    /// An object it had read changed, appeared or went.
    Changed {
        /// Which.
        object: ObjectKey,
        /// The revision it has now, or was deleted at.
        revision: u64,
    },
    /// An object matches, or no longer matches, a list it had made.
    Matched {
        /// The list.
        list: Query,
        /// The object.
        object: ObjectKey,
        /// The revision it has now, or was deleted at.
        revision: u64,
    },
    /// A kind it waits for can be read now.
    Known {
        /// Which.
        table: TableKey,
    },
    /// It had asked to be run again.
    Again,
    /// Time for a regular look.
    Resync,
    /// The run before had failed.
    Retry {
        /// How many runs in a row have failed.
        failures: u32,
    },
    /// The run before wrote less than it wanted: the budget was spent, or an object had changed.
    Unfinished,
    /// Somebody asked for it.
    Asked,
    /// What it is for lies outside of every cluster, and has changed there.
    Outside,
}

/// One decision: cause, reads, plan, outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Its number.
    pub id: DecisionId,
    /// Whose.
    #[serde(flatten)]
    pub unit: UnitId,
    /// Why it ran; at most [`MAX_CAUSES`], the first ones.
    pub causes: Vec<Cause>,
    /// When the first cause came in.
    pub woken: Moment,
    /// The time the operator was told.
    pub started: Moment,
    /// How long the operator took to decide.
    pub decide_us: u64,
    /// How long the writes took.
    pub write_us: u64,
    /// Objects read by name; a miss has no revision.
    pub gets: Vec<(ObjectKey, Option<u64>)>,
    /// Lists made.
    pub lists: Vec<(Query, Vec<Listed>)>,
    /// Questions to the outside.
    pub asked: Vec<Asked>,
    /// What the operator was told was refused of the run before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusal>,
    /// What the operator decides by beside that, as it says itself; null for nothing.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub settings: Value,
    /// What came of it.
    pub outcome: Outcome,
}

/// How many causes of a run are kept.
pub const MAX_CAUSES: usize = 16;

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The operator decided.
    Decided {
        /// Its writes in the order they are carried out, with what came of each.
        writes: Vec<Write>,
        /// Where the unit stands.
        standing: Standing,
    },
    /// The operator gave an error, panicked, or did not answer in time.
    Failed {
        /// In its words.
        message: String,
    },
    /// A kind it read was not known yet.
    Parked {
        /// Which.
        missing: Vec<TableKey>,
    },
}

/// A write and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Write {
    /// What was wanted.
    pub mutation: Mutation,
    /// On which object; the name is known even if the operator left it to `generateName`.
    pub object: ObjectKey,
    /// What came of it.
    pub result: WriteResult,
}

/// What came of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WriteResult {
    /// Done.
    Written {
        /// The revision it made.
        revision: u64,
    },
    /// It changed nothing: the object was so already.
    Unchanged,
    /// The arbiter refused it.
    Refused {
        /// Why.
        reason: String,
    },
    /// Put off: the budget is spent. The unit decides again.
    Held,
    /// The object is not what was read any more. The unit decides again.
    Stale {
        /// In the API server's words.
        message: String,
    },
    /// The API server said no, or could not be reached.
    Failed {
        /// In its words.
        message: String,
    },
    /// The API server refused an Event: somebody is not told something, and nothing else waits for that.
    Unheard {
        /// In its words.
        message: String,
    },
    /// A dry run: it would have been written.
    Pretended,
    /// A write before it failed, so it was not tried.
    Skipped,
}
