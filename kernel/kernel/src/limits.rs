//! What keeps an operator from taking more than its share.

use std::time::Duration;

use serde::Serialize;

/// The limits of one operator. Each can change while the process runs.
///
/// A count of zero is taken as one: an operator that may never run or write is paused, not limited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// How long more changes are collected after the first.
    pub debounce: Duration,
    /// How long a unit rests between the end of a run and the start of the next.
    pub cool_down: Duration,
    /// How many writes may be carried out in any one second.
    pub writes_per_second: u32,
    /// How many writes may be carried out in any one minute.
    pub writes_per_minute: u32,
    /// After how long a unit is looked at again though nothing changed; never when absent.
    pub resync: Option<Duration>,
    /// The wait after a first failure; it doubles with each further one.
    pub backoff_first: Duration,
    /// The longest wait after failures.
    pub backoff_max: Duration,
    /// How long a decision may take.
    pub timeout: Duration,
    /// How many of its units may run at a time.
    pub max_concurrent: u32,
    /// What one run is estimated to take as a process of its own; nothing for operators inside this process.
    pub memory_bytes: u64,
}

/// [`Limits::debounce`] when not set.
pub const DEBOUNCE: Duration = Duration::from_millis(200);
/// [`Limits::cool_down`] when not set.
pub const COOL_DOWN: Duration = Duration::from_secs(1);
/// [`Limits::writes_per_second`] when not set.
pub const WRITES_PER_SECOND: u32 = 20;
/// [`Limits::writes_per_minute`] when not set.
pub const WRITES_PER_MINUTE: u32 = 600;
/// [`Limits::resync`] when not set.
pub const RESYNC: Duration = Duration::from_secs(10 * 60);
/// [`Limits::backoff_first`] when not set.
pub const BACKOFF_FIRST: Duration = Duration::from_secs(1);
/// [`Limits::backoff_max`] when not set.
pub const BACKOFF_MAX: Duration = Duration::from_secs(5 * 60);
/// [`Limits::timeout`] when not set.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// [`Limits::max_concurrent`] when not set.
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
    /// Nothing waits and nothing is counted: for tests that look at something else.
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

/// The limits over all operators. Each can change while the process runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobalLimits {
    /// How many units may run at a time.
    pub max_concurrent: u32,
    /// How many API requests may be made for operators in any one second.
    pub requests_per_second: u32,
    /// What the running operator processes may take together. A run that is estimated to take more runs alone.
    pub process_memory_bytes: u64,
}

/// [`GlobalLimits::max_concurrent`] when not set.
pub const GLOBAL_MAX_CONCURRENT: u32 = 16;
/// [`GlobalLimits::requests_per_second`] when not set.
pub const REQUESTS_PER_SECOND: u32 = 100;
/// A write takes a look at the object before it, for who changed which field cannot be told otherwise; unless it was read at
/// the very revision that the write is bound to. A share is reckoned for writes that take the look.
pub const REQUESTS_PER_WRITE: u32 = 2;
/// [`GlobalLimits::process_memory_bytes`] when not set.
pub const PROCESS_MEMORY_BYTES: u64 = 1 << 30;

impl GlobalLimits {
    /// How many writes the requests of a second are enough for; at least one.
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
