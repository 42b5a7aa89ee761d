//! Rate limits of the roles. Waiting units hold no resources, so the limits are wide.

use std::time::Duration;

use switchboard_kernel::limits::{GlobalLimits, Limits};

/// Time to collect further changes of the same unit.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// Minimum time between two runs of a unit.
const COOLDOWN: Duration = Duration::from_millis(50);
/// Writes of one operator per second.
const WRITES_PER_SECOND: u32 = 1000;
/// Writes of one operator per minute.
const WRITES_PER_MINUTE: u32 = 60_000;
/// Maximum delay after failures. A recovered database is noticed within this time.
const BACKOFF_MAX: Duration = Duration::from_secs(15);
/// Concurrent decisions of one operator. Concurrent queries share transactions, so many decisions cost the database
/// less than few.
const MAX_CONCURRENT: u32 = 48;
/// Deadline of a decision, including its queries.
const DECISION_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the limits of one operator of a role.
///
/// There is no periodic resync: the change stream triggers units, and an unchanged deployment causes no queries.
pub fn limits() -> Limits {
    Limits {
        debounce: DEBOUNCE,
        cool_down: COOLDOWN,
        writes_per_second: WRITES_PER_SECOND,
        writes_per_minute: WRITES_PER_MINUTE,
        resync: None,
        backoff_first: Duration::from_millis(500),
        backoff_max: BACKOFF_MAX,
        timeout: DECISION_TIMEOUT,
        max_concurrent: MAX_CONCURRENT,
        ..Limits::default()
    }
}

/// Returns the limits of a process that only hosts roles.
pub fn global() -> GlobalLimits {
    GlobalLimits { max_concurrent: 2 * MAX_CONCURRENT, requests_per_second: 4000, ..GlobalLimits::default() }
}
