//! One call at a time for each program: many plugs at one that hangs would hold every thread there is.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a call may last before others do not wait for its end. One that answers is free again within milliseconds.
const SHORT_CALL: Duration = Duration::from_millis(250);

/// The programs that are being called, by host and port, and since when.
#[derive(Default)]
pub(super) struct Crowd {
    called: Mutex<HashMap<String, Instant>>,
    left: Condvar,
}

/// The right to call a program; given back when it is dropped.
pub(super) struct Place<'a> {
    crowd: &'a Crowd,
    host: String,
}

impl Crowd {
    /// A place at the program of a URL; none when it is busy with a call that is not short. Blocks for a moment.
    pub fn enter(&self, url: &str) -> Option<Place<'_>> {
        let host = url.parse::<http::Uri>().ok().and_then(|uri| uri.authority().map(ToString::to_string));
        let host = host.unwrap_or_else(|| url.to_string());
        let mut called = self.called();
        while let Some(since) = called.get(&host) {
            let left = SHORT_CALL.checked_sub(since.elapsed())?;
            called = self.left.wait_timeout(called, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        called.insert(host.clone(), Instant::now());
        Some(Place { crowd: self, host })
    }

    fn called(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.called.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.crowd.called().remove(&self.host);
        self.crowd.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_holds_one_call_and_no_other_program() {
        let crowd = Crowd::default();
        let hangs = crowd.enter("http://a:80/socket/config");
        assert!(hangs.is_some());
        assert!(crowd.enter("http://a:80/ping").is_none(), "one at a time, whatever is asked");
        assert!(crowd.enter("http://b:80/ping").is_some());
        drop(hangs);
        assert!(crowd.enter("http://a:80/ping").is_some());
    }
}
