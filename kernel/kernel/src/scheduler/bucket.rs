//! Token bucket: a burst after quiet, then a steady rate.

use std::time::Duration;

use crate::timestamp::Timestamp;

/// Size and refill of a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct BucketRate {
    /// Number of tokens of a full bucket.
    pub burst: u32,
    /// Time after which one token is back.
    pub refill: Duration,
}

/// Bucket that is full at first. It stores only the time at which it is full again, because there is one for each unit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TokenBucket {
    full_at: Timestamp,
}

impl TokenBucket {
    /// Takes tokens, also if fewer are left: the debt delays later ones.
    pub(super) fn take(&mut self, now: Timestamp, rate: BucketRate, count: usize) {
        self.full_at = self.full_at.max(now).after(tokens(rate, count));
    }

    /// Returns tokens that were taken and not used.
    pub(super) fn give_back(&mut self, rate: BucketRate, count: usize) {
        self.full_at = before(self.full_at, tokens(rate, count));
    }

    /// Returns the number of tokens left.
    pub(super) fn left(&self, now: Timestamp, rate: BucketRate) -> usize {
        let taken = self.full_at.since(now).as_millis().div_ceil(rate.refill.as_millis().max(1));
        (rate.burst as usize).saturating_sub(usize::try_from(taken).unwrap_or(usize::MAX))
    }

    /// Returns the time from which this number of tokens is left if no more are taken.
    pub(super) fn available_at(&self, rate: BucketRate, wanted: u32) -> Timestamp {
        before(self.full_at, tokens(rate, rate.burst.saturating_sub(wanted) as usize))
    }

    /// Returns the time at which the bucket is full, and so need not be remembered.
    pub(super) fn full_at(&self) -> Timestamp {
        self.full_at
    }
}

/// Returns the refill time of this number of tokens.
fn tokens(rate: BucketRate, count: usize) -> Duration {
    rate.refill.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}

fn before(at: Timestamp, time: Duration) -> Timestamp {
    Timestamp(at.0.saturating_sub(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: BucketRate = BucketRate { burst: 3, refill: Duration::from_millis(100) };

    #[test]
    fn a_bucket_allows_a_burst_and_then_one_per_refill() {
        let mut bucket = TokenBucket::default();
        let now = Timestamp(1_000);
        assert_eq!((bucket.left(now, RATE), bucket.available_at(RATE, 3)), (3, Timestamp(0)));
        bucket.take(now, RATE, 3);
        assert_eq!((bucket.left(now, RATE), bucket.available_at(RATE, 1)), (0, Timestamp(1_100)));
        assert_eq!((bucket.left(Timestamp(1_099), RATE), bucket.left(Timestamp(1_100), RATE)), (0, 1));
        bucket.take(Timestamp(1_100), RATE, 1);
        assert_eq!((bucket.available_at(RATE, 1), bucket.full_at()), (Timestamp(1_200), Timestamp(1_400)));
        bucket.give_back(RATE, 1);
        assert_eq!(bucket.left(Timestamp(1_100), RATE), 1);
        assert_eq!(bucket.left(Timestamp(9_000), RATE), 3, "a quiet bucket is full, not fuller");
    }

    #[test]
    fn a_debt_delays_later_tokens() {
        let mut bucket = TokenBucket::default();
        bucket.take(Timestamp(0), RATE, 13);
        assert_eq!((bucket.left(Timestamp(1_000), RATE), bucket.available_at(RATE, 1)), (0, Timestamp(1_100)));
    }
}
