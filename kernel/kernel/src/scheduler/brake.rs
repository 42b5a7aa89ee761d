//! Rate of writes that follows the API servers: it rises while they respond as fast as usual, and falls when they slow
//! down or return 429.
//!
//! The rate rises by addition and falls by multiplication, as that of TCP does, so processes that share an API server
//! converge to equal parts. A server counts as slow only if even the fastest run of an interval waited longer: a slow
//! webhook or a large object delays single writes, a queue in the server delays all of them.
//!
//! One rate applies to all clusters of the process.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_WRITES_PER_SECOND, MIN_WRITES_PER_SECOND, START_WRITES_PER_SECOND};
use crate::timestamp::Timestamp;

/// Time for which responses are collected before the rate changes; also the minimum time between two decreases, because
/// a full server rejects several requests at once.
pub(super) const INTERVAL: Duration = Duration::from_millis(500);
/// Increase of the rate after an interval in which all of it was used, or which began below the start value: without
/// it, a quiet process would stay slowed for its next burst.
pub(super) const INCREASE: u32 = 50;
/// Divisor of the rate for a decrease.
const DECREASE: u32 = 2;
/// Delay beyond the usual duration of a write at which a server counts as slow.
pub(super) const SLOW: Duration = Duration::from_millis(150);
/// Minimum number of runs with writes in an interval, to judge by their durations.
pub(super) const MIN_SAMPLES: u32 = 4;
/// Time after which the usual duration is measured again: an API server may have moved farther away.
const USUAL_AGE: Duration = Duration::from_secs(600);

/// Reason why the rate fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "cause")]
pub enum SlowServer {
    /// An API server returned 429.
    TooManyRequests,
    /// Writes take longer than usual.
    #[serde(rename_all = "camelCase")]
    Latency {
        /// Duration of the fastest write in milliseconds.
        fastest_ms: u64,
        /// Usual duration of a write in milliseconds.
        usual_ms: u64,
    },
}

/// Rate of writes, adapted to the responses of the API servers.
#[derive(Clone, Debug)]
pub(super) struct Brake {
    per_second: u32,
    /// Start of the current interval.
    since: Timestamp,
    /// Duration of a write in the fastest run of the interval, and the number of runs.
    fastest: Option<Duration>,
    samples: u32,
    /// Whether the rate has delayed a run in the interval.
    used: bool,
    /// Shortest duration of a write in the last [`USUAL_AGE`], with the time of its measurement.
    usual: Option<(Timestamp, Duration)>,
    fell: Option<(Timestamp, SlowServer)>,
}

impl Default for Brake {
    fn default() -> Self {
        let (since, fastest, samples, used, usual, fell) = Default::default();
        Self { per_second: START_WRITES_PER_SECOND, since, fastest, samples, used, usual, fell }
    }
}

impl Brake {
    /// Returns the maximum number of writes in any second.
    pub(super) fn writes_per_second(&self) -> u32 {
        self.per_second
    }

    /// Returns the reason of the last decrease until the rate is back at its start value.
    pub(super) fn reason(&self) -> Option<SlowServer> {
        self.fell.filter(|_| self.per_second < START_WRITES_PER_SECOND).map(|(_, reason)| reason)
    }

    /// Records the average duration of a run's writes. `used` states whether all writes of the last second were spent.
    pub(super) fn record(&mut self, now: Timestamp, write: Duration, used: bool) {
        self.fastest = Some(self.fastest.map_or(write, |fastest| fastest.min(write)));
        self.samples += 1;
        self.used |= used;
        if now.since(self.since) >= INTERVAL {
            self.end_interval(now, self.fastest.unwrap_or(write));
        }
    }

    /// Records that an API server returned 429.
    pub(super) fn throttle(&mut self, now: Timestamp) {
        self.decrease(now, SlowServer::TooManyRequests);
    }

    fn end_interval(&mut self, now: Timestamp, fastest: Duration) {
        let judged = self.samples >= MIN_SAMPLES;
        let outdated = |(at, usual): (Timestamp, Duration)| fastest < usual || now.since(at) > USUAL_AGE;
        if judged && self.usual.is_none_or(outdated) {
            self.usual = Some((now, fastest));
        }
        let usual = self.usual.map_or(fastest, |(_, usual)| usual);
        if judged && fastest > usual + SLOW {
            let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            self.decrease(now, SlowServer::Latency { fastest_ms: ms(fastest), usual_ms: ms(usual) });
        } else if (self.used || self.per_second < START_WRITES_PER_SECOND)
            && self.fell.is_none_or(|(at, _)| now.since(at) >= INTERVAL)
        {
            self.per_second = (self.per_second + INCREASE).min(MAX_WRITES_PER_SECOND);
        }
        (self.since, self.fastest, self.samples, self.used) = (now, None, 0, false);
    }

    fn decrease(&mut self, now: Timestamp, reason: SlowServer) {
        if self.fell.is_some_and(|(at, _)| now.since(at) < INTERVAL) {
            return;
        }
        self.per_second = (self.per_second / DECREASE).max(MIN_WRITES_PER_SECOND);
        self.fell = Some((now, reason));
    }
}

#[cfg(test)]
mod tests;
