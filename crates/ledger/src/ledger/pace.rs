//! How often something is done that several can share.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time between two of many: whoever comes meanwhile shares the next one.
const GATHER: Duration = Duration::from_millis(20);

/// How many are done without waiting, after a rest: who comes alone, or a few in a row, does not wait.
const AT_ONCE: u32 = 8;

/// When the next one would be due if all had waited for each other.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<Option<Instant>>);

impl Pace {
    /// When it may be done next, and from then on it counts as done.
    pub fn due(&self) -> Instant {
        self.due_at(Instant::now())
    }

    fn due_at(&self, now: Instant) -> Instant {
        let mut paced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = paced.map_or(now, |paced| paced.max(now));
        *paced = Some(next + GATHER);
        // Those that may be done at once are ahead of their pace by so much.
        next.checked_sub(GATHER * AT_ONCE).map_or(now, |early| early.max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_do_not_wait_and_many_do_until_there_was_a_rest() {
        let (pace, now) = (Pace::default(), Instant::now() + GATHER * (2 * AT_ONCE));
        for _ in 0..=AT_ONCE {
            assert_eq!(pace.due_at(now), now);
        }
        assert_eq!(pace.due_at(now), now + GATHER);
        assert_eq!(pace.due_at(now), now + 2 * GATHER);
        let later = now + GATHER * (3 * AT_ONCE);
        for _ in 0..=AT_ONCE {
            assert_eq!(pace.due_at(later), later);
        }
        assert_eq!(pace.due_at(later), later + GATHER);
    }
}
