//! Clock of the loop, which never goes back.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::timestamp::Timestamp;

/// Monotonic clock that starts at the wall clock. If the wall clock is ahead, because the machine slept or the time was
/// set, the clock continues from it.
#[derive(Clone, Copy)]
pub(super) struct HostClock {
    origin: Instant,
    timestamp: Timestamp,
}

impl HostClock {
    /// Maximum time the loop sleeps, so that it notices a changed wall clock.
    pub const CHECK_INTERVAL: Duration = Duration::from_secs(30);

    pub fn start() -> Self {
        Self { origin: Instant::now(), timestamp: wall_clock() }
    }

    pub fn now(&mut self) -> Timestamp {
        self.at(Instant::now(), wall_clock())
    }

    /// Returns the time for a reading of the monotonic clock and of the wall clock.
    fn at(&mut self, steady: Instant, wall: Timestamp) -> Timestamp {
        let passed = self.timestamp.after(steady.saturating_duration_since(self.origin));
        if wall > passed {
            *self = Self { origin: steady, timestamp: wall };
        }
        wall.max(passed)
    }

    pub fn instant(&self, timestamp: Timestamp) -> Instant {
        self.origin + timestamp.since(self.timestamp)
    }
}

fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(0).after(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_follows_sleep_and_time_changes_only_forward() {
        let origin = Instant::now();
        let mut clock = HostClock { origin, timestamp: Timestamp(1_000_000) };
        let after = |ms: u64| origin + Duration::from_millis(ms);
        assert_eq!(clock.at(after(500), Timestamp(1_000_500)), Timestamp(1_000_500));
        // The wall clock was set back by an hour: time continues from where it was.
        assert_eq!(clock.at(after(700), Timestamp(0)), Timestamp(1_000_700));
        // The machine slept for an hour: only the wall clock advanced.
        assert_eq!(clock.at(after(800), Timestamp(4_600_800)), Timestamp(4_600_800));
        assert_eq!(clock.instant(Timestamp(4_600_900)), after(900), "what is due is due in the new time");
        assert_eq!(clock.at(after(900), Timestamp(1_000_900)), Timestamp(4_600_900), "and never back");
    }
}
