//! State machine of the kernel: takes events, returns commands, and has no clock and no I/O of its own.
//!
//! ```text
//!  observe ─▶ cache ─▶ triggers ─▶ scheduler ─▶ CoreCommand::Run ─▶ (decide) ─▶ finish_decide ─▶ arbiter
//!                                                       finish_writes ◀─ (write) ◀─ RunProgress::Write ◀┘
//! ```
//!
//! The host ([`crate::host`]) and the probe drive the same core; they differ in the timing of decisions and in injected
//! faults.

mod abandoned;
mod counters;
mod opening;
mod own_writes;
mod panics;
mod pending_writes;
mod redaction;
mod removal;
mod rows;
mod run;
mod status;
mod unit_index;
mod writes;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::arbiter::Arbiter;
use crate::cache::{Cache, CacheError, ObjectChange, TableEvent};
use crate::decision::{Cause, DecisionId};
use crate::limits::{GlobalLimits, Limits};
use crate::operator::{Declaration, Operator, OperatorName, Unit, UnitId, Units};
use crate::resource::TableKey;
use crate::row_cache::RowCommand;
use crate::scheduler::Scheduler;
use crate::state::OperatorPause;
use crate::store::StoreName;
use crate::timestamp::Timestamp;
use crate::topology::Topology;
use crate::triggers::TriggerIndex;
use crate::view::WriteRejection;

pub(crate) use abandoned::{abandoned_reason, hung_message, timeout_message};
pub use panics::decide_catching_panics;
pub use panics::silence_panic_hook;
pub(crate) use redaction::redactor_for_objects;

pub use rows::{QUIET_PARK_MS, StoreEvent};
pub use run::{DecideResult, FinishedRun, RunProgress, UnitRun};

use counters::RunCounters;
use pending_writes::PendingWrites;
use status::UnitStatuses;
use unit_index::{ClusterScope, UnitIndex};

/// Time for which a kind stays watched without readers, so that a unit that reads it again needs no new list.
pub const UNREAD_GRACE_MS: u64 = 60_000;

/// Maximum number of changes remembered for active runs. If more occur during a run, the unit runs again.
pub const MAX_RECENT: usize = 4096;

/// Command of the core to its driver.
pub enum CoreCommand {
    /// Watch a kind and report its events.
    Watch(TableKey),
    /// Stop watching a kind.
    Unwatch(TableKey),
    /// Let an operator decide, and report the result with [`Core::finish_decide`].
    Run(Box<UnitRun>),
    /// Read rows of a store, and report with [`Core::observe_store`].
    Rows(StoreName, RowCommand),
}

/// Operator with the kernel's data about it.
struct HostedOperator {
    operator: Arc<dyn Operator>,
    declaration: Arc<Declaration>,
    inputs: Arc<BTreeSet<crate::operator::AccessRule>>,
    /// Real cluster of each of its cluster types.
    topology: Arc<Topology>,
    counters: RunCounters,
    limits: Limits,
    /// Settings that are recorded with its decisions.
    settings: serde_json::Value,
}

/// State of the kernel; the module describes how to drive it.
///
/// # Guarantees
/// - A change during a run triggers the unit again if the run had read the object. // test: guarantees_a_change_during_a_run_is_not_lost
/// - A unit does not run on a view older than its own writes, within a time limit. // test: guarantees_a_unit_sees_its_own_writes
/// - A kind is watched once for all its readers. // test: guarantees_one_watch_per_kind
pub struct Core {
    operators: BTreeMap<OperatorName, HostedOperator>,
    topology: Arc<Topology>,
    cache: Cache,
    triggers: TriggerIndex,
    scheduler: Scheduler,
    arbiter: Arbiter,
    unit_index: UnitIndex,
    /// Units of operators with [`Units::External`].
    external_units: BTreeMap<OperatorName, BTreeSet<Unit>>,
    pending_writes: PendingWrites,
    unit_statuses: UnitStatuses,
    /// Watched kinds, including those of pending commands, with the time since which they have no readers.
    watched: BTreeMap<TableKey, Option<Timestamp>>,
    /// Kinds whose watch has stopped, with the first decision after that. Earlier runs may have read them.
    unwatched: BTreeMap<TableKey, u64>,
    /// Errors of failing watches.
    watch_errors: BTreeMap<TableKey, String>,
    commands: Vec<CoreCommand>,
    running: BTreeMap<UnitId, run::RunningUnit>,
    /// Numbered changes since the oldest active run began.
    recent: VecDeque<(u64, ObjectChange)>,
    changes_seen: u64,
    /// Number of the last change that is no longer remembered.
    changes_forgotten: u64,
    next_decision: u64,
    started_at: Timestamp,
    /// Rejected writes of each unit's last run; only for runs with failed writes.
    rejected_writes: BTreeMap<UnitId, Vec<WriteRejection>>,
    /// Units whose last run wrote to stale objects, with the reads, the number of such runs, and the start time.
    stale: BTreeMap<UnitId, writes::StaleRuns>,
    /// For each active finding (object, field, units), the count from which it is reported again.
    reported_findings: BTreeMap<(crate::resource::ObjectKey, String, Vec<UnitId>), u32>,
    /// Whether nothing is changed, neither on clusters nor in external systems.
    dry_run: bool,
    rows: rows::Rows,
}

impl Core {
    /// Creates a core without operators. `seed` determines the jitter, `next_decision` continues the journal's numbers.
    pub fn new(now: Timestamp, seed: u64, topology: Topology, global: GlobalLimits, next_decision: DecisionId) -> Self {
        Self {
            operators: BTreeMap::new(),
            topology: Arc::new(topology),
            cache: Cache::default(),
            triggers: TriggerIndex::default(),
            scheduler: Scheduler::new(seed, global),
            arbiter: Arbiter::default(),
            unit_index: UnitIndex::default(),
            external_units: BTreeMap::new(),
            pending_writes: PendingWrites::default(),
            unit_statuses: UnitStatuses::default(),
            watched: BTreeMap::new(),
            unwatched: BTreeMap::new(),
            watch_errors: BTreeMap::new(),
            commands: Vec::new(),
            running: BTreeMap::new(),
            recent: VecDeque::new(),
            changes_seen: 0,
            changes_forgotten: 0,
            next_decision: next_decision.0,
            started_at: now,
            rejected_writes: BTreeMap::new(),
            stale: BTreeMap::new(),
            reported_findings: BTreeMap::new(),
            dry_run: false,
            rows: rows::Rows::default(),
        }
    }

    /// Adds an operator. Its units run as soon as they are known.
    pub fn add(&mut self, now: Timestamp, operator: Arc<dyn Operator>, limits: Limits) {
        let name = OperatorName::new(operator.name());
        let declaration = operator.declaration();
        let topology = operator.topology().map_or_else(|| self.topology.clone(), Arc::new);
        self.scheduler.set_operator(now, &name, limits.clone());
        match &declaration.units {
            Units::Whole => {
                let unit = UnitId { operator: name.clone(), unit: Unit::Whole };
                self.trigger(now, &unit, Cause::Started);
            }
            Units::Each { cluster_type, resource, selection } => {
                let table = topology.table(*cluster_type, resource);
                self.unit_index.add(
                    &name,
                    &table,
                    ClusterScope { topology: topology.clone(), cluster_type: *cluster_type },
                    selection,
                );
                self.ensure_watched(&table);
                for unit in self.unit_index.existing_units(&name, &table, &self.cache.snapshot()) {
                    self.trigger(now, &unit, Cause::Started);
                }
            }
            Units::External(units) => {
                for unit in units {
                    let unit = UnitId { operator: name.clone(), unit: unit.clone() };
                    self.trigger(now, &unit, Cause::Started);
                }
                self.external_units.insert(name.clone(), units.clone());
            }
        }
        let inputs = Arc::new(declaration.readable());
        if operator.needs_managed_fields() {
            inputs
                .iter()
                .for_each(|input| self.keep_managed_fields(&topology.table(input.cluster_type, &input.resource)));
        }
        let declaration = Arc::new(declaration);
        // An operator that is added again, for example with more inputs, keeps its counters.
        let account = self.operators.remove(&name).map(|before| before.counters).unwrap_or_default();
        let settings = operator.settings();
        let hosted = HostedOperator { operator, declaration, inputs, topology, counters: account, limits, settings };
        self.operators.insert(name, hosted);
    }

    /// Lists a kind again if it is cached without `managedFields`.
    fn keep_managed_fields(&mut self, table: &TableKey) {
        if self.cache.keep_managed_fields(table) {
            self.cache.forget(table);
            self.commands.extend([CoreCommand::Unwatch(table.clone()), CoreCommand::Watch(table.clone())]);
        }
    }

    /// Replaces the units of an operator with [`Units::External`], and triggers new, removed and `changed` units.
    /// Returns whether the operator exists.
    pub fn set_units(
        &mut self,
        now: Timestamp,
        operator: &OperatorName,
        units: BTreeSet<Unit>,
        changed: &[Unit],
    ) -> bool {
        let Some(known) = self.external_units.get_mut(operator) else { return false };
        let before = std::mem::replace(known, units.clone());
        let triggered: BTreeSet<&Unit> = before.symmetric_difference(&units).chain(changed).collect();
        for unit in triggered {
            let unit = UnitId { operator: operator.clone(), unit: unit.clone() };
            self.trigger(now, &unit, Cause::External);
        }
        true
    }

    /// Changes an operator's limits.
    pub fn set_limits(&mut self, now: Timestamp, operator: &OperatorName, limits: Limits) {
        if let Some(hosted) = self.operators.get_mut(operator) {
            hosted.limits = limits.clone();
            self.scheduler.set_operator(now, operator, limits);
        }
    }

    /// Changes the global limits.
    pub fn set_global(&mut self, global: GlobalLimits) {
        self.scheduler.set_global(global);
    }

    /// Switches to a dry run: external queries with side effects are skipped. The driver executes the writes as dry
    /// runs.
    pub fn set_dry_run(&mut self) {
        self.dry_run = true;
    }

    /// Pauses an operator, or resumes it for `None`.
    pub fn pause(&mut self, operator: &OperatorName, pause: Option<OperatorPause>) {
        self.scheduler.pause(operator, pause);
    }

    /// Returns a snapshot of all cached objects.
    pub fn snapshot(&self) -> Arc<crate::cache::Snapshot> {
        self.cache.snapshot()
    }

    /// Returns the names of the operators.
    pub fn operators(&self) -> impl Iterator<Item = &OperatorName> {
        self.operators.keys()
    }

    /// Applies an event of a watch.
    ///
    /// # Errors
    /// When the received bytes are not an object; the cache is then unchanged.
    pub fn observe(&mut self, now: Timestamp, table: &TableKey, event: TableEvent) -> Result<(), CacheError> {
        if !self.watched.contains_key(table) {
            // A stopped watch may still have an event in flight.
            return Ok(());
        }
        let observation = self.cache.observe(table, event)?;
        self.watch_errors.remove(table);
        if observation.became_readable {
            self.resume_waiting(now, table);
        }
        for change in observation.changes {
            let first = observation.became_readable && change.before.is_none();
            self.apply_change(now, change, first);
        }
        Ok(())
    }

    /// Records that a watch fails. Returns whether the error is new.
    pub fn set_watch_error(&mut self, table: &TableKey, message: String) -> bool {
        self.watched.contains_key(table)
            && self.watch_errors.insert(table.clone(), message.clone()).is_none_or(|before| before != message)
    }

    fn apply_change(&mut self, now: Timestamp, change: ObjectChange, first: bool) {
        self.trigger_readers(now, &change, first);
        for unit in self.pending_writes.observe(&change) {
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

    fn trigger(&mut self, now: Timestamp, unit: &UnitId, cause: Cause) {
        self.unit_statuses.ensure(now, unit);
        self.scheduler.trigger(now, unit, cause);
    }

    /// Records that an API server returned 429.
    pub fn throttle(&mut self, now: Timestamp) {
        self.scheduler.throttle(now);
    }

    /// Returns all commands that are due.
    pub fn poll(&mut self, now: Timestamp) -> Vec<CoreCommand> {
        for unit in self.pending_writes.overdue(now) {
            self.scheduler.release(now, &unit);
            // A write that was never observed may have been undone in between, and then nothing the unit read has
            // changed.
            self.trigger(now, &unit, Cause::Resync);
        }
        for started in self.scheduler.start(now) {
            if let Some(run) = self.begin(now, started) {
                self.commands.push(CoreCommand::Run(Box::new(run)));
            }
        }
        self.poll_stores(now);
        self.unwatch_unread(now);
        std::mem::take(&mut self.commands)
    }

    /// Returns the next time at which [`Core::poll`] may have commands if nothing else happens.
    pub fn next(&self) -> Option<Timestamp> {
        let unread = self.watched.values().flatten().map(|since| Timestamp(since.0 + UNREAD_GRACE_MS));
        self.scheduler
            .next()
            .into_iter()
            .chain(self.pending_writes.next())
            .chain(unread)
            .chain(self.next_of_stores())
            .min()
    }

    /// Whether no run is active or pending: every unit has decided on the current objects.
    pub fn is_quiet(&self) -> bool {
        self.running.is_empty()
            && self.commands.is_empty()
            && self.watched.keys().all(|table| self.cache.is_readable(table))
            && self.scheduler.is_idle()
            && self.stores_are_quiet()
    }

    /// Whether all remaining work waits for kinds that cannot be read at the moment.
    pub fn is_disconnected(&self) -> bool {
        let mut unread = self.watched.keys().filter(|table| !self.cache.is_readable(table)).peekable();
        self.running.is_empty()
            && self.commands.is_empty()
            && self.scheduler.is_idle()
            && unread.peek().is_some()
            && unread.all(|table| self.watch_errors.contains_key(table))
    }

    /// Returns the reasons why [`Core::is_quiet`] is false, as messages for users.
    pub fn unsettled_reasons(&self) -> Vec<String> {
        let unread = self.watched.keys().filter(|table| !self.cache.is_readable(table)).map(|table| {
            let why = self.watch_errors.get(table).map_or("has not been read yet", String::as_str);
            format!("{} of {}: {why}", table.resource, table.cluster)
        });
        let undecided = self.running.keys().map(|unit| format!("{unit} is still deciding"));
        unread.chain(undecided).chain(self.parked_reasons()).collect()
    }
}

#[cfg(test)]
mod tests;
