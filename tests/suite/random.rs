//! Repeatable randomness for tests: the same seed gives the same run.

/// A small generator (splitmix64): good enough to vary a test, and nothing else.
#[derive(Clone, Debug)]
pub struct RandomNumbers(u64);

impl RandomNumbers {
    /// A sequence of its own for each seed.
    pub fn new(seed: u64) -> RandomNumbers {
        RandomNumbers(seed)
    }

    fn step(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.step() % end.max(1)
    }
}
