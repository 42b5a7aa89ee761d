//! Status of each unit, and the state of the whole kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::Core;
use crate::arbiter::turn_wait;
use crate::decision::{Cause, DecisionId, Write, WriteResult};
use crate::operator::{OperatorName, Unit, UnitId};
use crate::plan::UnitStatus;
use crate::scheduler::RunEnd;
use crate::state::{
    Finding, Health, KernelState, MAX_UNITS_SHOWN, OperatorPause, OperatorState, SlowedWrites, TableState, UnitState,
    Wait,
};
use crate::timestamp::Timestamp;

/// Number of runs in a row with more writes than allowed after which a unit is reported to flood.
const FLOOD_RUNS: u32 = 3;

/// Status of every unit, by operator.
#[derive(Default)]
pub(super) struct UnitStatuses(BTreeMap<OperatorName, BTreeMap<Unit, UnitRecord>>);

struct UnitRecord {
    health: Health,
    /// Boxed without spare capacity: there are many units, and most have no reason.
    reason: Box<str>,
    since: Timestamp,
    last: Option<DecisionId>,
    /// Number of runs in a row with more writes than allowed.
    floods: u32,
}

impl UnitStatuses {
    pub fn ensure(&mut self, now: Timestamp, unit: &UnitId) {
        if self.get_mut(unit).is_none() {
            let record = UnitRecord {
                health: Health::Working,
                reason: "not decided yet".into(),
                since: now,
                last: None,
                floods: 0,
            };
            self.0.entry(unit.operator.clone()).or_default().insert(unit.unit.clone(), record);
        }
    }

    pub fn set(&mut self, now: Timestamp, unit: &UnitId, health: Health, reason: &str) {
        self.ensure(now, unit);
        let Some(record) = self.get_mut(unit) else { return };
        if record.health != health || !equal_ignoring_numbers(&record.reason, reason) {
            record.since = now;
        }
        if *record.reason != *reason {
            record.reason = reason.into();
        }
        record.health = health;
    }

    pub fn set_last_decision(&mut self, unit: &UnitId, id: DecisionId) {
        if let Some(record) = self.get_mut(unit) {
            record.last = Some(id);
        }
    }

    pub fn forget(&mut self, unit: &UnitId) {
        if let Some(units) = self.0.get_mut(&unit.operator) {
            units.remove(&unit.unit);
        }
    }

    /// Removes an operator, and returns its units.
    pub fn remove(&mut self, operator: &OperatorName) -> Vec<UnitId> {
        let units = self.0.remove(operator).unwrap_or_default();
        units.into_keys().map(|unit| UnitId { operator: operator.clone(), unit }).collect()
    }

    fn floods(&mut self, unit: &UnitId, held: bool) -> u32 {
        self.get_mut(unit).map_or(0, |record| {
            record.floods = if held { record.floods + 1 } else { 0 };
            record.floods
        })
    }

    fn get_mut(&mut self, unit: &UnitId) -> Option<&mut UnitRecord> {
        self.0.get_mut(&unit.operator)?.get_mut(&unit.unit)
    }

    fn of(&self, operator: &OperatorName) -> impl Iterator<Item = (&Unit, &UnitRecord)> {
        self.0.get(operator).into_iter().flatten()
    }
}

/// Returns the reason shown for a paused operator.
fn pause_reason(pause: &OperatorPause, name: &OperatorName) -> String {
    format!("{pause}; resume with `switchboard resume {name}`")
}

/// Whether two reasons differ at most in their numbers.
fn equal_ignoring_numbers(one: &str, other: &str) -> bool {
    let words = |text: &'_ str| text.split(|letter: char| letter.is_ascii_digit()).collect::<String>();
    one == other || words(one) == words(other)
}

impl Core {
    /// Sets the unit's status from the results of its writes, and returns how the run ended.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is one fact about the run, and this is the one place they meet"
    )]
    pub(super) fn conclude(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        writes: &[Write],
        held: usize,
        status: &UnitStatus,
        again: Option<Duration>,
        findings: &[Finding],
    ) -> RunEnd {
        let floods = self.unit_statuses.floods(unit, held > 0);
        if let Some(wait) = self.arbiter.slowdown(unit, now).or_else(|| self.conflict_wait(now, unit)) {
            self.scheduler.slow(now, unit, now.after(wait));
        }
        let failed = writes.iter().find_map(|write| match &write.result {
            WriteResult::Failed { message } => Some(format!("could not {}: {message}", write.mutation)),
            WriteResult::Refused { reason } => Some(format!("may not {}: {reason}", write.mutation)),
            _ => None,
        });
        let stale = writes.iter().any(|write| matches!(write.result, WriteResult::Stale { .. }));
        let (health, reason) = if let Some(failed) = &failed {
            (Health::Failing, failed.clone())
        } else if let Some(finding) = findings.iter().chain(&self.findings_of(now, unit)).next() {
            (Health::Failing, finding.to_string())
        } else if floods >= FLOOD_RUNS {
            (Health::Failing, format!("exceeds its write budget by {held} writes, {floods} runs in a row"))
        } else if held > 0 {
            (Health::Working, format!("{held} writes wait for the write budget"))
        } else if stale {
            (Health::Working, "an object changed before it was written".to_string())
        } else {
            match status {
                UnitStatus::Ready => (Health::Ready, String::new()),
                UnitStatus::Waiting(on) => (Health::Waiting, on.clone()),
                UnitStatus::Blocked(needs) => (Health::Blocked, needs.clone()),
                UnitStatus::Failing(why) => (Health::Failing, why.clone()),
            }
        };
        self.unit_statuses.set(now, unit, health, &reason);
        if failed.is_some() || matches!(status, UnitStatus::Failing(_)) {
            RunEnd::Failed
        } else if held > 0 || stale {
            RunEnd::Unfinished
        } else {
            RunEnd::Done { requeue_after: again }
        }
    }

    /// Returns the delay for units in a field conflict, which grows until a user resolves it.
    fn conflict_wait(&self, now: Timestamp, unit: &UnitId) -> Option<Duration> {
        let flips = self.findings_of(now, unit).iter().map(|finding| finding.count()).max()?;
        Some(turn_wait(flips))
    }

    /// Returns the findings that are new or whose count has doubled since the last report, so that a conflict does not
    /// fill the journal.
    pub(super) fn new_findings(&mut self, now: Timestamp, found: Vec<Finding>) -> Vec<Finding> {
        if self.reported_findings.is_empty() && found.is_empty() {
            return found;
        }
        let key = |finding: &Finding| (finding.object().clone(), finding.field().to_string(), finding.units());
        let ongoing: BTreeSet<_> = self.arbiter.findings(now).iter().map(key).collect();
        self.reported_findings.retain(|reported, _| ongoing.contains(reported));
        let reported = &mut self.reported_findings;
        found
            .into_iter()
            .filter(|finding| {
                let due = reported.entry(key(finding)).or_default();
                let worth = finding.count() >= *due;
                if worth {
                    *due = finding.count().saturating_mul(2);
                }
                worth
            })
            .collect()
    }

    fn findings_of(&self, now: Timestamp, unit: &UnitId) -> Vec<Finding> {
        let mut findings = self.arbiter.findings(now);
        findings.retain(|finding| match finding {
            Finding::FieldConflict { units, .. } => units.contains(unit),
            Finding::HotLoop { unit: looping, .. } => *looping == *unit,
        });
        findings
    }

    /// Returns the current state of the kernel.
    pub fn state(&self, now: Timestamp) -> KernelState {
        let mut findings = self.arbiter.findings(now);
        findings.sort_by_key(|finding| finding.to_string());
        let tables: Vec<TableState> = self.watched.keys().map(|table| self.table_state(table)).collect();
        let operators = self.operators.keys().map(|name| self.operator_state(now, name, &tables)).collect();
        let slowed = self.scheduler.slowed_by_servers();
        let slowed = slowed.map(|(writes_per_second, because)| SlowedWrites { writes_per_second, because });
        KernelState { now, started_at: self.started_at, operators, tables, findings, unrecorded: 0, slowed }
    }

    fn table_state(&self, table: &crate::resource::TableKey) -> TableState {
        let size = self.cache.size(table);
        let mut readers: BTreeSet<OperatorName> = self.triggers.readers(table).into_iter().collect();
        readers.extend(self.unit_index.operators(table).cloned());
        TableState {
            table: table.clone(),
            synced: self.cache.is_readable(table),
            served: self.cache.is_served(table),
            objects: size.objects,
            bytes: size.bytes,
            readers: readers.into_iter().collect(),
            watch_error: self.watch_errors.get(table).cloned(),
        }
    }

    fn operator_state(&self, now: Timestamp, name: &OperatorName, tables: &[TableState]) -> OperatorState {
        let hosted = &self.operators[name];
        let mut units: Vec<UnitState> =
            self.unit_statuses.of(name).map(|(unit, s)| self.unit_state(now, name, unit, s)).collect();
        let units_total = units.len();
        units.sort_by(|a, b| b.health.cmp(&a.health).then_with(|| a.unit.cmp(&b.unit)));
        let (health, reason) = units.first().map_or_else(
            || self.unread_status(name),
            |unit| {
                let whose = if units_total > 1 { format!("{}: ", unit.unit) } else { String::new() };
                (unit.health, if unit.reason.is_empty() { String::new() } else { format!("{whose}{}", unit.reason) })
            },
        );
        // With a failing watch the operator reads outdated objects, so Ready would be a guess.
        let blind = tables
            .iter()
            .find(|one| one.synced && one.readers.contains(name) && self.watch_errors.contains_key(&one.table));
        let (health, reason) = match blind.filter(|_| health <= Health::Waiting) {
            Some(TableState { table, .. }) => {
                let why = self.watch_errors.get(table).map(String::as_str).unwrap_or_default();
                (Health::Waiting, format!("could not watch {} of cluster {}: {why}", table.resource, table.cluster))
            }
            None => (health, reason),
        };
        let paused = self.scheduler.paused(name);
        let (health, reason) = match (paused, health, reason.is_empty()) {
            (Some(pause), Health::Ready | Health::Working, _) => (Health::Waiting, pause_reason(pause, name)),
            (Some(pause), _, true) => (Health::Waiting, pause_reason(pause, name)),
            (Some(pause), _, false) => (health, format!("{}; {reason}", pause_reason(pause, name))),
            (None, ..) => (health, reason),
        };
        units.retain(|unit| unit.health != Health::Ready || unit.wait != Wait::NothingChanged);
        let units_waiting = units.len();
        units.truncate(MAX_UNITS_SHOWN);
        let share = |table: &TableState| table.bytes / table.readers.len().max(1) as u64;
        OperatorState {
            name: name.to_string(),
            health,
            reason,
            paused: paused.cloned(),
            runs: hosted.counters.runs,
            failures: hosted.counters.failures,
            writes: hosted.counters.writes,
            decide_p50_us: hosted.counters.percentile_us(50),
            decide_p99_us: hosted.counters.percentile_us(99),
            decide_times: hosted.counters.decide_times.clone(),
            cache_share_bytes: tables.iter().filter(|t| t.readers.contains(name)).map(share).sum(),
            units,
            units_total,
            units_waiting,
        }
    }

    /// Returns the state of one unit; `None` if it does not exist.
    pub fn unit(&self, now: Timestamp, unit: &UnitId) -> Option<UnitState> {
        let record = self.unit_statuses.0.get(&unit.operator)?.get(&unit.unit)?;
        Some(self.unit_state(now, &unit.operator, &unit.unit, record))
    }

    /// Triggers units because an external input changed, whether or not their objects exist: a deleted
    /// object may have left external state. Returns whether the operator exists.
    pub fn enqueue(&mut self, now: Timestamp, operator: &OperatorName, units: Vec<Unit>) -> bool {
        self.enqueue_for_flow(now, operator, units, None)
    }

    /// Triggers units as [`Core::enqueue`] does, and schedules them fairly by `flow` instead of by namespace.
    pub fn enqueue_for_flow(
        &mut self,
        now: Timestamp,
        operator: &OperatorName,
        units: Vec<Unit>,
        flow: Option<&Arc<str>>,
    ) -> bool {
        if !self.operators.contains_key(operator) {
            return false;
        }
        for unit in units {
            let unit = UnitId { operator: operator.clone(), unit };
            if let Some(flow) = flow {
                self.scheduler.set_flow(&unit, flow);
            }
            self.trigger(now, &unit, Cause::External);
        }
        true
    }

    /// Triggers a unit of an operator, or all of them, on a user's request. Returns their number; `None` if the
    /// operator does not exist.
    pub fn reconcile(&mut self, now: Timestamp, operator: &OperatorName, unit: Option<&Unit>) -> Option<usize> {
        self.operators.get(operator)?;
        let triggered = self.unit_statuses.of(operator).filter(|(one, _)| unit.is_none_or(|unit| unit == *one));
        let triggered: Vec<UnitId> =
            triggered.map(|(unit, _)| UnitId { operator: operator.clone(), unit: unit.clone() }).collect();
        triggered.iter().for_each(|unit| self.trigger(now, unit, Cause::Requested));
        Some(triggered.len())
    }

    /// Returns the status of an operator without units: it has none, or the kind of its units has not been read yet.
    fn unread_status(&self, name: &OperatorName) -> (Health, String) {
        let tables = self.watched.keys().filter(|table| self.unit_index.operators(table).any(|reader| reader == name));
        let unread = tables.filter(|table| !self.cache.is_readable(table)).map(|table| {
            let why = self.watch_errors.get(table).map(|message| format!(": {message}")).unwrap_or_default();
            format!("{} of cluster {}: not cached yet{why}", table.resource, table.cluster)
        });
        unread
            .reduce(|all, one| format!("{all}; {one}"))
            .map_or((Health::Ready, String::new()), |on| (Health::Waiting, on))
    }

    fn unit_state(&self, now: Timestamp, operator: &OperatorName, unit: &Unit, record: &UnitRecord) -> UnitState {
        let id = UnitId { operator: operator.clone(), unit: unit.clone() };
        let (wait, causes) = self.scheduler.wait_and_causes(now, &id);
        // Only errors of kinds the unit waits for; other watches do not matter here.
        let missing = match &wait {
            Wait::NotCached { missing } => missing.as_slice(),
            _ => &[],
        };
        let lost = missing.iter().find_map(|table| Some((table, self.watch_errors.get(table)?)));
        let reason =
            lost.map_or_else(|| record.reason.to_string(), |(table, message)| format!("{}: {message}", table.resource));
        UnitState {
            unit: id.unit,
            health: record.health,
            reason,
            since: record.since,
            wait,
            causes,
            last_decision: record.last,
        }
    }
}
