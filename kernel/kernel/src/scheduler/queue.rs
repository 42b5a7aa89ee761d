//! Queue of the units of one operator.

mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use crate::limits::Limits;
use crate::operator::Unit;
use crate::state::OperatorPause;
use crate::timestamp::Timestamp;

use super::unit::UnitEntry;
use super::window::BudgetWindow;
use turns::Turns;

/// Limits and units of one operator, in the order in which they are due.
#[derive(Clone, Debug)]
pub(super) struct OperatorQueue {
    pub(super) limits: Limits,
    pub(super) paused: Option<OperatorPause>,
    /// Whether the operator was removed; its budget and active runs still count.
    pub(super) removed: bool,
    pub(super) running: usize,
    /// Whether its last finished run timed out: until a run finishes in time, only one runs at a time.
    pub(super) hung: bool,
    /// Boxed, because half of a tree's slots are empty and there are many units.
    pub(super) units: BTreeMap<Unit, Box<UnitEntry>>,
    // Units to run, by due time, then by arrival.
    queue: BTreeSet<(Timestamp, u64, Unit)>,
    turns: Turns,
    // Forgotten units, by the end of their cool-down.
    removed_units: BTreeSet<(Timestamp, Unit)>,
    second: BudgetWindow,
    minute: BudgetWindow,
    /// Time at which the operator last wanted to write.
    pub(super) last_spend: Option<Timestamp>,
}

impl OperatorQueue {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            paused: None,
            removed: false,
            running: 0,
            hung: false,
            units: BTreeMap::new(),
            queue: BTreeSet::new(),
            turns: Turns::default(),
            removed_units: BTreeSet::new(),
            second: BudgetWindow::new(Duration::from_secs(1)),
            minute: BudgetWindow::new(Duration::from_secs(60)),
            last_spend: None,
        }
    }

    /// Returns the due time of the first unit.
    pub(super) fn head(&self) -> Option<Timestamp> {
        self.queue.first().map(|(due, ..)| *due)
    }

    /// Removes and returns the first unit of the flow whose turn it is.
    pub(super) fn pop(&mut self) -> Option<Unit> {
        let unit = self.turns.pop().or_else(|| self.queue.first().map(|(.., unit)| unit.clone()))?;
        if let Some((at, number)) = self.units.get_mut(&unit).and_then(|entry| entry.queued.take()) {
            self.queue.remove(&(at, number, unit.clone()));
        }
        Some(unit)
    }

    /// Gives a turn to all units that are due.
    fn promote_due(&mut self, now: Timestamp) {
        let due = self.queue.range((self.turns.after(), Bound::Unbounded)).take_while(|(at, ..)| *at <= now);
        due.for_each(|(_, _, unit)| {
            let flow = self.units.get(unit).and_then(|entry| entry.flow.clone());
            self.turns.push(unit, flow);
        });
        self.turns.until = self.turns.until.max(Some(now));
    }

    /// Updates the position of a unit after a change; a unit with the same due time keeps its position.
    pub(super) fn requeue(&mut self, unit: &Unit, arrivals: &mut u64) {
        let Some(entry) = self.units.get_mut(unit) else { return };
        let due = if entry.running.is_some() { None } else { entry.due(&self.limits).map(|(at, _)| at) };
        if due == entry.queued.map(|(at, _)| at) {
            return;
        }
        if let Some((at, number)) = entry.queued.take() {
            self.queue.remove(&(at, number, unit.clone()));
            self.turns.remove(unit);
        }
        if let Some(at) = due {
            *arrivals += 1;
            entry.queued = Some((at, *arrivals));
            self.queue.insert((at, *arrivals, unit.clone()));
            if self.turns.until.is_some_and(|until| at <= until) {
                self.turns.push(unit, entry.flow.clone());
            }
        }
    }

    /// Schedules a unit by `flow`; if it already has a turn, it gets a new one.
    pub(super) fn set_flow(&mut self, unit: &Unit, flow: &Arc<str>) {
        let entry = self.units.entry(unit.clone()).or_default();
        if entry.flow.as_ref() != Some(flow) {
            entry.flow = Some(flow.clone());
            if self.turns.has(unit) {
                self.turns.push(unit, Some(flow.clone()));
            }
        }
    }

    /// Removes a forgotten unit after its cool-down.
    pub(super) fn schedule_removal(&mut self, unit: &Unit) {
        if let Some(entry) = self.units.get(unit) {
            self.removed_units.insert((entry.rest_until(&self.limits), unit.clone()));
        }
    }

    /// Removes forgotten units whose cool-down has ended, and gives turns to due units.
    pub(super) fn purge(&mut self, now: Timestamp) {
        self.promote_due(now);
        while let Some((at, unit)) = self.removed_units.pop_first() {
            if at > now {
                self.removed_units.insert((at, unit));
                return;
            }
            let Some(entry) = self.units.get(&unit).filter(|e| e.forgotten && e.running.is_none()) else { continue };
            match entry.rest_until(&self.limits) {
                rests if rests > now => drop(self.removed_units.insert((rests, unit))),
                _ => drop(self.units.remove(&unit)),
            }
        }
    }

    /// Returns how many writes a unit of the operator may make.
    pub(super) fn writes_left(&self, now: Timestamp, unit: &Unit) -> usize {
        let of_unit = self.units.get(unit).map_or(usize::MAX, |entry| entry.writes_left(now, &self.limits));
        self.second.left(now, self.per_second()).min(self.minute.left(now, self.per_minute())).min(of_unit)
    }

    /// Returns how many writes were made within the last second.
    pub(super) fn writes_spent(&self, now: Timestamp) -> usize {
        usize::MAX - self.second.left(now, usize::MAX)
    }

    pub(super) fn spend(&mut self, now: Timestamp, unit: &Unit, count: usize) {
        self.second.spend(now, count);
        self.minute.spend(now, count);
        self.units.entry(unit.clone()).and_modify(|entry| entry.spend(now, count));
    }

    pub(super) fn refund(&mut self, at: Timestamp, unit: &Unit, count: usize) {
        self.second.refund(at, count);
        self.minute.refund(at, count);
        self.units.entry(unit.clone()).and_modify(|entry| entry.refund(count));
    }

    /// Returns the time from which there is a write for each active run and one more.
    pub(super) fn affordable_at(&self) -> Option<Timestamp> {
        let wanted = self.running + 1;
        let second = self.second.available_at(wanted, self.per_second())?;
        Some(second.max(self.minute.available_at(wanted, self.per_minute())?))
    }

    /// Returns the maximum number of its units that run at the same time.
    pub(super) fn max_running(&self) -> usize {
        if self.hung { 1 } else { count(self.limits.max_concurrent) }
    }

    fn per_second(&self) -> usize {
        self.limits.writes_per_second.map_or(usize::MAX, count)
    }

    fn per_minute(&self) -> usize {
        self.limits.writes_per_minute.map_or(usize::MAX, count)
    }
}

/// Returns a count of at least one.
pub(super) fn count(limit: u32) -> usize {
    usize::try_from(limit.max(1)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
