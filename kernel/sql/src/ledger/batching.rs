//! Delay between batches of work that concurrent callers share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Start and size of the last batch.
#[derive(Debug, Default)]
pub(super) struct BatchTimer(Mutex<LastBatch>);

#[derive(Debug, Default)]
struct LastBatch {
    at: Option<Instant>,
    size: usize,
}

impl BatchTimer {
    /// Returns the earliest start of the next batch and records it as started. The delay after the last batch depends
    /// on its size. Callers that arrive meanwhile join the batch; a single caller does not wait.
    pub fn due(&self, batch_delay: impl Fn(usize) -> Duration) -> Instant {
        let mut last = self.last();
        let now = Instant::now();
        let due = last.at.map_or(now, |at| now.max(at + batch_delay(last.size)));
        last.at = Some(due);
        due
    }

    /// Records the size of the batch.
    pub fn record(&self, count: usize) {
        self.last().size = count;
    }

    fn last(&self) -> MutexGuard<'_, LastBatch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_caller_does_not_wait_and_the_next_one_does() {
        let (batching, batch_delay) = (BatchTimer::default(), |_| Duration::from_secs(60));
        let first = batching.due(batch_delay);
        assert!(first <= Instant::now());
        assert_eq!(batching.due(batch_delay), first + batch_delay(0));
        assert_eq!(batching.due(batch_delay), first + batch_delay(0) * 2);
    }

    #[test]
    fn the_delay_grows_with_the_last_batch() {
        let (batching, batch_delay) = (BatchTimer::default(), |size| Duration::from_secs(60 + size as u64));
        let first = batching.due(batch_delay);
        batching.record(7);
        assert_eq!(batching.due(batch_delay), first + Duration::from_secs(67));
    }
}
