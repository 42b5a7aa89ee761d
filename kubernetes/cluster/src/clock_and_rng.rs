//! Time and randomness, passed in so that tests can control them.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use ring::rand::SecureRandom;

/// Characters of generated name suffixes: no vowels and no look-alikes, as in Kubernetes.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

type ClockFn = Arc<dyn Fn() -> Timestamp + Send + Sync>;
type RandomFn = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// Sources of time and randomness.
#[derive(Clone)]
pub struct ClockAndRng {
    clock: ClockFn,
    random: RandomFn,
}

impl ClockAndRng {
    /// Returns the system's clock and random generator.
    pub fn system() -> Self {
        let random = ring::rand::SystemRandom::new();
        Self {
            clock: Arc::new(Timestamp::now),
            random: Arc::new(move |bytes| random.fill(bytes).expect("the system has a random generator")),
        }
    }

    /// Creates sources from a clock and a random generator.
    pub fn new(
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
        random: impl Fn(&mut [u8]) + Send + Sync + 'static,
    ) -> Self {
        Self { clock: Arc::new(clock), random: Arc::new(random) }
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Returns the current time in the format of object metadata: RFC 3339, whole seconds, UTC.
    pub fn now_text(&self) -> String {
        time_text(self.now())
    }

    /// Returns a new random uid.
    pub fn uid(&self) -> String {
        let mut bytes = [0u8; 16];
        (self.random)(&mut bytes);
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let hex = |range: std::ops::Range<usize>| bytes[range].iter().map(|b| format!("{b:02x}")).collect::<String>();
        format!("{}-{}-{}-{}-{}", hex(0..4), hex(4..6), hex(6..8), hex(8..10), hex(10..16))
    }

    /// Returns a random suffix for `generateName`.
    pub fn suffix(&self) -> String {
        let mut bytes = [0u8; SUFFIX_LENGTH];
        (self.random)(&mut bytes);
        bytes.iter().map(|b| SUFFIX_ALPHABET[*b as usize % SUFFIX_ALPHABET.len()] as char).collect()
    }

    /// Fills `bytes` with random bytes.
    pub fn fill(&self, bytes: &mut [u8]) {
        (self.random)(bytes);
    }
}

/// Formats a time as in object metadata.
pub fn time_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl fmt::Debug for ClockAndRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClockAndRng")
    }
}
