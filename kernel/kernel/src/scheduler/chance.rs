//! Randomness from a seed.

/// SplitMix64: enough to spread waits, the same for the same seed.
#[derive(Clone, Debug)]
pub(super) struct Chance(pub(super) u64);

impl Chance {
    /// A number below [`Share::WHOLE`], each as likely as another.
    pub(super) fn share(&mut self) -> Share {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Share(u16::try_from((z ^ (z >> 31)) % u64::from(Share::WHOLE)).expect("a thousandth fits"))
    }
}

/// So many thousandths.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share(u16);

impl Share {
    const WHOLE: u16 = 1000;

    /// That share of a time.
    pub(super) fn of(self, time: std::time::Duration) -> std::time::Duration {
        time.saturating_mul(u32::from(self.0)) / u32::from(Self::WHOLE)
    }
}
