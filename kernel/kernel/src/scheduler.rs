//! When which unit runs: a state machine over time that is told the time.

mod chance;
mod line;
mod pick;
mod unit;
pub(crate) mod window;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::decision::Cause;
use crate::limits::{GlobalLimits, Limits};
use crate::moment::Moment;
use crate::operator::{OperatorName, UnitId};
use crate::resource::ObjectKey;
use crate::state::Wait;

pub use unit::Ended;

use chance::Chance;
use line::{Line, count};
use window::Window;

/// For how long an operator that wanted to write has a claim to its share of the requests.
const CLAIM: Duration = Duration::from_secs(2);

/// Decides when which unit runs. It runs nothing itself and knows no clock: every call says what time it is.
///
/// - *Debounce* counts from the first change; later ones never postpone it. What somebody asked for is not debounced.
/// - *Cool-down* is of a unit: between the end of a run and the start of the next of the same unit. A cool-down of the
///   operator as a whole would let one unit wait for another that has nothing to do with it; for an operator whose
///   unit is the whole of its work, both are the same.
/// - *Backoff* follows a failure alone, and anything but a failure or parking ends it. A change from outside shortens it to
///   [`Limits::backoff_first`] after the failure, since it may be the cure, and no further, since it may be the
///   unit's own doing: a failing unit never runs hotter than that.
/// - *Budget*: a unit starts only when its operator has a write left for each of its runs under way and one for this one;
///   so the first in line gets the first write that comes back, and none decides in vain again and again.
/// - *Requests* over all operators are shared: those who want to write at the same time get equal parts of a second.
/// - *Fairness*: operators take turns; the units of one run in the order in which they became due. One operator alone never
///   takes the last place, and one whose run took all of its time without an answer has one place until a run answers:
///   what hangs slows itself.
/// - *Memory*: a run waits until its estimate fits, and while the longest waiting one does not fit, no later one overtakes it.
///
/// Any call costs the logarithm of the number of units, and at most the number of operators; apart from `set_operator`,
/// `remove_operator` and `waits`, which touch all units of one operator.
///
/// # Guarantees
/// - Never more runs at once than the maximum, of all and of each operator. // test: guarantees_never_more_than_the_maximum_at_once
/// - A unit never runs sooner than its cool-down.                           // test: guarantees_never_sooner_than_the_cool_down
/// - No change is lost: after it, a run starts.                             // test: guarantees_no_change_is_lost
/// - A unit never runs twice at a time.                                     // test: guarantees_no_unit_twice_at_a_time
/// - Runs that hang leave room for others.                                  // test: guarantees_runs_that_hang_leave_room_for_others
/// - Every waiting unit runs eventually.                                    // test: guarantees_every_waiting_unit_runs_eventually
/// - Budgets are not exceeded in any window.                                // test: guarantees_budgets_hold_in_any_window
/// - `next` is neither late nor early.                                      // test: guarantees_next_never_misses
#[derive(Clone, Debug)]
pub struct Scheduler {
    global: GlobalLimits,
    chance: Chance,
    now: Moment,
    operators: BTreeMap<OperatorName, Line>,
    running: BTreeMap<UnitId, Run>,
    requests: Window,
    /// Whose unit was started last.
    turn: Option<OperatorName>,
    arrivals: u64,
}

#[derive(Clone, Debug)]
struct Run {
    since: Moment,
    memory_bytes: u64,
}

/// A unit that runs from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Which.
    pub unit: UnitId,
    /// Why; at most [`crate::decision::MAX_CAUSES`].
    pub causes: Vec<Cause>,
    /// When the first cause came in.
    pub woken: Moment,
}

impl Scheduler {
    /// A scheduler without operators. The same seed and calls give the same answers.
    pub fn new(seed: u64, global: GlobalLimits) -> Self {
        Self {
            global,
            chance: Chance(seed),
            now: Moment::default(),
            operators: BTreeMap::new(),
            running: BTreeMap::new(),
            requests: Window::new(Duration::from_secs(1)),
            turn: None,
            arrivals: 0,
        }
    }

    /// Sets the limits over all operators.
    pub fn set_global(&mut self, global: GlobalLimits) {
        self.global = global;
    }

    /// Adds an operator or changes its limits, which hold from here on for what already waits too.
    pub fn set_operator(&mut self, now: Moment, name: &OperatorName, limits: Limits) {
        self.tick(now);
        let line = self.operators.entry(name.clone()).or_insert_with(|| Line::new(limits.clone()));
        line.limits = limits;
        line.removed = false;
        let units: Vec<_> = line.units.keys().cloned().collect();
        units.iter().for_each(|unit| line.place(unit, &mut self.arrivals));
    }

    /// Forgets an operator and its units. Runs under way count until they finish.
    pub fn remove_operator(&mut self, name: &OperatorName) {
        let Some(line) = self.operators.get_mut(name) else { return };
        line.removed = true;
        line.paused = false;
        let units: Vec<_> = line.units.keys().cloned().collect();
        for unit in &units {
            line.units.entry(unit.clone()).and_modify(|entry| entry.forget());
            line.place(unit, &mut self.arrivals);
            line.bury(unit);
        }
    }

    /// Stops starting an operator's units, or goes on. What wakes them meanwhile is remembered.
    pub fn pause(&mut self, name: &OperatorName, paused: bool) {
        if let Some(line) = self.operators.get_mut(name) {
            line.paused = paused;
        }
    }

    /// Whether somebody paused it.
    pub fn is_paused(&self, name: &OperatorName) -> bool {
        self.operators.get(name).is_some_and(|line| line.paused)
    }

    /// There is a reason for a unit to run. While it runs this is remembered, and it runs again after.
    /// Units of operators that are not set are nobody's, and ignored.
    pub fn wake(&mut self, now: Moment, unit: &UnitId, cause: Cause) {
        let now = self.tick(now);
        let Some(line) = self.operators.get_mut(&unit.operator).filter(|line| !line.removed) else { return };
        line.units.entry(unit.unit.clone()).or_default().wake(now, cause);
        line.place(&unit.unit, &mut self.arrivals);
    }

    /// From here on, and until it is forgotten, a unit takes turns with those of other parties, and not with other namespaces.
    pub fn assign(&mut self, unit: &UnitId, party: &Arc<str>) {
        let Some(line) = self.operators.get_mut(&unit.operator).filter(|line| !line.removed) else { return };
        line.assign(&unit.unit, party);
    }

    /// Every unit that may run now. They count as running until [`Scheduler::finish`].
    pub fn start(&mut self, now: Moment) -> Vec<Started> {
        let now = self.tick(now);
        self.operators.values_mut().for_each(|line| line.purge(now));
        let mut started = Vec::new();
        while let Some(name) = self.pick(now).cloned() {
            started.extend(self.begin(now, name));
        }
        started
    }

    fn begin(&mut self, now: Moment, name: OperatorName) -> Option<Started> {
        let line = self.operators.get_mut(&name)?;
        let unit = line.pop()?;
        let (causes, woken) = line.units.get_mut(&unit)?.begin(now, &line.limits);
        line.running += 1;
        let memory_bytes = line.limits.memory_bytes.min(self.global.process_memory_bytes);
        self.turn = Some(name.clone());
        let unit = UnitId { operator: name, unit };
        self.running.insert(unit.clone(), Run { since: now, memory_bytes });
        Some(Started { unit, causes, woken })
    }

    /// A run has ended. Units that do not run are left as they are.
    pub fn finish(&mut self, now: Moment, unit: &UnitId, ended: Ended) {
        let now = self.tick(now);
        let Some(run) = self.running.remove(unit) else { return };
        let share = self.chance.share();
        let Some(line) = self.operators.get_mut(&unit.operator) else { return };
        line.running -= 1;
        line.hung = ended == Ended::Failed && (line.hung || now.since(run.since) >= line.limits.timeout);
        let Some(entry) = line.units.get_mut(&unit.unit) else { return };
        entry.finish(now, if line.removed { Ended::Gone } else { ended }, share);
        if entry.gone {
            entry.forget();
            line.bury(&unit.unit);
        }
        line.place(&unit.unit, &mut self.arrivals);
    }

    /// The unit does not run until its write to `object` came back through the watch, or `until`.
    /// Several holds become one: the last that is named, until the latest.
    pub fn hold(&mut self, unit: &UnitId, object: ObjectKey, until: Moment) {
        let Some(line) = self.operators.get_mut(&unit.operator) else { return };
        let Some(entry) = line.units.get_mut(&unit.unit) else { return };
        let until = entry.hold.as_ref().map_or(until, |before| until.max(before.1));
        entry.hold = Some(Box::new((object, until)));
        line.place(&unit.unit, &mut self.arrivals);
    }

    /// All that the unit wrote came back.
    pub fn release(&mut self, now: Moment, unit: &UnitId) {
        self.tick(now);
        let Some(line) = self.operators.get_mut(&unit.operator) else { return };
        if let Some(entry) = line.units.get_mut(&unit.unit) {
            entry.hold = None;
            line.place(&unit.unit, &mut self.arrivals);
        }
    }

    /// The unit loops: it does not run before `until`.
    pub fn slow(&mut self, now: Moment, unit: &UnitId, until: Moment) {
        self.tick(now);
        let Some(line) = self.operators.get_mut(&unit.operator) else { return };
        if let Some(entry) = line.units.get_mut(&unit.unit) {
            entry.slow(until);
            line.place(&unit.unit, &mut self.arrivals);
        }
    }

    /// How many of the wanted writes may be carried out now; they count as carried out.
    pub fn spend(&mut self, now: Moment, name: &OperatorName, wanted: usize) -> usize {
        let now = self.tick(now);
        if wanted == 0 || !self.operators.contains_key(name) {
            return 0;
        }
        let limit = count(self.global.writes_per_second());
        let claims = |(other, line): &(&OperatorName, &Line)| {
            *other == name || line.asked.is_some_and(|at| now.since(at) < CLAIM)
        };
        let claimants = self.operators.iter().filter(claims).count().max(1);
        let Some(line) = self.operators.get_mut(name) else { return 0 };
        line.asked = Some(now);
        let share = (limit / claimants).max(1).saturating_sub(line.spent(now));
        let granted = wanted.min(line.left(now)).min(self.requests.left(now, limit)).min(share);
        line.spend(now, granted);
        self.requests.spend(now, granted);
        granted
    }

    /// So many of the writes that were granted at that moment changed nothing, or were not tried: they are the operator's
    /// again. The requests stay spent.
    pub fn refund(&mut self, name: &OperatorName, granted: Moment, count: usize) {
        if let Some(line) = self.operators.get_mut(name) {
            line.refund(granted, count);
        }
    }

    /// The latest time it was told.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Why a unit does not run right now.
    pub fn wait(&self, now: Moment, unit: &UnitId) -> Wait {
        let Some(line) = self.operators.get(&unit.operator) else { return Wait::NothingChanged };
        line.units.get(&unit.unit).map_or(Wait::NothingChanged, |entry| self.explain(now.max(self.now), line, entry))
    }

    /// The same for every unit of an operator, with what has woken it.
    pub fn waits(&self, now: Moment, name: &OperatorName) -> Vec<(UnitId, Wait, Vec<Cause>)> {
        let Some(line) = self.operators.get(name) else { return Vec::new() };
        let known = line.units.iter().filter(|(_, entry)| !entry.gone);
        let told = known.map(|(unit, entry)| {
            let id = UnitId { operator: name.clone(), unit: unit.clone() };
            (id, self.explain(now.max(self.now), line, entry), entry.causes.clone())
        });
        told.collect()
    }

    /// The same for one unit, with what has woken it.
    pub fn waiting(&self, now: Moment, unit: &UnitId) -> (Wait, Vec<Cause>) {
        let entry = self.operators.get(&unit.operator).and_then(|line| line.units.get(&unit.unit));
        (self.wait(now, unit), entry.map(|entry| entry.causes.clone()).unwrap_or_default())
    }

    /// Whether nothing runs and nothing was woken or left unfinished: what remains are retries, regular looks and returns.
    pub fn is_idle(&self) -> bool {
        let woken = |line: &Line| line.units.values().any(|entry| entry.is_wanted());
        self.running.is_empty() && !self.operators.values().any(woken)
    }

    /// What runs, and since when.
    pub fn running(&self) -> impl Iterator<Item = (&UnitId, Moment)> {
        self.running.iter().map(|(unit, run)| (unit, run.since))
    }

    /// The limits of an operator.
    pub fn limits(&self, name: &OperatorName) -> Option<&Limits> {
        self.operators.get(name).filter(|line| !line.removed).map(|line| &line.limits)
    }

    // Time does not go back, whatever we are told.
    fn tick(&mut self, now: Moment) -> Moment {
        self.now = self.now.max(now);
        self.now
    }
}
