//! The units of one operator, in line.

mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use crate::limits::Limits;
use crate::moment::Moment;
use crate::operator::Unit;

use super::unit::Entry;
use super::window::Window;
use turns::Turns;

/// One operator: its limits, its units, and the order in which they are due.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) limits: Limits,
    pub(super) paused: bool,
    /// Removed while the process goes on; what it spent and what still runs counts on.
    pub(super) removed: bool,
    pub(super) running: usize,
    /// Its last run that told anything took all of its time and decided nothing: until one comes to an end, one at a time.
    pub(super) hung: bool,
    /// Boxed: half of a tree's places are empty, and there are many units.
    pub(super) units: BTreeMap<Unit, Box<Entry>>,
    // Those that are to run, by when they may; then by who came first.
    queue: BTreeSet<(Moment, u64, Unit)>,
    turns: Turns,
    // Those forgotten, by when they have rested.
    gone: BTreeSet<(Moment, Unit)>,
    second: Window,
    minute: Window,
    /// When it last wanted to write.
    pub(super) asked: Option<Moment>,
}

impl Line {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            paused: false,
            removed: false,
            running: 0,
            hung: false,
            units: BTreeMap::new(),
            queue: BTreeSet::new(),
            turns: Turns::default(),
            gone: BTreeSet::new(),
            second: Window::new(Duration::from_secs(1)),
            minute: Window::new(Duration::from_secs(60)),
            asked: None,
        }
    }

    /// When the first in line may run.
    pub(super) fn head(&self) -> Option<Moment> {
        self.queue.first().map(|(due, ..)| *due)
    }

    /// Takes the first in line of the namespace whose turn it is.
    pub(super) fn pop(&mut self) -> Option<Unit> {
        let unit = self.turns.pop().or_else(|| self.queue.first().map(|(.., unit)| unit.clone()))?;
        if let Some((at, number)) = self.units.get_mut(&unit).and_then(|entry| entry.queued.take()) {
            self.queue.remove(&(at, number, unit.clone()));
        }
        Some(unit)
    }

    /// Gives a turn to everything that may run by now.
    fn ripen(&mut self, now: Moment) {
        let due = self.queue.range((self.turns.after(), Bound::Unbounded)).take_while(|(at, ..)| *at <= now);
        due.for_each(|(_, _, unit)| {
            let party = self.units.get(unit).and_then(|entry| entry.party.clone());
            self.turns.push(unit, party);
        });
        self.turns.until = self.turns.until.max(Some(now));
    }

    /// Puts a unit where it belongs after anything happened to it; one whose time did not change keeps its place.
    pub(super) fn place(&mut self, unit: &Unit, arrivals: &mut u64) {
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
                self.turns.push(unit, entry.party.clone());
            }
        }
    }

    /// A unit takes turns by a party from here on; one that has a turn already gets another.
    pub(super) fn assign(&mut self, unit: &Unit, party: &Arc<str>) {
        let entry = self.units.entry(unit.clone()).or_default();
        if entry.party.as_ref() != Some(party) {
            entry.party = Some(party.clone());
            if self.turns.has(unit) {
                self.turns.push(unit, Some(party.clone()));
            }
        }
    }

    /// A unit that was forgotten is kept until it has rested.
    pub(super) fn bury(&mut self, unit: &Unit) {
        if let Some(entry) = self.units.get(unit) {
            self.gone.insert((entry.rests(&self.limits), unit.clone()));
        }
    }

    /// Drops what was forgotten and has rested, and looks whose turn it is.
    pub(super) fn purge(&mut self, now: Moment) {
        self.ripen(now);
        while let Some((at, unit)) = self.gone.pop_first() {
            if at > now {
                self.gone.insert((at, unit));
                return;
            }
            let Some(entry) = self.units.get(&unit).filter(|e| e.gone && e.running.is_none()) else { continue };
            match entry.rests(&self.limits) {
                rests if rests > now => drop(self.gone.insert((rests, unit))),
                _ => drop(self.units.remove(&unit)),
            }
        }
    }

    /// How many writes it may carry out.
    pub(super) fn left(&self, now: Moment) -> usize {
        self.second.left(now, self.per_second()).min(self.minute.left(now, self.per_minute()))
    }

    /// How many it carried out within the last second.
    pub(super) fn spent(&self, now: Moment) -> usize {
        usize::MAX - self.second.left(now, usize::MAX)
    }

    pub(super) fn spend(&mut self, now: Moment, count: usize) {
        self.second.spend(now, count);
        self.minute.spend(now, count);
    }

    pub(super) fn refund(&mut self, at: Moment, count: usize) {
        self.second.refund(at, count);
        self.minute.refund(at, count);
    }

    /// From when on there is a write for each run under way and one more.
    pub(super) fn affords(&self) -> Option<Moment> {
        let wanted = self.running + 1;
        let second = self.second.when(wanted, self.per_second())?;
        Some(second.max(self.minute.when(wanted, self.per_minute())?))
    }

    /// How many of its units may run at a time.
    pub(super) fn most(&self) -> usize {
        if self.hung { 1 } else { count(self.limits.max_concurrent) }
    }

    fn per_second(&self) -> usize {
        count(self.limits.writes_per_second)
    }

    fn per_minute(&self) -> usize {
        count(self.limits.writes_per_minute)
    }
}

/// A count that is at least one.
pub(super) fn count(limit: u32) -> usize {
    usize::try_from(limit.max(1)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
