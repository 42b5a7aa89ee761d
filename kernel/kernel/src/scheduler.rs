//! Scheduler of runs: a state machine over time, which is passed in.

mod brake;
mod bucket;
mod jitter;
mod queue;
mod selection;
mod unit;
pub(crate) mod window;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::decision::Cause;
use crate::limits::{GlobalLimits, Limits};
use crate::operator::{OperatorName, UnitId};
use crate::resource::ObjectKey;
use crate::state::{OperatorPause, Wait};
use crate::timestamp::Timestamp;

pub use brake::SlowServer;
pub use unit::RunEnd;

use brake::Brake;
use jitter::Jitter;
use queue::OperatorQueue;
use unit::TriggerOrigin;
use window::BudgetWindow;

/// Time for which an operator that wanted to write keeps its claim to a share of the requests.
const CLAIM: Duration = Duration::from_secs(2);

/// Schedules the runs of units. It runs nothing itself and has no clock: every call passes the time.
///
/// - *Debounce* counts from the first change; later ones never postpone it. Runs requested by a user are not
///   debounced, nor are runs whose missing kinds are all cached. Without a fixed debounce, it applies only to changes of a
///   burst: neither to the first change after quiet, nor to the unit's own writes.
/// - *Cool-down* applies between the end of a unit's run and the start of its next one. A cool-down of the whole operator would
///   delay units because of unrelated ones; for an operator with a single unit both are the same. A run that waits for a kind
///   decides nothing, so no cool-down follows it. Without a fixed cool-down, a unit has a number of runs without rest, and
///   gets one back per cool-down: the steps of one piece of work follow each other at once, and a loop does not.
/// - *Backoff* follows only failures. It ends with any run that does not fail, except one that waits for a kind. A change by
///   another writer may fix the error, so it shortens the backoff to [`Limits::backoff_first`]; not further, because the unit
///   itself may have caused the change.
/// - *Budget*: a unit starts only if its operator has a write left for each active run and one for the new run. So the first
///   in the queue gets the first write that is available again, and no unit keeps deciding in vain. Without a budget of
///   the operator, each unit has one, so that a flood delays only the unit that causes it.
/// - *Requests* over all operators are shared: operators that want to write at the same time get equal parts of a second.
///   Without a limit, a rate applies that follows the API servers (`brake.rs`), and operators take turns.
/// - *Fairness*: operators take turns; units of one operator run in the order in which they became due. One operator alone
///   never uses the last slot. If an operator's run timed out, it has one slot until one of its runs finishes in time.
/// - *Memory*: a run waits until its estimate fits, and no later run overtakes the longest waiting one.
///
/// Each call takes time logarithmic in the number of units, and at most linear in the number of operators, except
/// `set_operator`, `remove_operator` and `waits`, which visit all units of one operator.
///
/// # Guarantees
/// - The number of active runs never exceeds the maximum, of all and of each operator. // test: guarantees_never_more_than_the_maximum_at_once
/// - A unit never runs before the end of its cool-down.                     // test: guarantees_never_sooner_than_the_cool_down
/// - Without one, it never runs more often than its burst and the refill.   // test: guarantees_adaptive_runs_are_bounded
/// - No change is lost: a run starts after it.                              // test: guarantees_no_change_is_lost
/// - A unit never has two runs at the same time.                            // test: guarantees_no_unit_twice_at_a_time
/// - Hung runs leave slots for others.                                      // test: guarantees_hung_runs_leave_slots_for_others
/// - Every waiting unit runs eventually.                                    // test: guarantees_every_waiting_unit_runs_eventually
/// - Budgets are not exceeded in any window.                                // test: guarantees_budgets_hold_in_any_window
/// - `next` is neither late nor early.                                      // test: guarantees_next_never_misses
#[derive(Clone, Debug)]
pub struct Scheduler {
    global: GlobalLimits,
    jitter: Jitter,
    now: Timestamp,
    operators: BTreeMap<OperatorName, OperatorQueue>,
    running: BTreeMap<UnitId, RunningSlot>,
    requests: BudgetWindow,
    /// Rate of the requests without a limit.
    brake: Brake,
    /// Operator whose unit was started last.
    last_operator: Option<OperatorName>,
    arrivals: u64,
}

#[derive(Clone, Debug)]
struct RunningSlot {
    since: Timestamp,
    memory_bytes: u64,
}

/// Unit whose run starts now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedRun {
    /// Unit.
    pub unit: UnitId,
    /// Causes of the run, at most [`crate::decision::MAX_CAUSES`].
    pub causes: Vec<Cause>,
    /// Time of the first cause.
    pub triggered_at: Timestamp,
}

impl Scheduler {
    /// Creates a scheduler without operators. Equal seeds and calls give equal results.
    pub fn new(seed: u64, global: GlobalLimits) -> Self {
        Self {
            global,
            jitter: Jitter(seed),
            now: Timestamp::default(),
            operators: BTreeMap::new(),
            running: BTreeMap::new(),
            requests: BudgetWindow::new(Duration::from_secs(1)),
            brake: Brake::default(),
            last_operator: None,
            arrivals: 0,
        }
    }

    /// Sets the limits over all operators.
    pub fn set_global(&mut self, global: GlobalLimits) {
        self.global = global;
    }

    /// Adds an operator or changes its limits, which also apply to waiting units.
    pub fn set_operator(&mut self, now: Timestamp, name: &OperatorName, limits: Limits) {
        self.tick(now);
        let queue = self.operators.entry(name.clone()).or_insert_with(|| OperatorQueue::new(limits.clone()));
        queue.limits = limits;
        queue.removed = false;
        let units: Vec<_> = queue.units.keys().cloned().collect();
        units.iter().for_each(|unit| queue.requeue(unit, &mut self.arrivals));
    }

    /// Removes an operator and its units. Active runs count until they finish.
    pub fn remove_operator(&mut self, name: &OperatorName) {
        let Some(queue) = self.operators.get_mut(name) else { return };
        queue.removed = true;
        queue.paused = None;
        let units: Vec<_> = queue.units.keys().cloned().collect();
        for unit in &units {
            queue.units.entry(unit.clone()).and_modify(|entry| entry.forget());
            queue.requeue(unit, &mut self.arrivals);
            queue.schedule_removal(unit);
        }
    }

    /// Pauses an operator, unless it is paused already, or resumes it. Causes that arrive meanwhile are kept.
    pub fn pause(&mut self, name: &OperatorName, pause: Option<OperatorPause>) {
        if let Some(queue) = self.operators.get_mut(name) {
            queue.paused = pause.map(|pause| queue.paused.take().unwrap_or(pause));
        }
    }

    /// Returns the pause of an operator; `None` while it runs.
    pub fn paused(&self, name: &OperatorName) -> Option<&OperatorPause> {
        self.operators.get(name)?.paused.as_ref()
    }

    /// Triggers a unit. If it is running, it runs again afterwards. Units of unknown operators are ignored.
    pub fn trigger(&mut self, now: Timestamp, unit: &UnitId, cause: Cause) {
        self.trigger_from(now, unit, cause, TriggerOrigin::Other);
    }

    /// Triggers a unit like [`Scheduler::trigger`], because its own write was observed: the next step of its work.
    pub fn trigger_next_step(&mut self, now: Timestamp, unit: &UnitId, cause: Cause) {
        self.trigger_from(now, unit, cause, TriggerOrigin::OwnWrite);
    }

    fn trigger_from(&mut self, now: Timestamp, unit: &UnitId, cause: Cause, origin: TriggerOrigin) {
        let now = self.tick(now);
        let Some(queue) = self.operators.get_mut(&unit.operator).filter(|queue| !queue.removed) else { return };
        queue.units.entry(unit.unit.clone()).or_default().trigger(now, cause, origin);
        queue.requeue(&unit.unit, &mut self.arrivals);
    }

    /// Ends the debounce of a triggered unit, because no further causes are expected.
    pub fn skip_debounce(&mut self, now: Timestamp, unit: &UnitId) {
        let now = self.tick(now);
        let Some(queue) = self.operators.get_mut(&unit.operator).filter(|queue| !queue.removed) else { return };
        queue.units.entry(unit.unit.clone()).and_modify(|entry| entry.skip_debounce(now));
        queue.requeue(&unit.unit, &mut self.arrivals);
    }

    /// Treats the pending causes of a unit as the next step of its work if all of them are its own writes, so that no
    /// debounce applies.
    pub fn recognize_own_writes(&mut self, now: Timestamp, unit: &UnitId, is_own: &dyn Fn(&Cause) -> bool) {
        let now = self.tick(now);
        let Some(queue) = self.operators.get_mut(&unit.operator).filter(|queue| !queue.removed) else { return };
        queue.units.entry(unit.unit.clone()).and_modify(|entry| entry.recognize_own_writes(now, is_own));
        queue.requeue(&unit.unit, &mut self.arrivals);
    }

    /// Schedules a unit fairly by `flow` instead of by namespace, until the unit is forgotten.
    pub fn set_flow(&mut self, unit: &UnitId, flow: &Arc<str>) {
        let Some(queue) = self.operators.get_mut(&unit.operator).filter(|queue| !queue.removed) else { return };
        queue.set_flow(&unit.unit, flow);
    }

    /// Returns all units that may run now. They count as running until [`Scheduler::finish`].
    pub fn start(&mut self, now: Timestamp) -> Vec<StartedRun> {
        let now = self.tick(now);
        self.operators.values_mut().for_each(|queue| queue.purge(now));
        let mut started = Vec::new();
        while let Some(name) = self.pick(now).cloned() {
            started.extend(self.begin(now, name));
        }
        started
    }

    fn begin(&mut self, now: Timestamp, name: OperatorName) -> Option<StartedRun> {
        let queue = self.operators.get_mut(&name)?;
        let unit = queue.pop()?;
        let (causes, triggered) = queue.units.get_mut(&unit)?.begin(now, &queue.limits);
        queue.running += 1;
        let memory_bytes = queue.limits.memory_bytes.min(self.global.process_memory_bytes);
        self.last_operator = Some(name.clone());
        let unit = UnitId { operator: name, unit };
        self.running.insert(unit.clone(), RunningSlot { since: now, memory_bytes });
        Some(StartedRun { unit, causes, triggered_at: triggered })
    }

    /// Ends a run. Has no effect on units that do not run.
    pub fn finish(&mut self, now: Timestamp, unit: &UnitId, ended: RunEnd) {
        let now = self.tick(now);
        let Some(run) = self.running.remove(unit) else { return };
        let share = self.jitter.share();
        let Some(queue) = self.operators.get_mut(&unit.operator) else { return };
        queue.running -= 1;
        queue.hung = ended == RunEnd::Failed && (queue.hung || now.since(run.since) >= queue.limits.timeout);
        let Some(entry) = queue.units.get_mut(&unit.unit) else { return };
        entry.finish(now, if queue.removed { RunEnd::Gone } else { ended }, share);
        if entry.forgotten {
            entry.forget();
            queue.schedule_removal(&unit.unit);
        }
        queue.requeue(&unit.unit, &mut self.arrivals);
    }

    /// Delays a unit until its write to `object` is observed, or until the given time. Several holds are merged: the
    /// last object, and the latest time.
    pub fn hold(&mut self, unit: &UnitId, object: ObjectKey, until: Timestamp) {
        let Some(queue) = self.operators.get_mut(&unit.operator) else { return };
        let Some(entry) = queue.units.get_mut(&unit.unit) else { return };
        let until = entry.hold.as_ref().map_or(until, |before| until.max(before.1));
        entry.hold = Some(Box::new((object, until)));
        queue.requeue(&unit.unit, &mut self.arrivals);
    }

    /// Ends the delay, because all writes of the unit were observed.
    pub fn release(&mut self, now: Timestamp, unit: &UnitId) {
        self.tick(now);
        let Some(queue) = self.operators.get_mut(&unit.operator) else { return };
        if let Some(entry) = queue.units.get_mut(&unit.unit) {
            entry.hold = None;
            queue.requeue(&unit.unit, &mut self.arrivals);
        }
    }

    /// Delays a looping unit until the given time.
    pub fn slow(&mut self, now: Timestamp, unit: &UnitId, until: Timestamp) {
        self.tick(now);
        let Some(queue) = self.operators.get_mut(&unit.operator) else { return };
        if let Some(entry) = queue.units.get_mut(&unit.unit) {
            entry.slow(until);
            queue.requeue(&unit.unit, &mut self.arrivals);
        }
    }

    /// Returns how many of the unit's writes may be made now, and charges the budgets for them.
    ///
    /// A fixed limit is never exceeded, nor is the adaptive rate while the API servers are slow. Otherwise the writes of
    /// active runs may exceed it: a run that writes only a part would decide again.
    pub fn spend(&mut self, now: Timestamp, unit: &UnitId, wanted: usize) -> usize {
        let now = self.tick(now);
        if wanted == 0 || !self.operators.contains_key(&unit.operator) {
            return 0;
        }
        let share = self.request_share(now, &unit.operator);
        let Some(queue) = self.operators.get_mut(&unit.operator) else { return 0 };
        queue.last_spend = Some(now);
        let granted = wanted.min(queue.writes_left(now, &unit.unit)).min(share.unwrap_or(usize::MAX));
        queue.spend(now, &unit.unit, granted);
        queue.requeue(&unit.unit, &mut self.arrivals);
        self.requests.spend(now, granted);
        granted
    }

    /// Returns how many writes the request limit, or the rate of slow API servers, leaves for an operator; `None` without
    /// both.
    fn request_share(&self, now: Timestamp, name: &OperatorName) -> Option<usize> {
        let limit = self.request_budget();
        if self.global.requests_per_second.is_none() {
            return self.brake.reason().map(|_| self.requests.left(now, limit));
        }
        let claims = |(other, queue): &(&OperatorName, &OperatorQueue)| {
            *other == name || queue.last_spend.is_some_and(|at| now.since(at) < CLAIM)
        };
        let claimants = self.operators.iter().filter(claims).count().max(1);
        let spent = self.operators.get(name).map_or(0, |queue| queue.writes_spent(now));
        Some((limit / claimants).max(1).saturating_sub(spent).min(self.requests.left(now, limit)))
    }

    /// Refunds writes granted at that time that changed nothing or were not sent. The requests stay charged.
    pub fn refund(&mut self, unit: &UnitId, granted: Timestamp, count: usize) {
        if let Some(queue) = self.operators.get_mut(&unit.operator) {
            queue.refund(granted, &unit.unit, count);
            queue.requeue(&unit.unit, &mut self.arrivals);
        }
    }

    /// Records the average duration of a run's writes, which the adaptive rate follows.
    pub fn record_write_time(&mut self, now: Timestamp, write: Duration) {
        let now = self.tick(now);
        if self.global.requests_per_second.is_none() {
            let used = self.requests.left(now, self.request_budget()) == 0;
            self.brake.record(now, write, used);
        }
    }

    /// Records that an API server returned 429.
    pub fn throttle(&mut self, now: Timestamp) {
        let now = self.tick(now);
        if self.global.requests_per_second.is_none() {
            self.brake.throttle(now);
        }
    }

    /// Returns the rate of writes and its reason while slow API servers keep it low.
    pub fn slowed_by_servers(&self) -> Option<(u32, SlowServer)> {
        let reason = self.brake.reason().filter(|_| self.global.requests_per_second.is_none())?;
        Some((self.brake.writes_per_second(), reason))
    }

    /// Returns the latest time that was passed in.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns why a unit does not run now.
    pub fn wait(&self, now: Timestamp, unit: &UnitId) -> Wait {
        let Some(queue) = self.operators.get(&unit.operator) else { return Wait::NothingChanged };
        queue.units.get(&unit.unit).map_or(Wait::NothingChanged, |entry| self.explain(now.max(self.now), queue, entry))
    }

    /// Returns why each unit of an operator does not run, with its pending causes.
    pub fn waits(&self, now: Timestamp, name: &OperatorName) -> Vec<(UnitId, Wait, Vec<Cause>)> {
        let Some(queue) = self.operators.get(name) else { return Vec::new() };
        let known = queue.units.iter().filter(|(_, entry)| !entry.forgotten);
        let told = known.map(|(unit, entry)| {
            let id = UnitId { operator: name.clone(), unit: unit.clone() };
            (id, self.explain(now.max(self.now), queue, entry), entry.causes().to_vec())
        });
        told.collect()
    }

    /// Returns why a unit does not run, with its pending causes.
    pub fn wait_and_causes(&self, now: Timestamp, unit: &UnitId) -> (Wait, Vec<Cause>) {
        let entry = self.operators.get(&unit.operator).and_then(|queue| queue.units.get(&unit.unit));
        (self.wait(now, unit), entry.map(|entry| entry.causes().to_vec()).unwrap_or_default())
    }

    /// Whether no run is active, triggered or unfinished; only retries, resyncs and requeues remain.
    pub fn is_idle(&self) -> bool {
        let triggered = |queue: &OperatorQueue| queue.units.values().any(|entry| entry.has_work());
        self.running.is_empty() && !self.operators.values().any(triggered)
    }

    /// Returns the active runs with their start times.
    pub fn running(&self) -> impl Iterator<Item = (&UnitId, Timestamp)> {
        self.running.iter().map(|(unit, run)| (unit, run.since))
    }

    /// Returns the limits of an operator.
    pub fn limits(&self, name: &OperatorName) -> Option<&Limits> {
        self.operators.get(name).filter(|queue| !queue.removed).map(|queue| &queue.limits)
    }

    // Time never goes back, whatever is passed in.
    fn tick(&mut self, now: Timestamp) -> Timestamp {
        self.now = self.now.max(now);
        self.now
    }
}
