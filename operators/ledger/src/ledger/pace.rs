//! How often something is done that several can share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// When it was last done, and for how many.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<Last>);

#[derive(Debug, Default)]
struct Last {
    at: Option<Instant>,
    came: usize,
}

impl Pace {
    /// When it may be done next: so long after the last time as `gather` says for the number of those who came then. From then on it
    /// counts as done. Whoever comes meanwhile shares it; who comes alone does not wait.
    pub fn due(&self, gather: impl Fn(usize) -> Duration) -> Instant {
        let mut last = self.last();
        let now = Instant::now();
        let due = last.at.map_or(now, |at| now.max(at + gather(last.came)));
        last.at = Some(due);
        due
    }

    /// So many came to it.
    pub fn came(&self, count: usize) {
        self.last().came = count;
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_alone_does_not_wait_and_who_comes_next_does() {
        let (pace, gather) = (Pace::default(), |_| Duration::from_secs(60));
        let first = pace.due(gather);
        assert!(first <= Instant::now());
        assert_eq!(pace.due(gather), first + gather(0));
        assert_eq!(pace.due(gather), first + gather(0) * 2);
    }

    #[test]
    fn the_more_came_the_longer_the_next_are_gathered() {
        let (pace, gather) = (Pace::default(), |came| Duration::from_secs(60 + came as u64));
        let first = pace.due(gather);
        pace.came(7);
        assert_eq!(pace.due(gather), first + Duration::from_secs(67));
    }
}
