//! Run of a unit, from its start to the recorded decision.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Core;
use super::opening::waiting_message;
use super::panics::decide_catching_panics;
use super::redaction::{redact_messages, redact_plan};
use super::removal::has_nothing_left;
use super::writes::{hold_back, split};
use crate::applier::ExecutedWrite;
use crate::arbiter::{ArbiterInput, check_rows, rows_or_refuse_all};
use crate::cache::Snapshot;
use crate::decision::{Cause, Decision, DecisionId, RunOutcome, Write, WriteResult};
use crate::operator::{AccessRule, DecideError, Operator, ServiceAccount, UnitId};
use crate::plan::{Plan, UnitStatus};
use crate::resource::TableKey;
use crate::scheduler::{RunEnd, StartedRun};
use crate::state::{Finding, Health};
use crate::store::PlannedRow;
use crate::timestamp::Timestamp;
use crate::topology::Topology;
use crate::triggers;
use crate::view::{Reader, Reads, View, WriteRejection};

/// Maximum number of rejected writes of a run that the next run can read.
pub const MAX_REJECTED_WRITES: usize = 8;

/// Error message of a run whose writing task panicked. The cause is left out, because it may hold written values.
const WRITE_TASK_FAILED: &str = "internal error while writing; the results of the writes are unknown";

/// Run of a unit that is ready to decide.
pub struct UnitRun {
    /// Unit of the run.
    pub unit: UnitId,
    /// Number of the decision.
    pub id: DecisionId,
    /// Time of the decision.
    pub now: Timestamp,
    /// Timeout of the decision.
    pub timeout: Duration,
    pub(crate) operator: Arc<dyn Operator>,
    pub(crate) snapshot: Arc<Snapshot>,
    topology: Arc<Topology>,
    inputs: Arc<BTreeSet<AccessRule>>,
    rejected_writes: Vec<WriteRejection>,
    dry_run: bool,
}

/// Result of a decision, with the reads.
pub struct DecideResult {
    /// Plan, or the reason why there is none.
    pub plan: Result<Plan, DecideError>,
    /// Reads of the run.
    pub reads: Reads,
    /// Time the operator took to decide, in microseconds.
    pub decide_us: u64,
}

impl UnitRun {
    /// Lets the operator decide on the calling thread. A panic is returned as an error.
    pub fn decide(&self) -> (Result<Plan, DecideError>, Reads) {
        let snapshot: Arc<dyn Reader> = self.snapshot.clone();
        let view = View::new(snapshot, self.topology.clone(), self.inputs.clone(), self.now)
            .with_rejected_writes(self.rejected_writes.clone())
            .dry_run(self.dry_run);
        let plan = decide_catching_panics(&*self.operator, &self.unit.unit, &view);
        let plan = require_all_answers(plan, &view);
        let reads = view.into_reads();
        // Redacted here, in the operator's own time: reading thousands of Secrets does not delay others.
        (redact_plan(plan, &reads, &*self.snapshot), reads)
    }
}

/// Replaces a plan that was decided without an answer that only a real run gets with an error, unless the operator
/// itself reports a failure.
fn require_all_answers(plan: Result<Plan, DecideError>, view: &View) -> Result<Plan, DecideError> {
    match (plan, view.unanswered()) {
        (Ok(Plan { status, .. }), Some(withheld)) if !matches!(status, UnitStatus::Failing(_)) => {
            Err(DecideError::Failed(withheld))
        }
        (plan, _) => plan,
    }
}

/// Active run.
pub(super) struct RunningUnit {
    id: DecisionId,
    pub(super) causes: Vec<Cause>,
    pub(super) triggered_at: Timestamp,
    started: Timestamp,
    snapshot: Arc<Snapshot>,
    rejected_writes: Vec<WriteRejection>,
    /// Number of the last change in the snapshot, and of the last event of rows.
    seen: u64,
    pub(super) rows_seen: u64,
    decided: Option<DecidedRun>,
}

struct DecidedRun {
    reads: Reads,
    refused: Vec<Write>,
    over_budget: Vec<Write>,
    /// Number of writes charged to the budget, and the time of the charge.
    granted: (usize, Timestamp),
    status: UnitStatus,
    requeue_after: Option<Duration>,
    decide_us: u64,
}

/// Next step of a run after its decision.
pub enum RunProgress {
    /// Execute these writes in this order, and report with [`Core::finish_writes`].
    Write {
        /// Rows to commit first, with [`crate::store::commit_rows`]. If that fails, no write may be executed.
        rows: Vec<PlannedRow>,
        /// Writes to execute.
        writes: Vec<Write>,
        /// Service account to impersonate.
        user: Option<ServiceAccount>,
        /// Snapshot the run has read: the objects before the writes that are bound to a revision.
        snapshot: Arc<Snapshot>,
    },
    /// The run is finished.
    Finished(Box<FinishedRun>),
}

/// Finished run.
pub struct FinishedRun {
    /// Decision for the journal.
    pub decision: Decision,
    /// Snapshot the run has read.
    pub snapshot: Arc<Snapshot>,
    /// New field conflicts and hot loops.
    pub findings: Vec<Finding>,
    /// Executed writes whose objects before or after are known.
    pub executed: Vec<ExecutedWrite>,
}

impl Core {
    pub(super) fn begin(&mut self, now: Timestamp, mut started: StartedRun) -> Option<UnitRun> {
        self.join_parked(&mut started);
        let hosted = self.operators.get(&started.unit.operator)?;
        let id = DecisionId(self.next_decision);
        self.next_decision += 1;
        let snapshot = self.cache.snapshot();
        let refused = self.rejected_writes.get(&started.unit).cloned().unwrap_or_default();
        let run = UnitRun {
            unit: started.unit.clone(),
            id,
            now,
            timeout: hosted.limits.timeout,
            operator: hosted.operator.clone(),
            snapshot: snapshot.clone(),
            topology: hosted.topology.clone(),
            inputs: hosted.inputs.clone(),
            rejected_writes: refused.clone(),
            dry_run: self.dry_run,
        };
        self.pending_writes.forget(&started.unit);
        self.running.insert(
            started.unit,
            RunningUnit {
                id,
                causes: started.causes,
                triggered_at: started.triggered_at,
                started: now,
                snapshot,
                rejected_writes: refused,
                seen: self.changes_seen,
                rows_seen: self.row_events_seen(),
                decided: None,
            },
        );
        Some(run)
    }

    /// Handles the result of a decision. Results of runs that are over are dropped.
    pub fn finish_decide(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        id: DecisionId,
        decided: DecideResult,
    ) -> Option<RunProgress> {
        let running = self.running.get(unit).filter(|running| running.id == id && running.decided.is_none())?;
        let snapshot = running.snapshot.clone();
        let Some(hosted) = self.operators.get_mut(&unit.operator) else {
            self.abandon(now, unit);
            return None;
        };
        let DecideResult { plan, reads, decide_us } = decided;
        hosted.counters.run(decide_us);
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => {
                let finished = self.close_without_plan(now, unit, error, reads, decide_us);
                return Some(RunProgress::Finished(Box::new(finished)));
            }
        };
        let rows = check_rows(&hosted.declaration, plan.rows, &reads, &*snapshot);
        let result = self.arbiter.arbitrate(ArbiterInput {
            unit,
            declaration: &hosted.declaration,
            topology: &hosted.topology,
            decision: id,
            mutations: plan.mutations,
            ordered: plan.ordered,
            reads: &reads,
            reader: &*snapshot,
        });
        let user = hosted.declaration.service_account.clone();
        let (mut writes, mut refused) = (result.writes, result.refused);
        let rows = rows_or_refuse_all(rows, &mut writes, &mut refused);
        let wanted = writes.iter().filter(|write| write.result == WriteResult::Skipped).count();
        // A dry run is not charged: it changes nothing, so a write held back once would be held back forever.
        let allowed = if self.dry_run { wanted } else { self.scheduler.spend(now, unit, wanted) };
        let granted = (if self.dry_run { 0 } else { allowed.min(wanted) }, self.scheduler.now());
        let held = hold_back(&mut writes, allowed);
        let pending = DecidedRun {
            reads,
            refused,
            over_budget: held,
            granted,
            status: plan.status,
            requeue_after: plan.requeue_after,
            decide_us,
        };
        self.running.get_mut(unit)?.decided = Some(pending);
        let is_sent = |write: &Write| write.result == WriteResult::Skipped;
        if !writes.iter().any(is_sent) && !rows.iter().any(|row| is_sent(&row.write)) {
            let unsent = |write| ExecutedWrite { write, before: None, after: None, unchecked: None };
            let executed = rows.into_iter().map(|row| row.write).chain(writes).map(unsent).collect();
            let finished = self.finish_writes(now, unit, id, executed, 0)?;
            return Some(RunProgress::Finished(Box::new(finished)));
        }
        Some(RunProgress::Write { rows, writes, user, snapshot })
    }

    fn close_without_plan(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        error: DecideError,
        reads: Reads,
        decide_us: u64,
    ) -> FinishedRun {
        let error = self.missing_store(&reads).unwrap_or(error);
        let before = if reads.rows.missing.is_empty() { Vec::new() } else { self.triggers.row_reads(unit) };
        let (outcome, ended) = match error {
            DecideError::NotCached(_) => {
                if !reads.rows.missing.is_empty() {
                    self.park(unit, &reads, &before);
                }
                let missing: Vec<TableKey> = reads.missing.iter().cloned().collect();
                missing.iter().for_each(|table| self.ensure_watched(table));
                if !Self::waits_for_rows(&reads) {
                    self.unit_statuses.set(now, unit, Health::Waiting, &waiting_message(&missing));
                }
                (RunOutcome::NotCached { missing: missing.clone() }, RunEnd::NotCached { missing })
            }
            DecideError::Failed(message) => {
                self.unit_statuses.set(now, unit, Health::Failing, &message);
                (RunOutcome::Failed { message }, RunEnd::Failed)
            }
        };
        let waits = matches!(ended, RunEnd::NotCached { .. });
        let finished = self.close(now, unit, outcome, &reads, decide_us, 0, ended, Vec::new());
        if waits {
            self.resume_if_cached(now, unit);
            self.resume_if_fetched(now, unit);
        }
        finished
    }

    /// Handles the results of a run's writes.
    pub fn finish_writes(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        id: DecisionId,
        mut executed: Vec<ExecutedWrite>,
        write_us: u64,
    ) -> Option<FinishedRun> {
        let running = self.running.get_mut(unit).filter(|running| running.id == id)?;
        let pending = running.decided.take()?;
        redact_messages(&mut executed, &pending.reads, &*running.snapshot);
        let (causes, saw_rejection) = (running.causes.clone(), !running.rejected_writes.is_empty());
        let findings = self.record_writes(now, unit, (&pending.reads, &causes, saw_rejection), &executed);
        self.refund_unwritten(unit, pending.granted, &executed);
        self.notify_stores(&executed);
        self.record_write_time(now, &executed, write_us);
        let (mut writes, executed) = split(executed);
        let held = pending.over_budget.len();
        writes.extend(pending.over_budget);
        writes.extend(pending.refused);
        self.count_stale(now, unit, &pending.reads, &mut writes);
        let ended = self.conclude(now, unit, &writes, held, &pending.status, pending.requeue_after, &findings);
        self.remember_rejected(now, unit, &writes);
        let let_go = !self.operators.contains_key(&unit.operator);
        let gone = let_go || (has_nothing_left(&ended, &pending.status, &writes) && self.is_unit_deleted(unit));
        let ended = if gone { RunEnd::Gone } else { ended };
        let outcome = RunOutcome::Decided { writes, status: pending.status };
        let finished = self.close(now, unit, outcome, &pending.reads, pending.decide_us, write_us, ended, findings);
        if let RunOutcome::Decided { writes, .. } = &finished.decision.outcome {
            self.continue_after_writes(now, unit, writes);
        }
        if gone {
            self.forget(unit);
        }
        Some(FinishedRun { executed, ..finished })
    }

    /// Handles the loss of a run's write results: the run failed, and the unit decides again from the current objects.
    pub fn fail_writes(&mut self, now: Timestamp, unit: &UnitId, id: DecisionId) -> Option<FinishedRun> {
        let running = self.running.get_mut(unit).filter(|running| running.id == id)?;
        let pending = running.decided.take()?;
        let error = DecideError::Failed(WRITE_TASK_FAILED.to_string());
        Some(self.close_without_plan(now, unit, error, pending.reads, pending.decide_us))
    }

    #[expect(clippy::too_many_arguments, reason = "one fact each; a struct for them would be built once and read once")]
    fn close(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        outcome: RunOutcome,
        reads: &Reads,
        decide_us: u64,
        write_us: u64,
        ended: RunEnd,
        findings: Vec<Finding>,
    ) -> FinishedRun {
        let running = self.running.remove(unit).expect("a finished run was active");
        for key in reads.gets.keys() {
            self.ensure_watched(&key.table.clone());
        }
        for query in reads.lists.keys() {
            self.ensure_watched(&query.table.clone());
        }
        // An abandoned run has no known reads; what the unit read before still triggers it.
        if !matches!(ended, RunEnd::Failed) || *reads != Reads::default() {
            self.triggers.set(unit, reads);
        }
        self.unit_statuses.set_last_decision(unit, running.id);
        if let Some(hosted) = self.operators.get_mut(&unit.operator) {
            hosted.counters.failures += u64::from(matches!(ended, RunEnd::Failed));
        }
        self.scheduler.finish(now, unit, ended);
        let of_rows = self.finish_row_reads(unit, reads, running.rows_seen);
        let since = self.recent.iter().filter(|(number, _)| *number > running.seen);
        let missed = since.filter_map(|(_, change)| Some((triggers::cause_of(reads, change)?, change.clone())));
        self.trigger_by_missed(now, unit, missed.collect());
        for cause in of_rows {
            self.trigger(now, unit, cause);
        }
        if self.changes_forgotten > running.seen || self.was_unwatched(running.id, reads) {
            // A forgotten change may concern what the run has read.
            self.trigger(now, unit, Cause::Resync);
        }
        self.forget_recent();
        let decision = Decision {
            id: running.id,
            unit: unit.clone(),
            causes: running.causes,
            triggered_at: running.triggered_at,
            started: running.started,
            decide_us,
            write_us,
            gets: reads.gets.iter().map(|(key, revision)| (key.clone(), *revision)).collect(),
            lists: reads.lists.iter().map(|(query, listed)| (query.clone(), listed.clone())).collect(),
            rows: (&reads.rows).into(),
            external_queries: reads.external_queries.clone(),
            rejected_writes: running.rejected_writes,
            settings: self.operators.get(&unit.operator).map(|hosted| hosted.settings.clone()).unwrap_or_default(),
            outcome,
        };
        FinishedRun { decision, snapshot: running.snapshot, findings, executed: Vec::new() }
    }

    /// Whether a kind that the run has read was unwatched at some time since it began.
    fn was_unwatched(&self, id: DecisionId, reads: &Reads) -> bool {
        let gone = |table: &TableKey| self.unwatched.get(table).is_some_and(|first| id.0 < *first);
        !self.unwatched.is_empty()
            && (reads.gets.keys().any(|key| gone(&key.table)) || reads.lists.keys().any(|query| gone(&query.table)))
    }

    pub(super) fn forget_recent(&mut self) {
        self.forget_row_events();
        let first = self.running.values().map(|running| running.id.0).min().unwrap_or(u64::MAX);
        self.unwatched.retain(|_, without| first < *without);
        let oldest = self.running.values().map(|running| running.seen).min().unwrap_or(u64::MAX);
        while self.recent.front().is_some_and(|(number, _)| *number <= oldest) {
            self.recent.pop_front();
        }
    }
}
