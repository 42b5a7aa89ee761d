//! How fast the roles work. What waits for others waits without holding anything, so that these are wide.

use std::time::Duration;

use switchboard_kernel::limits::{GlobalLimits, Limits};

/// How long further changes of the same unit are collected.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// How long a unit rests.
const COOL_DOWN: Duration = Duration::from_millis(50);
/// Writes of one operator in a second.
const WRITES_PER_SECOND: u32 = 1000;
/// Writes of one operator in a minute.
const WRITES_PER_MINUTE: u32 = 60_000;
/// The longest wait after failures: a database that is back is noticed within this.
const BACKOFF_MAX: Duration = Duration::from_secs(15);
/// Units of one operator that decide at a time. What those ask of the database who come at the same time is asked together, so that
/// many cost it less than few.
const MAX_CONCURRENT: u32 = 48;
/// How long a decision may take, with all it asks of the database.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The limits of one operator of a role.
///
/// There is no regular look: the database says what changed, and a deployment that stands still costs no question.
pub fn limits() -> Limits {
    Limits {
        debounce: DEBOUNCE,
        cool_down: COOL_DOWN,
        writes_per_second: WRITES_PER_SECOND,
        writes_per_minute: WRITES_PER_MINUTE,
        resync: None,
        backoff_first: Duration::from_millis(500),
        backoff_max: BACKOFF_MAX,
        timeout: TIMEOUT,
        max_concurrent: MAX_CONCURRENT,
        ..Limits::default()
    }
}

/// The limits of a process that hosts nothing but roles.
pub fn global() -> GlobalLimits {
    GlobalLimits { max_concurrent: 2 * MAX_CONCURRENT, requests_per_second: 4000, ..GlobalLimits::default() }
}
