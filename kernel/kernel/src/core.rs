//! The kernel without its shell: events in, orders out, no clock and no I/O of its own.
//!
//! ```text
//!  observe ─▶ cache ─▶ wakes ─▶ scheduler ─▶ Order::Run ─▶ (decide) ─▶ decided ─▶ arbiter ─▶ Order::Write ─▶ carried
//! ```
//!
//! The shell ([`crate::host`]) and the probe drive the same core; they differ in who decides when, and in what fails.

mod account;
mod caught;
mod echo;
mod given_up;
mod removal;
mod roster;
mod run;
mod secrecy;
mod standing;
mod writes;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::arbiter::Arbiter;
use crate::cache::{Cache, CacheError, Change, Observed};
use crate::decision::{Cause, DecisionId};
use crate::limits::{GlobalLimits, Limits};
use crate::moment::Moment;
use crate::operator::{Declaration, Operator, OperatorName, Unit, UnitId, Units};
use crate::place::Topology;
use crate::resource::TableKey;
use crate::scheduler::Scheduler;
use crate::view::Refusal;
use crate::wake::Wakes;

pub use caught::decide_caught;
pub use caught::decides_here;
pub(crate) use given_up::{given_up, late, stuck};
pub(crate) use secrecy::secrets_among;

pub use run::{Answered, Closed, Judgement, Run};

use account::Account;
use echo::Echoes;
use roster::{Rosters, World};
use standing::Standings;

/// How long a kind stays watched after the last reader is gone: a unit that comes back does not pay for a new list.
pub const UNREAD_GRACE_MS: u64 = 60_000;

/// How many changes are remembered for the runs under way; a run during which there are more is followed by another.
pub const MAX_RECENT: usize = 4096;

/// What the core wants done.
pub enum Order {
    /// Watch a kind and report what is seen.
    Watch(TableKey),
    /// Stop watching a kind.
    Unwatch(TableKey),
    /// Let an operator decide, and report with [`Core::decided`].
    Run(Box<Run>),
}

/// An operator with what the kernel knows of it.
struct Hosted {
    operator: Arc<dyn Operator>,
    declaration: Arc<Declaration>,
    inputs: Arc<BTreeSet<crate::operator::Declared>>,
    /// Which real clusters its places are.
    topology: Arc<Topology>,
    account: Account,
    limits: Limits,
    /// What is recorded of how it decides.
    settings: serde_json::Value,
}

/// The kernel's state. See the module for how it is driven.
///
/// # Guarantees
/// - A change that comes in while a unit runs wakes it again if the run had read it. // test: guarantees_a_change_during_a_run_is_not_lost
/// - A unit does not run on a view older than its own writes, within a bound. // test: guarantees_a_unit_sees_its_own_writes
/// - A kind is watched once, whoever reads it. // test: guarantees_one_watch_per_kind
pub struct Core {
    operators: BTreeMap<OperatorName, Hosted>,
    topology: Arc<Topology>,
    cache: Cache,
    wakes: Wakes,
    scheduler: Scheduler,
    arbiter: Arbiter,
    rosters: Rosters,
    /// The units of operators whose shells name them.
    given: BTreeMap<OperatorName, BTreeSet<Unit>>,
    echoes: Echoes,
    standings: Standings,
    /// Kinds that are watched, or will be with the next orders; with the moment from which nobody reads them.
    watched: BTreeMap<TableKey, Option<Moment>>,
    /// Kinds that were let go, with the first decision that was made without them: who began before may have read them.
    let_go: BTreeMap<TableKey, u64>,
    /// Why a watch does not deliver.
    lost: BTreeMap<TableKey, String>,
    orders: Vec<Order>,
    running: BTreeMap<UnitId, run::Running>,
    /// Changes since the oldest running view was made, with their numbers.
    recent: VecDeque<(u64, Change)>,
    changes_seen: u64,
    /// The number of the last change that is not remembered any more.
    changes_forgotten: u64,
    next_decision: u64,
    began: Moment,
    /// What was refused of the last run of a unit; only of those that wrote and failed.
    refused: BTreeMap<UnitId, Vec<Refusal>>,
    /// Units whose last run came too late: on which reads, how often in a row, since when.
    stale: BTreeMap<UnitId, writes::Lateness>,
    /// How often each fight and loop that goes on must have been seen before it is told again: by object, field and who.
    told: BTreeMap<(crate::resource::ObjectKey, String, Vec<UnitId>), u32>,
    /// Whether nothing is changed, neither in clusters nor outside.
    pretending: bool,
}

impl Core {
    /// A kernel with no operators. `seed` is the source of jitter, `next_decision` where the journal goes on.
    pub fn new(now: Moment, seed: u64, topology: Topology, global: GlobalLimits, next_decision: DecisionId) -> Self {
        Self {
            operators: BTreeMap::new(),
            topology: Arc::new(topology),
            cache: Cache::default(),
            wakes: Wakes::default(),
            scheduler: Scheduler::new(seed, global),
            arbiter: Arbiter::default(),
            rosters: Rosters::default(),
            given: BTreeMap::new(),
            echoes: Echoes::default(),
            standings: Standings::default(),
            watched: BTreeMap::new(),
            let_go: BTreeMap::new(),
            lost: BTreeMap::new(),
            orders: Vec::new(),
            running: BTreeMap::new(),
            recent: VecDeque::new(),
            changes_seen: 0,
            changes_forgotten: 0,
            next_decision: next_decision.0,
            began: now,
            refused: BTreeMap::new(),
            stale: BTreeMap::new(),
            told: BTreeMap::new(),
            pretending: false,
        }
    }

    /// Takes an operator in. Its units run as soon as they are known.
    pub fn add(&mut self, now: Moment, operator: Arc<dyn Operator>, limits: Limits) {
        let name = OperatorName::new(operator.name());
        let declaration = operator.declaration();
        let topology = operator.topology().map_or_else(|| self.topology.clone(), Arc::new);
        self.scheduler.set_operator(now, &name, limits.clone());
        match &declaration.units {
            Units::Whole => {
                let unit = UnitId { operator: name.clone(), unit: Unit::Whole };
                self.wake(now, &unit, Cause::Started);
            }
            Units::Each { place, resource, selection } => {
                let table = topology.table(*place, resource);
                self.rosters.add(&name, &table, World { topology: topology.clone(), place: *place }, selection);
                self.want(&table);
                for unit in self.rosters.present(&name, &table, &self.cache.snapshot()) {
                    self.wake(now, &unit, Cause::Started);
                }
            }
            Units::Given(units) => {
                for unit in units {
                    let unit = UnitId { operator: name.clone(), unit: unit.clone() };
                    self.wake(now, &unit, Cause::Started);
                }
                self.given.insert(name.clone(), units.clone());
            }
        }
        let inputs = Arc::new(declaration.readable());
        if operator.reads_managers() {
            inputs.iter().for_each(|input| self.keep_managers(&topology.table(input.place, &input.resource)));
        }
        let declaration = Arc::new(declaration);
        // One that is taken in again, with more to read than before, goes on with its account.
        let account = self.operators.remove(&name).map(|before| before.account).unwrap_or_default();
        let settings = operator.settings();
        let hosted = Hosted { operator, declaration, inputs, topology, account, limits, settings };
        self.operators.insert(name, hosted);
    }

    /// What is held without them is listed anew.
    fn keep_managers(&mut self, table: &TableKey) {
        if self.cache.keep_managers(table) {
            self.cache.forget(table);
            self.orders.extend([Order::Unwatch(table.clone()), Order::Watch(table.clone())]);
        }
    }

    /// Names the units of an operator whose shell does so, and wakes those for which something changed outside, those that
    /// are new and those that are gone. False when there is no such operator.
    pub fn set_units(&mut self, now: Moment, operator: &OperatorName, units: BTreeSet<Unit>, changed: &[Unit]) -> bool {
        let Some(known) = self.given.get_mut(operator) else { return false };
        let before = std::mem::replace(known, units.clone());
        let woken: BTreeSet<&Unit> = before.symmetric_difference(&units).chain(changed).collect();
        for unit in woken {
            let unit = UnitId { operator: operator.clone(), unit: unit.clone() };
            self.wake(now, &unit, Cause::Outside);
        }
        true
    }

    /// Changes an operator's limits while it runs.
    pub fn set_limits(&mut self, now: Moment, operator: &OperatorName, limits: Limits) {
        if let Some(hosted) = self.operators.get_mut(operator) {
            hosted.limits = limits.clone();
            self.scheduler.set_operator(now, operator, limits);
        }
    }

    /// Changes the limits over all operators.
    pub fn set_global(&mut self, global: GlobalLimits) {
        self.scheduler.set_global(global);
    }

    /// From here on operators ask nothing that would change something outside. Their writes are the driver's to pretend.
    pub fn pretend(&mut self) {
        self.pretending = true;
    }

    /// Pauses an operator, or lets it go on.
    pub fn pause(&mut self, operator: &OperatorName, paused: bool) {
        self.scheduler.pause(operator, paused);
    }

    /// All that is cached, as it is now.
    pub fn snapshot(&self) -> Arc<crate::cache::Snapshot> {
        self.cache.snapshot()
    }

    /// The names of the operators.
    pub fn operators(&self) -> impl Iterator<Item = &OperatorName> {
        self.operators.keys()
    }

    /// Takes in what a watch has seen.
    ///
    /// # Errors
    /// When what came over the wire is no object; the cache is as before.
    pub fn observe(&mut self, now: Moment, table: &TableKey, event: Observed) -> Result<(), CacheError> {
        if !self.watched.contains_key(table) {
            // A watch that was stopped may still have something in flight.
            return Ok(());
        }
        let observation = self.cache.observe(table, event)?;
        self.lost.remove(table);
        if observation.became_known {
            for unit in self.wakes.waiting_for(table) {
                self.wake(now, &unit, Cause::Known { table: table.clone() });
            }
        }
        for change in observation.changes {
            let first = observation.became_known && change.before.is_none();
            self.take(now, change, first);
        }
        Ok(())
    }

    /// A watch does not deliver at the moment. True when it did until now, or for another reason.
    pub fn lost(&mut self, table: &TableKey, message: String) -> bool {
        self.watched.contains_key(table)
            && self.lost.insert(table.clone(), message.clone()).is_none_or(|before| before != message)
    }

    fn take(&mut self, now: Moment, change: Change, first: bool) {
        for unit in self.rosters.units_of(&change) {
            let cause = if first {
                Cause::Started
            } else {
                Cause::Changed { object: change.key.clone(), revision: change.revision }
            };
            self.wake(now, &unit, cause);
        }
        for (unit, cause) in self.wakes.woken(&change) {
            self.wake(now, &unit, cause);
        }
        for unit in self.echoes.heard(&change) {
            self.scheduler.release(now, &unit);
        }
        if !self.running.is_empty() {
            self.changes_seen += 1;
            self.recent.push_back((self.changes_seen, change));
            if self.recent.len() > MAX_RECENT {
                self.changes_forgotten = self.recent.pop_front().map_or(0, |(number, _)| number);
            }
        }
    }

    fn wake(&mut self, now: Moment, unit: &UnitId, cause: Cause) {
        self.standings.seen(now, unit);
        self.scheduler.wake(now, unit, cause);
    }

    /// Everything that is to be done now.
    pub fn poll(&mut self, now: Moment) -> Vec<Order> {
        for unit in self.echoes.overdue(now) {
            self.scheduler.release(now, &unit);
            // What never came back may have been undone unseen, and then nothing the unit read has changed.
            self.wake(now, &unit, Cause::Resync);
        }
        for started in self.scheduler.start(now) {
            if let Some(run) = self.begin(now, started) {
                self.orders.push(Order::Run(Box::new(run)));
            }
        }
        self.drop_unread(now);
        std::mem::take(&mut self.orders)
    }

    /// When [`Core::poll`] can next have something to do if nothing else happens.
    pub fn next(&self) -> Option<Moment> {
        let unread = self.watched.values().flatten().map(|since| Moment(since.0 + UNREAD_GRACE_MS));
        self.scheduler.next().into_iter().chain(self.echoes.next()).chain(unread).min()
    }

    /// Whether nothing runs and nothing is about to: every unit has decided on what there is.
    pub fn is_quiet(&self) -> bool {
        self.running.is_empty()
            && self.orders.is_empty()
            && self.watched.keys().all(|table| self.cache.knows(table))
            && self.scheduler.is_idle()
    }

    /// Whether nothing is left to do but to read what cannot be read at the moment.
    pub fn is_cut_off(&self) -> bool {
        let mut unread = self.watched.keys().filter(|table| !self.cache.knows(table)).peekable();
        self.running.is_empty()
            && self.orders.is_empty()
            && self.scheduler.is_idle()
            && unread.peek().is_some()
            && unread.all(|table| self.lost.contains_key(table))
    }

    /// What stands in the way of [`Core::is_quiet`], for people.
    pub fn unsettled(&self) -> Vec<String> {
        let unread = self.watched.keys().filter(|table| !self.cache.knows(table)).map(|table| {
            let why = self.lost.get(table).map_or("has not been read yet", String::as_str);
            format!("{} of {}: {why}", table.resource, table.cluster)
        });
        let undecided = self.running.keys().map(|unit| format!("{unit} is still deciding"));
        unread.chain(undecided).collect()
    }

    fn want(&mut self, table: &TableKey) {
        if self.watched.insert(table.clone(), None).is_none() && !self.cache.knows(table) {
            self.orders.push(Order::Watch(table.clone()));
        }
    }

    fn drop_unread(&mut self, now: Moment) {
        let mut gone = Vec::new();
        for (table, since) in &mut self.watched {
            if self.rosters.reads(table) || self.wakes.is_read(table) {
                *since = None;
                continue;
            }
            let since = *since.get_or_insert(now);
            if now.since(since).as_millis() >= u128::from(UNREAD_GRACE_MS) {
                gone.push(table.clone());
            }
        }
        for table in gone {
            self.watched.remove(&table);
            self.lost.remove(&table);
            self.cache.forget(&table);
            if !self.running.is_empty() {
                self.let_go.insert(table.clone(), self.next_decision);
            }
            self.orders.push(Order::Unwatch(table));
        }
    }
}

#[cfg(test)]
mod tests;
