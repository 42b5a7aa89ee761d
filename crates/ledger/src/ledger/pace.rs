//! How often something is done that several can share.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The least time between two: whoever comes meanwhile shares the next one. Who comes alone does not wait.
const GATHER: Duration = Duration::from_millis(20);

/// When it was last done.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<Option<Instant>>);

impl Pace {
    /// When it may be done next, and from then on it counts as done.
    pub fn due(&self) -> Instant {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let due = last.map_or(now, |last| now.max(last + GATHER));
        *last = Some(due);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_alone_does_not_wait_and_who_comes_next_does() {
        let pace = Pace::default();
        let first = pace.due();
        assert!(first <= Instant::now());
        let second = pace.due();
        assert_eq!(second, first + GATHER);
        assert_eq!(pace.due(), second + GATHER);
    }
}
