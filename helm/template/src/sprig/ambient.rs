//! What functions may know of the world. Nothing is taken from it unless it was given.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::time::{Moment, Zone};
use crate::error::Error;

/// The world as the caller lets templates see it; give it to an execution as a host. What is missing is an error to ask for.
#[derive(Clone, Default)]
pub struct Ambient {
    /// The time it is, for `now`, `ago` and certificates.
    pub now: Option<Timestamp>,
    /// The zone Go calls `Local`; UTC if it is not given.
    pub zone: Option<TimeZone>,
    /// Where random bytes come from.
    pub entropy: Option<Arc<dyn Entropy>>,
    /// What `env` and `expandenv` read.
    pub environment: Option<BTreeMap<String, String>>,
    /// What `getHostByName` asks.
    pub resolver: Option<Arc<dyn Resolver>>,
}

/// A source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer.
    fn fill(&self, bytes: &mut [u8]);
}

/// A source of addresses for names.
pub trait Resolver: Send + Sync {
    /// The addresses of a host; none if it is not known.
    fn addresses(&self, host: &str) -> Vec<String>;
}

impl Ambient {
    /// A world of one moment and a seed: the same templates give the same output.
    pub fn fixed(now: Timestamp, seed: &[u8]) -> Ambient {
        Ambient { now: Some(now), entropy: Some(Arc::new(Seeded::new(seed))), ..Ambient::default() }
    }

    pub(super) fn local(&self) -> Zone {
        self.zone.clone().map_or(Zone::Utc, Zone::Local)
    }

    /// `Local` is a zone of its own even where it is UTC: it prints as UTC, but is named `Local`.
    pub(super) fn now(&self) -> Result<Moment, Error> {
        let now = self.now.ok_or_else(|| Error::call("no clock: the time was not given to this template"))?;
        let nanos = u32::try_from(now.subsec_nanosecond().rem_euclid(1_000_000_000)).unwrap_or(0);
        let seconds = now.as_nanosecond().div_euclid(1_000_000_000) as i64;
        Ok(Moment::unix(seconds, nanos, self.local()))
    }

    pub(super) fn entropy(&self) -> Result<&dyn Entropy, Error> {
        let missing = || Error::call("no randomness: none was given to this template");
        self.entropy.as_deref().ok_or_else(missing)
    }
}

/// Random bytes that follow from a seed: SHA-256 of the seed and a counter.
pub struct Seeded {
    seed: Vec<u8>,
    counter: Mutex<u64>,
}

impl Seeded {
    /// From a seed of any length.
    pub fn new(seed: &[u8]) -> Seeded {
        Seeded { seed: seed.to_vec(), counter: Mutex::new(0) }
    }
}

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) {
        let mut counter = self.counter.lock().unwrap_or_else(PoisonError::into_inner);
        for chunk in bytes.chunks_mut(32) {
            let block = super::crypto::sha256(&[&self.seed, &counter.to_be_bytes()[..]].concat());
            chunk.copy_from_slice(&block[..chunk.len()]);
            *counter += 1;
        }
    }
}

/// A number below `bound`, each as likely as the other.
pub fn below(entropy: &dyn Entropy, bound: u64) -> u64 {
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
