//! Limits that keep an operator from using more than its share.

use std::time::Duration;

use serde::Serialize;

/// Limits of one operator. Each can change while the process runs.
///
/// A limit that is set holds at any time. Without it, the kernel adapts: a unit works at once after quiet, and slows down
/// only if it keeps working, or if the API servers slow down.
///
/// A count of zero is treated as one: to stop an operator, pause it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Time for which further changes are collected after the first one. Without it, the first change after quiet starts
    /// a run at once, and only further changes within [`DEBOUNCE`] are collected for that time.
    pub debounce: Option<Duration>,
    /// Minimum time between the end of a unit's run and the start of its next run. Without it, a unit may run
    /// [`RUN_BURST`] times without rest, and then once per [`COOL_DOWN`].
    pub cool_down: Option<Duration>,
    /// Maximum number of writes in any second.
    ///
    /// Without this and [`Limits::writes_per_minute`], a unit may make [`WRITE_BURST`] writes at once, and then
    /// [`UNIT_WRITES_PER_SECOND`]. The operator may make as many as the API servers accept, see [`GlobalLimits`].
    pub writes_per_second: Option<u32>,
    /// Maximum number of writes in any minute.
    pub writes_per_minute: Option<u32>,
    /// Time after which a unit runs again although nothing changed; never when absent.
    pub resync: Option<Duration>,
    /// Delay after the first failure; doubled with each further one.
    pub backoff_first: Duration,
    /// Maximum delay after failures.
    pub backoff_max: Duration,
    /// Timeout of a decision.
    pub timeout: Duration,
    /// Maximum number of its units that run at the same time.
    pub max_concurrent: u32,
    /// Estimated memory of one run as a separate process; zero for operators in this process.
    pub memory_bytes: u64,
}

/// Time for which the changes of a burst are collected. A change after this time without changes begins no burst.
pub const DEBOUNCE: Duration = Duration::from_millis(200);
/// Time after which a unit may run once more after [`RUN_BURST`] runs.
pub const COOL_DOWN: Duration = Duration::from_secs(1);
/// Maximum number of runs of a unit without rest. The longest known work, a coupling with an apparatus on both sides, takes
/// about 16; a unit that needs more continues with one run per [`COOL_DOWN`].
pub const RUN_BURST: u32 = 30;
/// Maximum number of writes of a unit at once. Few units write more than this; one that does so all the time floods.
pub const WRITE_BURST: u32 = 100;
/// Number of writes per second that a unit may make after [`WRITE_BURST`] writes.
pub const UNIT_WRITES_PER_SECOND: u32 = 20;
/// Default of [`Limits::resync`].
pub const RESYNC: Duration = Duration::from_secs(10 * 60);
/// Default of [`Limits::backoff_first`].
pub const BACKOFF_FIRST: Duration = Duration::from_secs(1);
/// Default of [`Limits::backoff_max`].
pub const BACKOFF_MAX: Duration = Duration::from_secs(5 * 60);
/// Default of [`Limits::timeout`].
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Default of [`Limits::max_concurrent`].
pub const MAX_CONCURRENT: u32 = 4;

impl Default for Limits {
    fn default() -> Self {
        Self {
            debounce: None,
            cool_down: None,
            writes_per_second: None,
            writes_per_minute: None,
            resync: Some(RESYNC),
            backoff_first: BACKOFF_FIRST,
            backoff_max: BACKOFF_MAX,
            timeout: TIMEOUT,
            max_concurrent: MAX_CONCURRENT,
            memory_bytes: 0,
        }
    }
}

impl Limits {
    /// Whether the number of writes of the operator is limited, so that its units need no limits of their own.
    pub fn has_write_budget(&self) -> bool {
        self.writes_per_second.is_some() || self.writes_per_minute.is_some()
    }

    /// Returns limits that delay and count nothing, for tests of other behavior.
    pub fn none() -> Self {
        Self {
            debounce: Some(Duration::ZERO),
            cool_down: Some(Duration::ZERO),
            writes_per_second: Some(u32::MAX),
            writes_per_minute: Some(u32::MAX),
            resync: None,
            backoff_first: Duration::ZERO,
            backoff_max: Duration::ZERO,
            timeout: TIMEOUT,
            max_concurrent: u32::MAX,
            memory_bytes: 0,
        }
    }
}

/// Limits over all operators. Each can change while the process runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobalLimits {
    /// Maximum number of units that run at the same time.
    pub max_concurrent: u32,
    /// Maximum number of API requests for operators in any second. Without it, requests are not counted; writes begin with
    /// [`START_WRITES_PER_SECOND`], and their rate follows the API servers between [`MIN_WRITES_PER_SECOND`] and
    /// [`MAX_WRITES_PER_SECOND`].
    pub requests_per_second: Option<u32>,
    /// Maximum memory of all running operator processes. A run with a larger estimate runs alone.
    pub process_memory_bytes: u64,
}

/// Default of [`GlobalLimits::max_concurrent`].
pub const GLOBAL_MAX_CONCURRENT: u32 = 16;
/// Rate of writes of all operators at the start.
pub const START_WRITES_PER_SECOND: u32 = 200;
/// Rate of writes of all operators while the API servers are slow.
pub const MIN_WRITES_PER_SECOND: u32 = 10;
/// Maximum rate of writes of all operators. It bounds the damage by an operator with many units that write for no reason.
pub const MAX_WRITES_PER_SECOND: u32 = 1_000;
/// Number of requests per write: the object is read first, to find out which fields the write changes. A write bound to
/// the revision that was read, or the apply of an absent object, needs no such request; the shares assume two.
pub const REQUESTS_PER_WRITE: u32 = 2;
/// Default of [`GlobalLimits::process_memory_bytes`].
pub const PROCESS_MEMORY_BYTES: u64 = 1 << 30;

impl GlobalLimits {
    /// Returns the number of writes per second that the request limit allows, at least one; `None` without a limit.
    pub fn writes_per_second(&self) -> Option<u32> {
        self.requests_per_second.map(|requests| (requests / REQUESTS_PER_WRITE).max(1))
    }
}

impl Default for GlobalLimits {
    fn default() -> Self {
        Self {
            max_concurrent: GLOBAL_MAX_CONCURRENT,
            requests_per_second: None,
            process_memory_bytes: PROCESS_MEMORY_BYTES,
        }
    }
}
