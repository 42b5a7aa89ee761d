//! Limits concurrent calls for each program: a few in general, and one for a program that hangs. Without the limit,
//! many plugs of one program would block all threads.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::answer::CallAnswer;

/// Maximum number of concurrent calls to one program; less than the number of an operator's threads.
const MAX_CONCURRENT_CALLS: usize = 3;
/// Duration after which other callers no longer wait for a call.
const LONG_CALL: Duration = Duration::from_secs(2);
/// Maximum number of remembered programs that hang and are not called.
const MAX_REMEMBERED: usize = 1000;

/// Limits the calls to each program, by host and port.
#[derive(Default)]
pub(super) struct CallLimiter {
    programs: Mutex<HashMap<String, ProgramCalls>>,
    released: Condvar,
}

#[derive(Default)]
struct ProgramCalls {
    /// Start times of the calls in progress.
    since: Vec<Instant>,
    /// Whether the last call that ended timed out.
    hangs: bool,
}

/// Permit to call a program, released when dropped.
pub(super) struct CallPermit<'a> {
    limiter: &'a CallLimiter,
    host: String,
    since: Instant,
    hangs: bool,
}

impl CallLimiter {
    /// Returns a permit for the program of a URL, or `None` if the program is busy with long calls. Blocks briefly if a
    /// permit may be released soon.
    pub fn acquire(&self, url: &str) -> Option<CallPermit<'_>> {
        let host = url.parse::<http::Uri>().ok().and_then(|uri| uri.authority().map(ToString::to_string));
        let host = host.unwrap_or_else(|| url.to_string());
        let mut all = self.programs();
        if all.len() > MAX_REMEMBERED {
            all.retain(|_, called| !called.since.is_empty());
        }
        loop {
            let called = all.entry(host.clone()).or_default();
            let room = if called.hangs { 1 } else { MAX_CONCURRENT_CALLS };
            let Some(oldest) = called.since.first().filter(|_| called.since.len() >= room) else { break };
            if called.hangs {
                return None;
            }
            let left = LONG_CALL.checked_sub(oldest.elapsed())?;
            all = self.released.wait_timeout(all, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let since = Instant::now();
        all.entry(host.clone()).or_default().since.push(since);
        Some(CallPermit { limiter: self, host, since, hangs: false })
    }

    fn programs(&self) -> MutexGuard<'_, HashMap<String, ProgramCalls>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallPermit<'_> {
    /// Records the answer of the call.
    pub fn record(mut self, answer: &CallAnswer) {
        self.hangs = *answer == CallAnswer::TimedOut;
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        let mut all = self.limiter.programs();
        if let Some(called) = all.get_mut(&self.host) {
            called.hangs = self.hangs;
            if let Some(at) = called.since.iter().position(|since| *since == self.since) {
                called.since.remove(at);
            }
            if called.since.is_empty() && !called.hangs {
                all.remove(&self.host);
            }
        }
        self.limiter.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_holds_one_call_and_no_other_program() {
        let limiter = CallLimiter::default();
        let first = limiter.acquire("http://a:80/socket/config").expect("no other call is running");
        let second = limiter.acquire("http://a:80/ping").expect("a few at a time");
        let third = limiter.acquire("http://a:80/ping").expect("a few at a time");
        drop(third);
        first.record(&CallAnswer::TimedOut);
        assert!(limiter.acquire("http://a:80/ping").is_none(), "one at a time, whatever is asked");
        assert!(limiter.acquire("http://b:80/ping").is_some(), "others are not held up");
        second.record(&CallAnswer::Status(200));
        let places = [limiter.acquire("http://a:80/ping"), limiter.acquire("http://a:80/ping")];
        assert!(places.iter().all(Option::is_some), "it answers again");
    }
}
