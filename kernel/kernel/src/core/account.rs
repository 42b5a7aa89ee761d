//! What is counted for one operator.

use std::collections::VecDeque;

/// Over how many runs the times are shown.
const RUNS_TIMED: usize = 256;

/// Runs, failures, writes and times of one operator.
#[derive(Default)]
pub(super) struct Account {
    pub runs: u64,
    pub failures: u64,
    pub writes: u64,
    times_us: VecDeque<u64>,
}

impl Account {
    /// One run more; whether it failed shows when it is over.
    pub fn run(&mut self, decide_us: u64) {
        self.runs += 1;
        if self.times_us.len() == RUNS_TIMED {
            self.times_us.pop_front();
        }
        self.times_us.push_back(decide_us);
    }

    /// The time that this part in a hundred of the last runs did not exceed.
    pub fn percentile_us(&self, percent: usize) -> u64 {
        let mut sorted: Vec<u64> = self.times_us.iter().copied().collect();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }
}
