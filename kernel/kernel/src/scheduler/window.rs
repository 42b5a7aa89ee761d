//! Sliding window over recent writes.

use std::collections::VecDeque;
use std::time::Duration;

use crate::timestamp::Timestamp;

/// Number of slots of a window, which bounds its memory.
const SLOTS: u64 = 100;

/// Counts writes within a sliding window.
///
/// A write in a slot counts from the end of that slot, so no window is ever overdrawn; budget becomes available at most
/// one slot, a hundredth of the window, late.
#[derive(Clone, Debug)]
pub(crate) struct BudgetWindow {
    length: Duration,
    spent: VecDeque<(Timestamp, usize)>,
}

impl BudgetWindow {
    pub(crate) fn new(length: Duration) -> Self {
        Self { length, spent: VecDeque::new() }
    }

    /// Returns how much of `limit` is left.
    pub(crate) fn left(&self, now: Timestamp, limit: usize) -> usize {
        let used: usize =
            self.spent.iter().filter(|(end, _)| end.after(self.length) > now).map(|(_, count)| count).sum();
        limit.saturating_sub(used)
    }

    /// Refunds writes made at that time, if they are still within the window.
    pub(crate) fn refund(&mut self, at: Timestamp, count: usize) {
        let end = self.slot_end(at);
        if let Some((_, spent)) = self.spent.iter_mut().rev().find(|(slot, _)| *slot == end) {
            *spent = spent.saturating_sub(count);
        }
    }

    pub(crate) fn spend(&mut self, now: Timestamp, count: usize) {
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

    /// Returns the time from which `wanted` of `limit` are left if nothing more is spent; `None` if that exceeds the
    /// limit.
    pub(crate) fn available_at(&self, wanted: usize, limit: usize) -> Option<Timestamp> {
        let mut used: usize = self.spent.iter().map(|(_, count)| count).sum();
        let most = limit.checked_sub(wanted)?;
        let mut opens = Timestamp::default();
        for (end, count) in &self.spent {
            if used <= most {
                break;
            }
            used -= count;
            opens = end.after(self.length);
        }
        Some(opens)
    }

    fn slot_end(&self, at: Timestamp) -> Timestamp {
        let slot_ms = self.slot_ms();
        Timestamp((at.0 / slot_ms).saturating_add(1).saturating_mul(slot_ms))
    }

    fn slot_ms(&self) -> u64 {
        u64::try_from(self.length.as_millis()).unwrap_or(u64::MAX).div_ceil(SLOTS).max(1)
    }
}
