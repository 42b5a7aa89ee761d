//! Limits that keep an operator from using more than its share.

use std::time::Duration;

use serde::Serialize;

/// Limits of one operator. Each can change while the process runs.
///
/// A count of zero is treated as one: to stop an operator, pause it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Time for which further changes are collected after the first one.
    pub debounce: Duration,
    /// Minimum time between the end of a unit's run and the start of its next run.
    pub cool_down: Duration,
    /// Maximum number of writes in any second.
    pub writes_per_second: u32,
    /// Maximum number of writes in any minute.
    pub writes_per_minute: u32,
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

/// Default of [`Limits::debounce`].
pub const DEBOUNCE: Duration = Duration::from_millis(200);
/// Default of [`Limits::cool_down`].
pub const COOL_DOWN: Duration = Duration::from_secs(1);
/// Default of [`Limits::writes_per_second`].
pub const WRITES_PER_SECOND: u32 = 20;
/// Default of [`Limits::writes_per_minute`].
pub const WRITES_PER_MINUTE: u32 = 600;
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
            debounce: DEBOUNCE,
            cool_down: COOL_DOWN,
            writes_per_second: WRITES_PER_SECOND,
            writes_per_minute: WRITES_PER_MINUTE,
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
    /// Returns limits that delay and count nothing, for tests of other behavior.
    pub fn none() -> Self {
        Self {
            debounce: Duration::ZERO,
            cool_down: Duration::ZERO,
            writes_per_second: u32::MAX,
            writes_per_minute: u32::MAX,
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
    /// Maximum number of API requests for operators in any second.
    pub requests_per_second: u32,
    /// Maximum memory of all running operator processes. A run with a larger estimate runs alone.
    pub process_memory_bytes: u64,
}

/// Default of [`GlobalLimits::max_concurrent`].
pub const GLOBAL_MAX_CONCURRENT: u32 = 16;
/// Default of [`GlobalLimits::requests_per_second`].
pub const REQUESTS_PER_SECOND: u32 = 100;
/// Number of requests per write: the object is read first, to find out which fields the write changes. Only a write
/// bound to the revision that was read needs no such request; the shares assume two.
pub const REQUESTS_PER_WRITE: u32 = 2;
/// Default of [`GlobalLimits::process_memory_bytes`].
pub const PROCESS_MEMORY_BYTES: u64 = 1 << 30;

impl GlobalLimits {
    /// Returns the number of writes per second that the request limit allows; at least one.
    pub fn writes_per_second(&self) -> u32 {
        (self.requests_per_second / REQUESTS_PER_WRITE).max(1)
    }
}

impl Default for GlobalLimits {
    fn default() -> Self {
        Self {
            max_concurrent: GLOBAL_MAX_CONCURRENT,
            requests_per_second: REQUESTS_PER_SECOND,
            process_memory_bytes: PROCESS_MEMORY_BYTES,
        }
    }
}
