//! Periodic rechecks of working credentials, which may expire without any change in the tenant's resources.

use crate::ids::Uid;
use ring::digest::{SHA256, digest};

/// Minimum recheck interval, as in managed-gitops.
pub const MIN_RECHECK_MS: i64 = 10 * 60 * 1000;

/// Schedule of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckSchedule<Q> {
    /// No check.
    Nothing,
    /// Check now.
    Now(Q),
    /// Recheck periodically: the last result is known.
    Later(Q),
}

impl<Q> CheckSchedule<Q> {
    /// Returns the check if it is due now.
    pub fn now(self) -> Option<Q> {
        match self {
            CheckSchedule::Now(question) => Some(question),
            CheckSchedule::Nothing | CheckSchedule::Later(_) => None,
        }
    }
}

/// Returns the recheck interval of a resource, up to 1.5 times the minimum. It is derived from the UID, so that the
/// checks of a server are spread over time.
pub fn recheck_interval_ms(least_ms: i64, resource: &Uid) -> i64 {
    let digest = digest(&SHA256, resource.as_str().as_bytes());
    let number = digest.as_ref().iter().take(7).fold(0i64, |all, byte| all << 8 | i64::from(*byte));
    least_ms.saturating_add(number % (least_ms / 2).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rechecks_are_spread_over_time() {
        let all: std::collections::BTreeSet<i64> =
            (0..100).map(|number| recheck_interval_ms(MIN_RECHECK_MS, &Uid::from(format!("uid-{number}")))).collect();
        assert!(all.len() > 90, "{all:?}");
        assert!(all.iter().all(|ms| (MIN_RECHECK_MS..MIN_RECHECK_MS * 3 / 2).contains(ms)), "{all:?}");
        assert_eq!(
            recheck_interval_ms(MIN_RECHECK_MS, &"uid-1".into()),
            recheck_interval_ms(MIN_RECHECK_MS, &"uid-1".into())
        );
    }
}
