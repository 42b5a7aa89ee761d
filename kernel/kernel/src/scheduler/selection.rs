//! Selection of the next unit to run.

use std::ops::Bound;

use crate::operator::OperatorName;
use crate::state::Wait;
use crate::timestamp::Timestamp;

use super::Scheduler;
use super::queue::{OperatorQueue, count};
use super::unit::UnitEntry;

impl Scheduler {
    /// Returns the next time at which [`Scheduler::start`] starts a unit if nothing else happens; a past time if it
    /// would start one now.
    pub fn next(&self) -> Option<Timestamp> {
        // A unit that could start in the past may be blocked now by one that waits longer for memory.
        let opens = self.operators.values().filter_map(|queue| self.startable_at(queue));
        let mut moments: Vec<_> = opens.map(|at| at.max(self.now)).collect();
        moments.sort_unstable();
        moments.dedup();
        // Times after the first one are checked only when memory is short.
        moments.into_iter().find(|at| self.pick(*at).is_some())
    }

    /// Returns the next operator in turn that may start a unit.
    pub(super) fn pick(&self, now: Timestamp) -> Option<&OperatorName> {
        let after = match &self.last_operator {
            Some(name) => (Bound::Excluded(name), Bound::Unbounded),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let round = self.operators.range(after).chain(&self.operators);
        let door = self.memory_wait_since(now);
        let free = |queue: &OperatorQueue| {
            let waits =
                queue.limits.memory_bytes > 0 && door.is_some_and(|door| queue.head().is_none_or(|at| at > door));
            self.startable_at(queue).is_some_and(|at| at <= now) && self.fits_memory(queue) && !waits
        };
        round.into_iter().find(|(_, queue)| free(queue)).map(|(name, _)| name)
    }

    // Returns the time from which an operator may start its first unit, regardless of memory.
    fn startable_at(&self, queue: &OperatorQueue) -> Option<Timestamp> {
        let head = queue.head().filter(|_| queue.paused.is_none() && !self.is_at_limit(queue) && !self.is_full())?;
        let requests = self.requests.available_at(1, self.request_budget())?;
        Some(head.max(queue.affordable_at()?).max(requests))
    }

    // Returns the time since which the longest waiting run waits for memory.
    fn memory_wait_since(&self, now: Timestamp) -> Option<Timestamp> {
        let due = self.operators.values().filter(|queue| !self.fits_memory(queue));
        due.filter(|queue| self.startable_at(queue).is_some_and(|at| at <= now)).filter_map(OperatorQueue::head).min()
    }

    /// Returns the number of writes of all operators in any second.
    pub(super) fn request_budget(&self) -> usize {
        count(self.global.writes_per_second().unwrap_or_else(|| self.brake.writes_per_second()))
    }

    fn is_full(&self) -> bool {
        self.running.len() >= count(self.global.max_concurrent)
    }

    // Whether the operator has all the runs it may have. An operator never uses the last slot: if all its runs hung,
    // all other operators would wait for the decide timeout.
    fn is_at_limit(&self, queue: &OperatorQueue) -> bool {
        let all = count(self.global.max_concurrent);
        let share = if self.operators.len() > 1 { all.saturating_sub(1).max(1) } else { all };
        queue.running >= queue.max_running().min(share)
    }

    fn fits_memory(&self, queue: &OperatorQueue) -> bool {
        let most = self.global.process_memory_bytes;
        let used: u64 = self.running.values().map(|run| run.memory_bytes).sum();
        let wanted = queue.limits.memory_bytes.min(most);
        wanted == 0 || used.saturating_add(wanted) <= most
    }

    /// Returns why a unit does not run.
    pub(super) fn explain(&self, now: Timestamp, queue: &OperatorQueue, entry: &UnitEntry) -> Wait {
        if let Some(since) = entry.running {
            return Wait::Running { since };
        }
        if let Some(pause) = &queue.paused {
            return Wait::Paused(pause.clone());
        }
        let Some((due, wait)) = entry.due(&queue.limits) else {
            let parked = |missing: &[_]| Wait::NotCached { missing: missing.to_vec() };
            return entry.missing.as_deref().map_or(Wait::NothingChanged, parked);
        };
        if due > now {
            return wait;
        }
        let requests = self.requests.available_at(1, self.request_budget());
        match (queue.affordable_at(), requests) {
            _ if self.is_full() => Wait::Full { running: self.running.len() },
            _ if self.is_at_limit(queue) => Wait::Full { running: queue.running },
            (Some(until), _) if until > now => Wait::OutOfBudget { until },
            (_, Some(until)) if until > now => match self.global.requests_per_second {
                Some(_) => Wait::RequestsSpent { until },
                None => Wait::Paced { until, writes_per_second: self.brake.writes_per_second() },
            },
            // The budget allows no more than the active runs.
            (None, _) => Wait::Full { running: queue.running },
            _ if !self.fits_memory(queue)
                || (queue.limits.memory_bytes > 0 && self.memory_wait_since(now).is_some()) =>
            {
                Wait::MemorySpent
            }
            // The next call of `start` starts it.
            _ => Wait::Debounced { until: due },
        }
    }
}
