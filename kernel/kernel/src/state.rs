//! State of the kernel, as shown by `why`, `why-not`, `top`, the metrics and the console.

pub mod decide_times;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::decision::{Cause, DecisionId};
use crate::operator::{OperatorName, Unit, UnitId};
use crate::resource::{ObjectKey, TableKey};
use crate::scheduler::SlowServer;
use crate::timestamp::Timestamp;

use decide_times::DecideTimes;

/// Health of a unit or operator, in order of severity: the most severe one is shown first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Health {
    /// The wanted state is reached.
    #[default]
    Ready,
    /// Work is in progress.
    Working,
    /// Something else must happen first; no action is needed.
    Waiting,
    /// A user must act.
    Blocked,
    /// An error occurred.
    Failing,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Health::Ready => "Ready",
            Health::Working => "Working",
            Health::Waiting => "Waiting",
            Health::Blocked => "Blocked",
            Health::Failing => "Failing",
        })
    }
}

/// Reason why a unit does not run now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "reason")]
pub enum Wait {
    /// Nothing the unit read has changed.
    NothingChanged,
    /// The unit is running.
    Running {
        /// Start of the run.
        since: Timestamp,
    },
    /// Further changes are collected first.
    Debounced {
        /// End of the wait.
        until: Timestamp,
    },
    /// The unit ran a moment ago.
    CoolingDown {
        /// End of the wait.
        until: Timestamp,
    },
    /// The write budget of its operator is spent.
    OutOfBudget {
        /// End of the wait.
        until: Timestamp,
    },
    /// The last runs failed.
    BackingOff {
        /// End of the wait.
        until: Timestamp,
        /// Number of failed runs in a row.
        failures: u32,
    },
    /// The unit has made as many writes as one unit may. Only for operators without a write budget.
    WritesSpent {
        /// End of the wait.
        until: Timestamp,
    },
    /// The unit is slowed, because it is in a hot loop or field conflict.
    Slowed {
        /// End of the wait.
        until: Timestamp,
    },
    /// The maximum number of runs is active.
    Full {
        /// Number of active runs.
        running: usize,
    },
    /// The request limit over all operators is spent.
    RequestsSpent {
        /// End of the wait.
        until: Timestamp,
    },
    /// All operators write as fast as the API servers accept. Only without a request limit.
    #[serde(rename_all = "camelCase")]
    Paced {
        /// End of the wait.
        until: Timestamp,
        /// Current rate of writes.
        writes_per_second: u32,
    },
    /// Running operator processes use all the allowed memory.
    MemorySpent,
    /// The unit read a kind that is not cached yet.
    NotCached {
        /// Missing kinds.
        missing: Vec<TableKey>,
    },
    /// The watch has not reported the unit's last writes yet.
    AwaitingCache {
        /// Written object.
        object: ObjectKey,
        /// Latest end of the wait.
        until: Timestamp,
    },
    /// The operator is paused.
    Paused(OperatorPause),
}

/// Pause of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorPause {
    /// User who paused the operator: a user of the console, or the local user of the command line.
    pub by: String,
    /// Time of the request.
    pub since: Timestamp,
}

/// Formats as `paused by ada since 2026-01-01T00:00:00Z`, to the second.
impl fmt::Display for OperatorPause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "paused by {} since {}", self.by, Timestamp(self.since.0 / 1000 * 1000))
    }
}

/// State of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KernelState {
    /// Time of the state.
    pub now: Timestamp,
    /// Start time of the process.
    pub started_at: Timestamp,
    /// Operators by name.
    pub operators: Vec<OperatorState>,
    /// Watched kinds.
    pub tables: Vec<TableState>,
    /// Active field conflicts and hot loops.
    pub findings: Vec<Finding>,
    /// Number of decisions since the start that could not be recorded.
    #[serde(default)]
    pub unrecorded: u64,
    /// Reduced rate of writes while API servers are slow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowed: Option<SlowedWrites>,
}

/// Reduced rate of writes of all operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SlowedWrites {
    /// Maximum number of writes in any second.
    pub writes_per_second: u32,
    /// Reason of the last decrease.
    pub because: SlowServer,
}

/// Formats as `writes are slowed to 50 per second: API servers return 429`.
impl fmt::Display for SlowedWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "writes are slowed to {} per second: ", self.writes_per_second)?;
        match self.because {
            SlowServer::TooManyRequests => f.write_str("API servers return 429"),
            SlowServer::Latency { fastest_ms, usual_ms } => {
                write!(f, "the fastest write takes {fastest_ms}ms, usually {usual_ms}ms")
            }
        }
    }
}

/// State of an operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorState {
    /// Name of the operator.
    pub name: String,
    /// Health of its least healthy unit.
    #[serde(rename = "state")]
    pub health: Health,
    /// Reason given by that unit.
    pub reason: String,
    /// Pause of the operator; absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<OperatorPause>,
    /// Number of runs.
    pub runs: u64,
    /// Number of failed runs.
    pub failures: u64,
    /// Number of writes that changed something.
    pub writes: u64,
    /// Median decide time of the last runs in microseconds.
    pub decide_p50_us: u64,
    /// 99th percentile of the decide time in microseconds.
    pub decide_p99_us: u64,
    /// Distribution of the decide times.
    #[serde(default, skip_serializing_if = "DecideTimes::is_empty")]
    pub decide_times: DecideTimes,
    /// Bytes of the cached kinds it reads, each divided by the number of its readers.
    pub cache_share_bytes: u64,
    /// Units that are not Ready or wait to run, least healthy first, at most [`MAX_UNITS_SHOWN`].
    pub units: Vec<UnitState>,
    /// Number of units.
    pub units_total: usize,
    /// Number of units that are not Ready or wait to run.
    #[serde(default)]
    pub units_waiting: usize,
}

/// Maximum number of units listed per operator.
pub const MAX_UNITS_SHOWN: usize = 100;

/// State of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitState {
    /// Name of the unit.
    pub unit: Unit,
    /// Health of the unit.
    #[serde(rename = "state")]
    pub health: Health,
    /// Reason: what the unit waits for, what a user must do, or what failed.
    pub reason: String,
    /// Time since which the unit has this health.
    pub since: Timestamp,
    /// Reason why the unit does not run now.
    pub wait: Wait,
    /// Pending causes.
    pub causes: Vec<Cause>,
    /// Last decision.
    pub last_decision: Option<DecisionId>,
}

/// State of a watched kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TableState {
    /// Kind and cluster.
    #[serde(flatten)]
    pub table: TableKey,
    /// Whether the kind is readable.
    pub synced: bool,
    /// Whether the API server serves the kind.
    pub served: bool,
    /// Number of cached objects.
    pub objects: usize,
    /// Size of the cached objects in bytes.
    pub bytes: u64,
    /// Operators that read the kind.
    pub readers: Vec<OperatorName>,
    /// Error of the watch; absent while it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch_error: Option<String>,
}

/// Field conflict or hot loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Finding {
    /// Two units set one field in turns.
    FieldConflict {
        /// Object.
        object: ObjectKey,
        /// Path of the field, such as `.spec.replicas`.
        field: String,
        /// First writer of the field, and the unit that sets it back.
        units: [UnitId; 2],
        /// Number of flips.
        flips: u32,
        /// Time of the last flip.
        at: Timestamp,
    },
    /// A unit keeps writing although nothing it reads from other writers changes.
    HotLoop {
        /// Object.
        object: ObjectKey,
        /// Path of the first field that changes.
        field: String,
        /// Looping unit.
        unit: UnitId,
        /// Number of writes in a row.
        writes: u32,
        /// Time of the last write.
        at: Timestamp,
    },
}

impl Finding {
    /// Returns the number of flips or writes.
    pub fn count(&self) -> u32 {
        match self {
            Finding::FieldConflict { flips, .. } => *flips,
            Finding::HotLoop { writes, .. } => *writes,
        }
    }

    /// Returns the units, sorted: two for a conflict, one for a loop.
    pub fn units(&self) -> Vec<UnitId> {
        let mut units = match self {
            Finding::FieldConflict { units, .. } => units.to_vec(),
            Finding::HotLoop { unit, .. } => vec![unit.clone()],
        };
        units.sort();
        units
    }

    /// Returns the path of the field.
    pub fn field(&self) -> &str {
        match self {
            Finding::FieldConflict { field, .. } | Finding::HotLoop { field, .. } => field,
        }
    }

    /// Returns the object.
    pub fn object(&self) -> &ObjectKey {
        match self {
            Finding::FieldConflict { object, .. } | Finding::HotLoop { object, .. } => object,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::FieldConflict { object, field, units: [first, second], flips, .. } => {
                write!(
                    f,
                    "{first} and {second} both set {field} of {object} in turns: it changed back and forth {flips} times"
                )
            }
            Finding::HotLoop { object, field, unit, writes, .. } => write!(
                f,
                "{unit} keeps writing {field} of {object} although nothing it reads from other writers changes: {writes} times"
            ),
        }
    }
}
