//! Time for the loop: it never goes back, whatever is done to the machine's clock.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::moment::Moment;

/// A time that is known, and what has passed since. A machine that sleeps stands still for it, and a clock that is set
/// forward leaves it behind: then the machine's clock is taken anew.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    origin: Instant,
    moment: Moment,
}

impl Clock {
    /// How long the loop sleeps at most, so that it notices.
    pub const LOOK_EVERY: Duration = Duration::from_secs(30);

    pub fn start() -> Self {
        Self { origin: Instant::now(), moment: wall() }
    }

    pub fn now(&mut self) -> Moment {
        self.at(Instant::now(), wall())
    }

    /// The time, when the machine has run until `steady` and its clock says `wall`.
    fn at(&mut self, steady: Instant, wall: Moment) -> Moment {
        let passed = self.moment.after(steady.saturating_duration_since(self.origin));
        if wall > passed {
            *self = Self { origin: steady, moment: wall };
        }
        wall.max(passed)
    }

    pub fn instant(&self, moment: Moment) -> Instant {
        self.origin + moment.since(self.moment)
    }
}

fn wall() -> Moment {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Moment(0).after(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_slept_and_a_clock_that_was_set_are_followed_forward_only() {
        let origin = Instant::now();
        let mut clock = Clock { origin, moment: Moment(1_000_000) };
        let after = |ms: u64| origin + Duration::from_millis(ms);
        assert_eq!(clock.at(after(500), Moment(1_000_500)), Moment(1_000_500));
        // Set back an hour: time goes on from where it was.
        assert_eq!(clock.at(after(700), Moment(0)), Moment(1_000_700));
        // Asleep for an hour: nothing passed but on the wall.
        assert_eq!(clock.at(after(800), Moment(4_600_800)), Moment(4_600_800));
        assert_eq!(clock.instant(Moment(4_600_900)), after(900), "what is due is due in the new time");
        assert_eq!(clock.at(after(900), Moment(1_000_900)), Moment(4_600_900), "and never back");
    }
}
