//! Repeatable random numbers for tests.

/// A small random number generator (splitmix64), for tests only.
#[derive(Clone, Debug)]
pub struct RandomNumbers(u64);

impl RandomNumbers {
    /// Creates a generator from a seed.
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

    /// Returns a number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.step() % end.max(1)
    }
}
