//! Whose turn it is.

use std::ops::Bound;

use crate::moment::Moment;
use crate::operator::OperatorName;
use crate::state::Wait;

use super::Scheduler;
use super::line::{Line, count};
use super::unit::Entry;

impl Scheduler {
    /// When [`Scheduler::start`] next gives something, if nothing else happens; a moment that has passed when it would now.
    pub fn next(&self) -> Option<Moment> {
        // What was open in the past may be shut by now: one that waits for memory longer came in between.
        let opens = self.operators.values().filter_map(|line| self.opens(line));
        let mut moments: Vec<_> = opens.map(|at| at.max(self.now)).collect();
        moments.sort_unstable();
        moments.dedup();
        // Beside the first, others are looked at only when memory is short.
        moments.into_iter().find(|at| self.pick(*at).is_some())
    }

    /// The next operator in turn that may start a unit.
    pub(super) fn pick(&self, now: Moment) -> Option<&OperatorName> {
        let after = match &self.turn {
            Some(name) => (Bound::Excluded(name), Bound::Unbounded),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let round = self.operators.range(after).chain(&self.operators);
        let door = self.door(now);
        let free = |line: &Line| {
            let waits = line.limits.memory_bytes > 0 && door.is_some_and(|door| line.head().is_none_or(|at| at > door));
            self.opens(line).is_some_and(|at| at <= now) && self.fits(line) && !waits
        };
        round.into_iter().find(|(_, line)| free(line)).map(|(name, _)| name)
    }

    // From when on an operator may start its first unit in line, memory apart.
    fn opens(&self, line: &Line) -> Option<Moment> {
        let head = line.head().filter(|_| !line.paused && !self.crowds(line) && !self.full())?;
        let requests = self.requests.when(1, count(self.global.writes_per_second()))?;
        Some(head.max(line.affords()?).max(requests))
    }

    // Since when the longest waiting run waits for memory.
    fn door(&self, now: Moment) -> Option<Moment> {
        let due = self.operators.values().filter(|line| !self.fits(line));
        due.filter(|line| self.opens(line).is_some_and(|at| at <= now)).filter_map(Line::head).min()
    }

    fn full(&self) -> bool {
        self.running.len() >= count(self.global.max_concurrent)
    }

    // Whether the operator has all the runs it may have. The last place is never for one that has all the others: runs that
    // hang would keep everybody waiting for as long as a decision may take.
    fn crowds(&self, line: &Line) -> bool {
        let all = count(self.global.max_concurrent);
        let share = if self.operators.len() > 1 { all.saturating_sub(1).max(1) } else { all };
        line.running >= line.most().min(share)
    }

    fn fits(&self, line: &Line) -> bool {
        let most = self.global.process_memory_bytes;
        let used: u64 = self.running.values().map(|run| run.memory_bytes).sum();
        let wanted = line.limits.memory_bytes.min(most);
        wanted == 0 || used.saturating_add(wanted) <= most
    }

    /// Why a unit does not run.
    pub(super) fn explain(&self, now: Moment, line: &Line, entry: &Entry) -> Wait {
        if let Some(since) = entry.running {
            return Wait::Running { since };
        }
        if line.paused {
            return Wait::Paused;
        }
        let Some((due, wait)) = entry.due(&line.limits) else {
            let parked = |missing: &[_]| Wait::Parked { missing: missing.to_vec() };
            return entry.parked.as_deref().map_or(Wait::NothingChanged, parked);
        };
        if due > now {
            return wait;
        }
        let requests = self.requests.when(1, count(self.global.writes_per_second()));
        match (line.affords(), requests) {
            _ if self.full() => Wait::Full { running: self.running.len() },
            _ if self.crowds(line) => Wait::Full { running: line.running },
            (Some(until), _) if until > now => Wait::OutOfBudget { until },
            (_, Some(until)) if until > now => Wait::RequestsSpent { until },
            // The budget is as small as the runs under way.
            (None, _) => Wait::Full { running: line.running },
            _ if !self.fits(line) || (line.limits.memory_bytes > 0 && self.door(now).is_some()) => Wait::MemorySpent,
            // It starts with the next call of `start`.
            _ => Wait::Debounced { until: due },
        }
    }
}
