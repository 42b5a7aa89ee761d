//! Distribution of decide times.

use serde::{Deserialize, Serialize};

/// Upper bounds of the buckets in microseconds. Longer decisions are only in the count and the sum.
pub const BUCKETS_US: [u64; 11] =
    [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 30_000_000];

/// Number of decisions by duration, since the start of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecideTimes {
    /// Decisions of each bucket alone; the bounds are [`BUCKETS_US`].
    buckets: [u64; BUCKETS_US.len()],
    /// Number of decisions.
    pub count: u64,
    /// Sum of all durations in microseconds.
    pub sum_us: u64,
}

impl DecideTimes {
    /// Adds a decision.
    pub fn add(&mut self, duration_us: u64) {
        if let Some(bucket) = BUCKETS_US.iter().position(|bound| duration_us <= *bound) {
            self.buckets[bucket] += 1;
        }
        self.count += 1;
        self.sum_us = self.sum_us.saturating_add(duration_us);
    }

    /// Whether there was no decision.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns each upper bound in microseconds with the number of decisions that took at most this time.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.buckets.iter().scan(0, |total, count| {
            *total += count;
            Some(*total)
        });
        BUCKETS_US.into_iter().zip(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_a_longer_decision_is_in_the_count_alone() {
        let mut times = DecideTimes::default();
        [100, 101, 40_000_000].into_iter().for_each(|duration| times.add(duration));
        let cumulative: Vec<(u64, u64)> = times.cumulative().collect();
        assert_eq!(cumulative[..2], [(100, 1), (500, 2)]);
        assert_eq!(cumulative.last(), Some(&(30_000_000, 2)));
        assert_eq!((times.count, times.sum_us), (3, 40_000_201));
    }
}
