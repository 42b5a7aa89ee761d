//! Time and chance, passed in so that a test can fix them.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use ring::rand::SecureRandom;

/// Characters of generated name suffixes: no vowels, no look-alikes, as upstream.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
type Chance = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// Where the server takes time and randomness from.
#[derive(Clone)]
pub struct Ambient {
    clock: Clock,
    chance: Chance,
}

impl Ambient {
    /// The system's clock and random generator.
    pub fn system() -> Self {
        let random = ring::rand::SystemRandom::new();
        Self {
            clock: Arc::new(Timestamp::now),
            chance: Arc::new(move |bytes| random.fill(bytes).expect("the system has randomness")),
        }
    }

    /// A given clock and a given source of random bytes.
    pub fn new(
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
        chance: impl Fn(&mut [u8]) + Send + Sync + 'static,
    ) -> Self {
        Self { clock: Arc::new(clock), chance: Arc::new(chance) }
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// The time as objects carry it: RFC 3339, whole seconds, UTC.
    pub fn now_text(&self) -> String {
        time_text(self.now())
    }

    /// A new random uid.
    pub fn uid(&self) -> String {
        let mut bytes = [0u8; 16];
        (self.chance)(&mut bytes);
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let hex = |range: std::ops::Range<usize>| bytes[range].iter().map(|b| format!("{b:02x}")).collect::<String>();
        format!("{}-{}-{}-{}-{}", hex(0..4), hex(4..6), hex(6..8), hex(8..10), hex(10..16))
    }

    /// A random suffix for `generateName`.
    pub fn suffix(&self) -> String {
        let mut bytes = [0u8; SUFFIX_LENGTH];
        (self.chance)(&mut bytes);
        bytes.iter().map(|b| SUFFIX_ALPHABET[*b as usize % SUFFIX_ALPHABET.len()] as char).collect()
    }

    /// Random bytes.
    pub fn fill(&self, bytes: &mut [u8]) {
        (self.chance)(bytes);
    }
}

/// A time as objects carry it.
pub fn time_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl fmt::Debug for Ambient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ambient")
    }
}
