//! System inputs of functions: clock, randomness, environment and network, each only if the caller provides it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::time::{GoTime, Zone};
use crate::error::Error;

/// System inputs that templates may use. Pass them to an execution as a host. A function whose input is missing fails.
#[derive(Clone, Default)]
pub struct SystemInputs {
    /// Current time for `now`, `ago` and certificates.
    pub now: Option<Timestamp>,
    /// Time zone that Go calls `Local`; the default is UTC.
    pub zone: Option<TimeZone>,
    /// Source of random bytes.
    pub entropy: Option<Arc<dyn Entropy>>,
    /// Environment variables for `env` and `expandenv`.
    pub environment: Option<BTreeMap<String, String>>,
    /// Resolver for `getHostByName`.
    pub resolver: Option<Arc<dyn Resolver>>,
}

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);
}

/// A source of addresses for host names.
pub trait Resolver: Send + Sync {
    /// Returns the addresses of a host, or none if it is unknown.
    fn addresses(&self, host: &str) -> Vec<String>;
}

impl SystemInputs {
    /// Creates system inputs from a fixed time and a seed: the same templates give the same output.
    pub fn fixed(now: Timestamp, seed: &[u8]) -> SystemInputs {
        SystemInputs { now: Some(now), entropy: Some(Arc::new(SeededEntropy::new(seed))), ..SystemInputs::default() }
    }

    pub(super) fn local(&self) -> Zone {
        self.zone.clone().map_or(Zone::Utc, Zone::Local)
    }

    /// Go's `Local` is a zone of its own even if it is UTC: it prints as UTC, but is named `Local`.
    pub(super) fn now(&self) -> Result<GoTime, Error> {
        let now = self.now.ok_or_else(|| Error::call("no clock: this template has no access to the time"))?;
        let nanos = u32::try_from(now.subsec_nanosecond().rem_euclid(1_000_000_000)).unwrap_or(0);
        let seconds = now.as_nanosecond().div_euclid(1_000_000_000) as i64;
        Ok(GoTime::unix(seconds, nanos, self.local()))
    }

    pub(super) fn entropy(&self) -> Result<&dyn Entropy, Error> {
        let missing = || Error::call("no randomness: this template has no access to a random source");
        self.entropy.as_deref().ok_or_else(missing)
    }
}

/// Deterministic random bytes: SHA-256 of a seed and a counter.
pub struct SeededEntropy {
    seed: Vec<u8>,
    counter: Mutex<u64>,
}

impl SeededEntropy {
    /// Creates a source from a seed of any length.
    pub fn new(seed: &[u8]) -> SeededEntropy {
        SeededEntropy { seed: seed.to_vec(), counter: Mutex::new(0) }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut counter = self.counter.lock().unwrap_or_else(PoisonError::into_inner);
        for chunk in bytes.chunks_mut(32) {
            let block = super::crypto::sha256(&[&self.seed, &counter.to_be_bytes()[..]].concat());
            chunk.copy_from_slice(&block[..chunk.len()]);
            *counter += 1;
        }
    }
}

/// Returns a uniformly distributed number below `bound`.
pub fn random_below(entropy: &dyn Entropy, bound: u64) -> u64 {
    let limit = u64::MAX - u64::MAX % bound.max(1);
    loop {
        let mut bytes = [0; 8];
        entropy.fill(&mut bytes);
        let number = u64::from_be_bytes(bytes);
        if number < limit {
            return number % bound.max(1);
        }
    }
}
