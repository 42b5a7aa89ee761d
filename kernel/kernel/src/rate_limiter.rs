//! Rate limiter for all requests to the API servers.
//!
//! ```text
//!  lists, watches ──┐
//!  reads, writes  ──┼──▶ rate limiter: a maximum in any second, first come first served ──▶ API servers
//!  Events         ──┘
//! ```
//!
//! The scheduler divides the writes of a second among operators; the rate limiter applies to every request that is
//! sent, retries included.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::scheduler::window::BudgetWindow;
use crate::timestamp::Timestamp;

/// No limit.
const UNLIMITED: u32 = u32::MAX;

/// Limits the number of requests in any second, and collects the responses 429. Clones share both.
///
/// # Guarantees
/// - The number of requests never exceeds the limit in any second. // test: guarantees_no_second_sees_more_than_the_limit
/// - Requests pass in order of arrival, and all of them pass.      // test: guarantees_requests_pass_in_order
#[derive(Clone, Debug)]
pub struct RateLimiter(Arc<LimiterState>);

#[derive(Debug)]
struct LimiterState {
    limit: AtomicU32,
    throttled: AtomicBool,
    began: Instant,
    /// Tokio grants its lock in order of arrival; the next request holds it.
    passed: Mutex<BudgetWindow>,
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self::unlimited()
    }
}

impl RateLimiter {
    /// Creates a rate limiter without a limit.
    pub fn unlimited() -> Self {
        Self::per_second(UNLIMITED)
    }

    /// Creates a rate limiter for this number of requests per second; at least one.
    pub fn per_second(per_second: u32) -> Self {
        let (limit, passed) =
            (AtomicU32::new(per_second.max(1)), Mutex::new(BudgetWindow::new(Duration::from_secs(1))));
        Self(Arc::new(LimiterState { limit, throttled: AtomicBool::new(false), began: Instant::now(), passed }))
    }

    /// Creates a rate limiter with this limit; without one for `None`.
    pub fn of(per_second: Option<u32>) -> Self {
        Self::per_second(per_second.unwrap_or(UNLIMITED))
    }

    /// Changes the limit, also for requests that already wait, from the next request on. `None` removes it.
    pub fn set_limit(&self, per_second: Option<u32>) {
        self.0.limit.store(per_second.unwrap_or(UNLIMITED).max(1), Ordering::Relaxed);
    }

    /// Records the status code of a response.
    pub fn record_status(&self, code: u16) {
        if code == 429 {
            self.0.throttled.store(true, Ordering::Relaxed);
        }
    }

    /// Whether an API server has returned 429 since the last call.
    pub fn take_throttled(&self) -> bool {
        self.0.throttled.swap(false, Ordering::Relaxed)
    }

    /// Waits until another request may be sent. Call it before measuring the request's duration, which should not
    /// include this wait.
    pub async fn acquire(&self) {
        if self.limit() == UNLIMITED {
            return;
        }
        let mut passed = self.0.passed.lock().await;
        loop {
            let now = Timestamp(0).after(self.0.began.elapsed());
            let Some(again) = admit(&mut passed, now, self.limit()) else { return };
            tokio::time::sleep_until(self.0.began + again.since(Timestamp(0))).await;
        }
    }

    fn limit(&self) -> u32 {
        self.0.limit.load(Ordering::Relaxed)
    }
}

/// Admits a request, or returns when to try again.
fn admit(passed: &mut BudgetWindow, now: Timestamp, limit: u32) -> Option<Timestamp> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if passed.left(now, limit) == 0 {
        return passed.available_at(1, limit);
    }
    passed.spend(now, 1);
    None
}

#[cfg(test)]
mod tests;
