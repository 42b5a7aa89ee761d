//! What the kernel can say of itself at one moment: the ground of `why`, `why-not`, `top`, the metrics and the console.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::decision::{Cause, DecisionId};
use crate::moment::Moment;
use crate::operator::{OperatorName, Unit, UnitId};
use crate::resource::{ObjectKey, TableKey};

/// The five states, everywhere. In the order in which the worst one is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Word {
    /// All is as it should be.
    #[default]
    Ready,
    /// Something is being done.
    Working,
    /// Something else must happen first; nobody needs to act.
    Waiting,
    /// A person must act.
    Blocked,
    /// An error stands in the way.
    Failing,
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Word::Ready => "Ready",
            Word::Working => "Working",
            Word::Waiting => "Waiting",
            Word::Blocked => "Blocked",
            Word::Failing => "Failing",
        })
    }
}

/// Why a unit does not run right now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "why")]
pub enum Wait {
    /// Nothing it read has changed.
    NothingChanged,
    /// It is running.
    Running {
        /// Since when.
        since: Moment,
    },
    /// More changes are collected first.
    Debounced {
        /// Until when.
        until: Moment,
    },
    /// Its operator ran a moment ago.
    CoolingDown {
        /// Until when.
        until: Moment,
    },
    /// Its operator's write budget is spent.
    OutOfBudget {
        /// Until when.
        until: Moment,
    },
    /// Its last runs failed.
    BackingOff {
        /// Until when.
        until: Moment,
        /// How many in a row.
        failures: u32,
    },
    /// It loops, so it is slowed.
    Slowed {
        /// Until when.
        until: Moment,
    },
    /// As many runs as allowed are under way.
    Full {
        /// How many that is.
        running: usize,
    },
    /// The requests allowed per second over all operators are spent.
    RequestsSpent {
        /// Until when.
        until: Moment,
    },
    /// The running operator processes use the memory they may.
    MemorySpent,
    /// A kind it reads is not known yet.
    Parked {
        /// Which.
        missing: Vec<TableKey>,
    },
    /// Its own last writes have not come back through the watch yet.
    Echo {
        /// Which.
        object: ObjectKey,
        /// Until when at the latest.
        until: Moment,
    },
    /// Somebody paused its operator.
    Paused,
}

/// The kernel at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The moment.
    pub now: Moment,
    /// When the process began.
    pub began: Moment,
    /// Every operator, by name.
    pub operators: Vec<OperatorState>,
    /// Every watched kind.
    pub tables: Vec<TableState>,
    /// Fights and loops that go on.
    pub findings: Vec<Finding>,
    /// Decisions since the process began that could not be recorded.
    #[serde(default)]
    pub unrecorded: u64,
}

/// One operator at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorState {
    /// Its name.
    pub name: String,
    /// The worst word of its units.
    pub word: Word,
    /// Why, in the words of that unit.
    pub reason: String,
    /// Runs so far.
    pub runs: u64,
    /// Those that failed.
    pub failures: u64,
    /// Writes so far that changed something.
    pub writes: u64,
    /// Median time to decide over the last runs.
    pub decide_p50_us: u64,
    /// 99th percentile of the same.
    pub decide_p99_us: u64,
    /// Bytes of the cached kinds it reads, each divided among those who read it.
    pub cache_share_bytes: u64,
    /// Its units that are not simply done, at most [`MAX_UNITS_SHOWN`], worst first; and how many there are in all.
    pub units: Vec<UnitState>,
    /// All its units.
    pub units_total: usize,
    /// Those of them that are not simply done.
    #[serde(default)]
    pub units_waiting: usize,
}

/// How many units of an operator a state names.
pub const MAX_UNITS_SHOWN: usize = 100;

/// One unit at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitState {
    /// Which.
    pub unit: Unit,
    /// Its word.
    pub word: Word,
    /// What it waits for, what a person must do, or what failed.
    pub reason: String,
    /// Since when it is so.
    pub since: Moment,
    /// Why it does not run right now.
    pub wait: Wait,
    /// What has woken it and was not looked at yet.
    pub causes: Vec<Cause>,
    /// Its last decision.
    pub last: Option<DecisionId>,
}

/// One watched kind at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TableState {
    /// Which.
    #[serde(flatten)]
    pub table: TableKey,
    /// Whether it can be read.
    pub known: bool,
    /// Whether the API server serves it.
    pub served: bool,
    /// How many objects it holds.
    pub objects: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Who reads it.
    pub readers: Vec<OperatorName>,
    /// Why its watch does not deliver; absent while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// Two operators that fight, or one that loops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Finding {
    /// Two operators set one field in turns.
    Fight {
        /// The object.
        object: ObjectKey,
        /// The field, as a path such as `.spec.replicas`.
        field: String,
        /// Who set it first, and who sets it back.
        units: [UnitId; 2],
        /// How often it went back and forth.
        flips: u32,
        /// When it was last seen.
        at: Moment,
    },
    /// A unit writes again and again though what it reads from others does not change.
    Loop {
        /// The object.
        object: ObjectKey,
        /// The field, as a path; the first that changes.
        field: String,
        /// Who.
        unit: UnitId,
        /// How many writes in a row.
        writes: u32,
        /// When it was last seen.
        at: Moment,
    },
}

impl Finding {
    /// How often it was seen.
    pub fn count(&self) -> u32 {
        match self {
            Finding::Fight { flips, .. } => *flips,
            Finding::Loop { writes, .. } => *writes,
        }
    }

    /// Whose it is, in order: two for a fight, one for a loop.
    pub fn whose(&self) -> Vec<UnitId> {
        let mut units = match self {
            Finding::Fight { units, .. } => units.to_vec(),
            Finding::Loop { unit, .. } => vec![unit.clone()],
        };
        units.sort();
        units
    }

    /// The field it is about.
    pub fn field(&self) -> &str {
        match self {
            Finding::Fight { field, .. } | Finding::Loop { field, .. } => field,
        }
    }

    /// The object it is about.
    pub fn object(&self) -> &ObjectKey {
        match self {
            Finding::Fight { object, .. } | Finding::Loop { object, .. } => object,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Fight { object, field, units: [first, second], flips, .. } => {
                write!(f, "{first} and {second} fight over {field} of {object}: it went back and forth {flips} times")
            }
            Finding::Loop { object, field, unit, writes, .. } => write!(
                f,
                "{unit} writes {field} of {object} again and again though nothing it reads from others changes: {writes} times"
            ),
        }
    }
}
