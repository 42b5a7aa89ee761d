//! How many requests go to the API servers in a second, whatever they are for.
//!
//! ```text
//!  lists, watches ──┐
//!  looks, writes  ──┼──▶ gate: at most so many in any one second, first come first served ──▶ API servers
//!  Events         ──┘
//! ```
//!
//! The scheduler shares the writes of a second out among operators; this holds for every request that is really made, those
//! that are repeated included.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::moment::Moment;
use crate::scheduler::window::Window;

/// No limit.
const OPEN: u32 = u32::MAX;

/// Lets so many requests through in any one second. Clones are the same gate.
///
/// # Guarantees
/// - In no second pass more than the limit.            // test: guarantees_no_second_sees_more_than_the_limit
/// - Who came first passes first, and everybody does.  // test: guarantees_everybody_passes_in_turn
#[derive(Clone, Debug)]
pub struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: AtomicU32,
    began: Instant,
    /// Tokio's lock is given in the order it was asked for, and held by who is next.
    passed: Mutex<Window>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::open()
    }
}

impl Gate {
    /// One that holds nobody up.
    pub fn open() -> Self {
        Self::of(OPEN)
    }

    /// One that lets so many through in any one second; at least one.
    pub fn of(per_second: u32) -> Self {
        let (limit, passed) = (AtomicU32::new(per_second.max(1)), Mutex::new(Window::new(Duration::from_secs(1))));
        Self(Arc::new(Inner { limit, began: Instant::now(), passed }))
    }

    /// Changes the limit, also for who waits already, from the next that passes on.
    pub fn set(&self, per_second: u32) {
        self.0.limit.store(per_second.max(1), Ordering::Relaxed);
    }

    /// Waits until one more request may be made. To be called before its time is measured: waiting here says nothing about the
    /// server.
    pub async fn pass(&self) {
        if self.limit() == OPEN {
            return;
        }
        let mut passed = self.0.passed.lock().await;
        loop {
            let now = Moment(0).after(self.0.began.elapsed());
            let Some(again) = admit(&mut passed, now, self.limit()) else { return };
            tokio::time::sleep_until(self.0.began + again.since(Moment(0))).await;
        }
    }

    fn limit(&self) -> u32 {
        self.0.limit.load(Ordering::Relaxed)
    }
}

/// Lets one more pass; or says when to ask again.
fn admit(passed: &mut Window, now: Moment, limit: u32) -> Option<Moment> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if passed.left(now, limit) == 0 {
        return passed.when(1, limit);
    }
    passed.spend(now, 1);
    None
}

#[cfg(test)]
mod tests;
