//! How often a tenant may ask: a bucket of tokens for each, filled at a steady rate.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How many requests a second one tenant may make for long.
pub const REQUESTS_PER_S: f64 = 50.0;

/// How many requests one tenant may make at once.
pub const BURST: f64 = 100.0;

/// How many tokens a second one address may show that nobody has seen before: each is a question to the cluster.
pub const UNKNOWN_TOKENS_PER_S: f64 = 10.0;

/// How many of them at once.
pub const UNKNOWN_TOKENS_BURST: f64 = 50.0;

/// The most buckets that are kept; the fullest go first, because a full one says nothing.
const MAX_BUCKETS: usize = 10_000;

/// How fast a bucket fills, and how much it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Tokens a second.
    pub per_s: f64,
    /// Tokens in a full bucket.
    pub burst: f64,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate { per_s: REQUESTS_PER_S, burst: BURST }
    }
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    filled_ms: u64,
}

/// Buckets, decided on without a clock.
///
/// # Guarantees
/// - Nobody gets more than a burst and the rate together allow.     // test: guarantees_nobody_gets_more_than_burst_and_rate
/// - One tenant's requests take nothing from another's.             // test: guarantees_tenants_do_not_take_from_each_other
/// - There are never more buckets than the bound.                   // test: guarantees_buckets_are_bounded
#[derive(Debug)]
pub struct Buckets {
    rate: Rate,
    of: BTreeMap<String, Bucket>,
}

impl Buckets {
    /// Buckets that fill at this rate.
    pub fn new(rate: Rate) -> Buckets {
        Buckets { rate, of: BTreeMap::new() }
    }

    /// Takes a token of whoever asks; the error is for how many milliseconds there is none.
    pub fn take(&mut self, who: &str, now_ms: u64) -> Result<(), u64> {
        let rate = self.rate;
        if !self.of.contains_key(who) {
            self.make_room(now_ms);
            self.of.insert(who.to_string(), Bucket { tokens: rate.burst, filled_ms: now_ms });
        }
        let Some(bucket) = self.of.get_mut(who) else { return Ok(()) };
        bucket.tokens = level(bucket, rate, now_ms);
        bucket.filled_ms = bucket.filled_ms.max(now_ms);
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        let wait_s = if rate.per_s > 0.0 { (1.0 - bucket.tokens) / rate.per_s } else { f64::from(u16::MAX) };
        // Saturates, and a wait is never negative.
        Err((wait_s * 1000.0).ceil() as u64)
    }

    fn make_room(&mut self, now_ms: u64) {
        if self.of.len() < MAX_BUCKETS {
            return;
        }
        let rate = self.rate;
        self.of.retain(|_, bucket| level(bucket, rate, now_ms) < rate.burst);
        if self.of.len() >= MAX_BUCKETS {
            // None is full: the fuller half goes, those who asked for much stay remembered.
            let mut levels: Vec<f64> = self.of.values().map(|bucket| level(bucket, rate, now_ms)).collect();
            levels.sort_by(f64::total_cmp);
            let middle = levels[levels.len() / 2];
            self.of.retain(|_, bucket| level(bucket, rate, now_ms) < middle);
        }
    }
}

fn level(bucket: &Bucket, rate: Rate, now_ms: u64) -> f64 {
    let passed_s = now_ms.saturating_sub(bucket.filled_ms) as f64 / 1000.0;
    (bucket.tokens + passed_s * rate.per_s).min(rate.burst)
}

/// Buckets with a clock, for several at a time.
#[derive(Debug)]
pub struct Limit {
    began: Instant,
    buckets: Mutex<Buckets>,
}

impl Limit {
    /// A limit of this rate.
    pub fn new(rate: Rate) -> Limit {
        Limit { began: Instant::now(), buckets: Mutex::new(Buckets::new(rate)) }
    }

    /// Takes a token of whoever asks; the error is after how many seconds to ask again.
    pub fn take(&self, who: &str) -> Result<(), u64> {
        let now_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(who, now_ms).map_err(|wait_ms| wait_ms.div_ceil(1000).max(1))
    }
}

#[cfg(test)]
mod tests;
