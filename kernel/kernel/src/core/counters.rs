//! Counters of one operator.

use std::collections::VecDeque;

use crate::state::decide_times::DecideTimes;

/// Number of runs over which decide times are computed.
const RUNS_TIMED: usize = 256;

/// Runs, failures, writes and decide times of one operator.
#[derive(Default)]
pub(super) struct RunCounters {
    pub runs: u64,
    pub failures: u64,
    pub writes: u64,
    pub decide_times: DecideTimes,
    times_us: VecDeque<u64>,
}

impl RunCounters {
    /// Counts a run; a failure is counted when the run is over.
    pub fn run(&mut self, decide_us: u64) {
        self.runs += 1;
        self.decide_times.add(decide_us);
        if self.times_us.len() == RUNS_TIMED {
            self.times_us.pop_front();
        }
        self.times_us.push_back(decide_us);
    }

    /// Returns the given percentile of the decide times of the last runs.
    pub fn percentile_us(&self, percent: usize) -> u64 {
        let mut sorted: Vec<u64> = self.times_us.iter().copied().collect();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}
