//! Time for the loop: it never goes back, whatever is done to the machine's clock.

use std::time::SystemTime;

use tokio::time::Instant;

use crate::moment::Moment;

/// The machine's clock when it started, and what has passed since.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    origin: Instant,
    moment: Moment,
}

impl Clock {
    pub fn start() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { origin: Instant::now(), moment: Moment(0).after(since) }
    }

    pub fn now(&self) -> Moment {
        self.moment.after(self.origin.elapsed())
    }

    pub fn instant(&self, moment: Moment) -> Instant {
        self.origin + moment.since(self.moment)
    }
}
