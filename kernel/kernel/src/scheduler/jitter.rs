//! Deterministic jitter.

/// Random number generator SplitMix64: sufficient to spread delays, and reproducible for a seed.
#[derive(Clone, Debug)]
pub(super) struct Jitter(pub(super) u64);

impl Jitter {
    /// Returns a uniformly distributed fraction.
    pub(super) fn share(&mut self) -> JitterFraction {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        JitterFraction(u16::try_from((z ^ (z >> 31)) % u64::from(JitterFraction::WHOLE)).expect("a thousandth fits"))
    }
}

/// Fraction in thousandths.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JitterFraction(u16);

impl JitterFraction {
    const WHOLE: u16 = 1000;

    /// Returns this fraction of a time.
    pub(super) fn of(self, time: std::time::Duration) -> std::time::Duration {
        time.saturating_mul(u32::from(self.0)) / u32::from(Self::WHOLE)
    }
}
