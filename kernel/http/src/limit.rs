//! Rate limit of a tenant's requests: a token bucket for each tenant, refilled at a steady rate.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Sustained requests per second of a tenant.
pub const REQUESTS_PER_S: f64 = 50.0;

/// Maximum burst of requests of a tenant.
pub const BURST: f64 = 100.0;

/// Sustained unknown tokens per second of a client address: each of them costs a TokenReview.
pub const UNKNOWN_TOKENS_PER_S: f64 = 10.0;

/// Maximum burst of unknown tokens of a client address.
pub const UNKNOWN_TOKENS_BURST: f64 = 50.0;

/// Maximum number of buckets; the fullest are removed first, because a full bucket equals a new one.
const MAX_BUCKETS: usize = 10_000;

/// Refill rate and capacity of a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Tokens added per second.
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
struct TokenBucket {
    tokens: f64,
    filled_ms: u64,
}

/// Token buckets, independent of a clock.
///
/// # Guarantees
/// - No caller gets more than the burst and the rate allow.          // test: guarantees_no_caller_gets_more_than_burst_and_rate
/// - Requests of a tenant do not take tokens from another tenant.     // test: guarantees_tenants_do_not_take_from_each_other
/// - The number of buckets never exceeds the bound.                  // test: guarantees_buckets_are_bounded
#[derive(Debug)]
pub struct TokenBuckets {
    rate: Rate,
    buckets: BTreeMap<String, TokenBucket>,
}

impl TokenBuckets {
    /// Creates buckets with this rate.
    pub fn new(rate: Rate) -> TokenBuckets {
        TokenBuckets { rate, buckets: BTreeMap::new() }
    }

    /// Takes a token of a caller; the error is the time until the next token, in milliseconds.
    pub fn take(&mut self, who: &str, now_ms: u64) -> Result<(), u64> {
        let rate = self.rate;
        if !self.buckets.contains_key(who) {
            self.evict(now_ms);
            self.buckets.insert(who.to_string(), TokenBucket { tokens: rate.burst, filled_ms: now_ms });
        }
        let Some(bucket) = self.buckets.get_mut(who) else { return Ok(()) };
        bucket.tokens = level(bucket, rate, now_ms);
        bucket.filled_ms = bucket.filled_ms.max(now_ms);
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        let wait_s = if rate.per_s > 0.0 { (1.0 - bucket.tokens) / rate.per_s } else { f64::from(u16::MAX) };
        // The cast saturates, and the wait is never negative.
        Err((wait_s * 1000.0).ceil() as u64)
    }

    fn evict(&mut self, now_ms: u64) {
        if self.buckets.len() < MAX_BUCKETS {
            return;
        }
        let rate = self.rate;
        self.buckets.retain(|_, bucket| level(bucket, rate, now_ms) < rate.burst);
        if self.buckets.len() >= MAX_BUCKETS {
            // No bucket is full: removes the fuller half and keeps the callers that used most.
            let mut levels: Vec<f64> = self.buckets.values().map(|bucket| level(bucket, rate, now_ms)).collect();
            levels.sort_by(f64::total_cmp);
            let middle = levels[levels.len() / 2];
            self.buckets.retain(|_, bucket| level(bucket, rate, now_ms) < middle);
        }
    }
}

fn level(bucket: &TokenBucket, rate: Rate, now_ms: u64) -> f64 {
    let passed_s = now_ms.saturating_sub(bucket.filled_ms) as f64 / 1000.0;
    (bucket.tokens + passed_s * rate.per_s).min(rate.burst)
}

/// Token buckets with a clock, for concurrent use.
#[derive(Debug)]
pub struct RequestLimiter {
    started: Instant,
    buckets: Mutex<TokenBuckets>,
}

impl RequestLimiter {
    /// Creates a limiter with this rate.
    pub fn new(rate: Rate) -> RequestLimiter {
        RequestLimiter { started: Instant::now(), buckets: Mutex::new(TokenBuckets::new(rate)) }
    }

    /// Takes a token of a caller; the error is the time until the next token, in seconds.
    pub fn take(&self, who: &str) -> Result<(), u64> {
        let now_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(who, now_ms).map_err(|wait_ms| wait_ms.div_ceil(1000).max(1))
    }
}

#[cfg(test)]
mod tests;
