//! How often something is done that several can share.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// When it was last done.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<Option<Instant>>);

impl Pace {
    /// When it may be done next, so long after the last time, and from then on it counts as done. Whoever comes meanwhile shares it;
    /// who comes alone does not wait.
    pub fn due(&self, gather: Duration) -> Instant {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let due = last.map_or(now, |last| now.max(last + gather));
        *last = Some(due);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_alone_does_not_wait_and_who_comes_next_does() {
        let (pace, gather) = (Pace::default(), Duration::from_secs(60));
        let first = pace.due(gather);
        assert!(first <= Instant::now());
        assert_eq!(pace.due(gather), first + gather);
        assert_eq!(pace.due(gather), first + gather * 2);
    }
}
