//! A sliding window: how much was spent lately.

use std::collections::VecDeque;
use std::time::Duration;

use crate::moment::Moment;

/// Into how many slots a window is divided; what bounds its memory.
const SLOTS: u64 = 100;

/// Counts what was spent within the last so-and-so-long.
///
/// What is spent in a slot counts as spent at its end, so a window is never overdrawn, whichever one looks at;
/// room comes back at most one slot, a hundredth of the window, late.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    length: Duration,
    spent: VecDeque<(Moment, usize)>,
}

impl Window {
    pub(crate) fn new(length: Duration) -> Self {
        Self { length, spent: VecDeque::new() }
    }

    /// How much of `limit` is left.
    pub(crate) fn left(&self, now: Moment, limit: usize) -> usize {
        let used: usize =
            self.spent.iter().filter(|(end, _)| end.after(self.length) > now).map(|(_, count)| count).sum();
        limit.saturating_sub(used)
    }

    /// Takes back what was spent at that moment; nothing when that is out of the window by now, as it counts no more.
    pub(crate) fn refund(&mut self, at: Moment, count: usize) {
        let end = self.slot_end(at);
        if let Some((_, spent)) = self.spent.iter_mut().rev().find(|(slot, _)| *slot == end) {
            *spent = spent.saturating_sub(count);
        }
    }

    pub(crate) fn spend(&mut self, now: Moment, count: usize) {
        while self.spent.front().is_some_and(|(end, _)| end.after(self.length) <= now) {
            self.spent.pop_front();
        }
        if count == 0 {
            return;
        }
        let end = self.slot_end(now);
        match self.spent.back_mut() {
            Some((last, spent)) if *last == end => *spent += count,
            _ => self.spent.push_back((end, count)),
        }
    }

    /// From when on `wanted` of `limit` are left if nothing more is spent; `None` when that is more than the limit.
    pub(crate) fn when(&self, wanted: usize, limit: usize) -> Option<Moment> {
        let mut used: usize = self.spent.iter().map(|(_, count)| count).sum();
        let most = limit.checked_sub(wanted)?;
        let mut opens = Moment::default();
        for (end, count) in &self.spent {
            if used <= most {
                break;
            }
            used -= count;
            opens = end.after(self.length);
        }
        Some(opens)
    }

    fn slot_end(&self, at: Moment) -> Moment {
        let slot_ms = self.slot_ms();
        Moment((at.0 / slot_ms).saturating_add(1).saturating_mul(slot_ms))
    }

    fn slot_ms(&self) -> u64 {
        u64::try_from(self.length.as_millis()).unwrap_or(u64::MAX).div_ceil(SLOTS).max(1)
    }
}
