//! Run of an operator through a case with one fault, in virtual time.
//!
//! ```text
//!  step ─▶ settle: poll ─▶ decide ─▶ write ─▶ collect ─▶ feed ─▶ observe ─▶ poll …, and advance the time when nothing is due
//! ```
//!
//! The core is the kernel's own. This driver does sequentially what the host does with threads, sockets and a clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use switchboard_cluster::Cluster;
use switchboard_kernel::applier::{ExecutedWrite, execute_with_reader};
use switchboard_kernel::cache::TableEvent;
use switchboard_kernel::core::{Core, CoreCommand, DecideResult, RunProgress, UnitRun};
use switchboard_kernel::decision::{DecisionId, Write};
use switchboard_kernel::limits::{BACKOFF_FIRST, BACKOFF_MAX, GlobalLimits, Limits, RESYNC};
use switchboard_kernel::operator::{DecideError, Operator, UnitId};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::resource::TableKey;
use switchboard_kernel::state::Health;
use switchboard_kernel::store::MemoryRowStore;
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::topology::Topology;
use switchboard_kernel::view::Reads;

use crate::case::{ProbeCase, ScriptStep};
use crate::fault::Fault;
use crate::feed::EventFeed;
use crate::final_state::{FinalState, WriteLog, display_key};
use crate::round::Round;
use crate::rows::RunRows;
use crate::run_cluster::{self, RunCluster, ScriptError};
use crate::watchdog::Watchdog;
use crate::writer::FaultyWriter;

/// Number of rounds at the end in which nothing may be written.
pub const QUIET_ROUNDS: u32 = 100;
/// Time the operator has after each step, in virtual time.
pub const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of turns after a step.
pub const MAX_TURNS: u32 = 10_000;
/// Time between two rounds; every unit is resynced within it.
const ROUND: Duration = RESYNC;
/// Timeout of a round, whose runs may trigger others.
const ROUND_TIMEOUT: Duration = Duration::from_secs(5);

/// Function that creates operators without memory, as a new process does.
pub type OperatorFactory = dyn Fn() -> Vec<Arc<dyn Operator>> + Send + Sync;

/// State shared by all runs of a case.
pub struct RunSetup<'a> {
    pub factory: &'a OperatorFactory,
    pub case: &'a ProbeCase,
    pub initial_state: &'a Cluster,
    /// Rows of the initial state.
    pub initial_rows: Option<&'a MemoryRowStore>,
    /// Watchdog for decisions.
    pub watchdog: &'a Watchdog,
}

/// Reason why a run did not finish.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// A step of the case failed.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The operator keeps working after a step.
    #[error("does not settle after {after} within {MAX_TURNS} turns")]
    Restless {
        /// Name of the step.
        after: String,
    },
    /// The operator only fails, so a fault has no effect.
    #[error("only fails: {why}")]
    OnlyFails {
        /// Error of the operator.
        why: String,
    },
    /// The operator writes although nothing changed.
    #[error("writes although nothing changed, in round {round} after the end: {what}")]
    KeepsWriting {
        /// Number of the round.
        round: u32,
        /// Changed objects.
        what: String,
    },
}

/// Runs a case with a fault.
pub async fn run(setup: &RunSetup<'_>, fault: &Fault) -> Result<FinalState, RunFailure> {
    let cluster = RunCluster::from(setup.initial_state).await?;
    let writer = FaultyWriter::new(&cluster, fault);
    let feed = EventFeed::with_fault(fault);
    let mut rows = RunRows::new(setup.initial_rows, fault);
    let core = core(cluster.clock.now(), DecisionId(1), setup.factory, &mut rows);
    let (written, round, ahead) = (WriteLog::default(), None, BTreeMap::new());
    let mut driver =
        RunDriver { setup, cluster, writer, feed, rows, core, written, next: 1, round, early_decisions: ahead };
    driver.settle("the start", SETTLE_TIMEOUT).await?;
    driver.commit_as_other(0).await?;
    for (number, step) in setup.case.script.iter().enumerate() {
        driver.step(step).await?;
        driver.commit_as_other(number + 1).await?;
    }
    driver.feed.release(&driver.cluster)?;
    driver.rows.release();
    driver.settle("the script", SETTLE_TIMEOUT).await?;
    driver.writer.stop_faults();
    driver.rows.stop_faults();
    let (writes, events, row_counts) = (driver.writer.sent(), driver.feed.events(), driver.rows.counts());
    driver.check_quiet_rounds().await?;
    if writes == 0 && row_counts.sent == 0 {
        let state = driver.core.state(driver.now());
        if let Some(failing) = state.operators.into_iter().find(|operator| operator.health == Health::Failing) {
            return Err(RunFailure::OnlyFails { why: failing.reason });
        }
    }
    let rows = driver.rows.rows();
    Ok(driver.written.end(driver.cluster.store, writes, events).with_rows(rows, row_counts))
}

fn core(now: Timestamp, next: DecisionId, factory: &OperatorFactory, rows: &mut RunRows) -> Core {
    let global = GlobalLimits { requests_per_second: Some(u32::MAX), ..GlobalLimits::default() };
    let limits =
        Limits { backoff_first: BACKOFF_FIRST, backoff_max: BACKOFF_MAX, resync: Some(RESYNC), ..Limits::none() };
    let mut core = Core::new(now, 1, Topology::standalone(&run_cluster::name()), global, next);
    factory().into_iter().for_each(|operator| core.add(now, operator, limits.clone()));
    rows.connect(&mut core);
    core
}

/// Returns a write that was not sent, because the rows of its plan were not committed.
fn unsent(write: Write) -> ExecutedWrite {
    ExecutedWrite { write, before: None, after: None, unchecked: None }
}

struct RunDriver<'a> {
    setup: &'a RunSetup<'a>,
    cluster: RunCluster,
    writer: FaultyWriter,
    feed: EventFeed,
    rows: RunRows,
    core: Core,
    written: WriteLog,
    /// Number of the next decision; it continues after a crash, as with a journal.
    next: u64,
    /// Decisions of the current quiet round.
    round: Option<Round>,
    /// Decisions made before the core requested them.
    early_decisions: BTreeMap<UnitId, (Result<Plan, DecideError>, Reads)>,
}

impl RunDriver<'_> {
    async fn step(&mut self, step: &ScriptStep) -> Result<(), RunFailure> {
        match self.cluster.perform(step).await {
            Err(ScriptError::Step { early: true, .. }) => {
                // A user waits until the object to change exists.
                self.feed.release(&self.cluster)?;
                self.settle("waiting for the operator", SETTLE_TIMEOUT).await?;
                self.cluster.perform(step).await?;
            }
            done => done?,
        }
        self.collect().await?;
        self.settle(&step.to_string(), SETTLE_TIMEOUT).await
    }

    /// Makes the commits of another program after that number of steps.
    async fn commit_as_other(&mut self, steps: usize) -> Result<(), RunFailure> {
        for (_, writes) in self.setup.case.commits.iter().filter(|(after, _)| *after == steps) {
            self.rows.commit_as_other(self.now(), writes);
            self.settle("a commit of another program", SETTLE_TIMEOUT).await?;
        }
        Ok(())
    }

    /// Lets the operator work until nothing happens within `patience`. Events held by a fault stay held.
    async fn settle(&mut self, after: &str, patience: Duration) -> Result<(), RunFailure> {
        let end = self.now().after(patience);
        for _ in 0..MAX_TURNS {
            if self.turn().await? {
                continue;
            }
            let held = self.feed.held_until().into_iter().chain(self.rows.held_until());
            let limit = held.fold(end, Timestamp::min);
            let Some(next) = self.core.next().filter(|next| *next <= limit) else { return Ok(()) };
            // Something that is due and never happens must not stop the clock.
            self.cluster.clock.advance_to(next.max(self.now().after(Duration::from_millis(1))));
        }
        Err(RunFailure::Restless { after: after.to_string() })
    }

    fn now(&self) -> Timestamp {
        self.cluster.clock.now()
    }

    /// Executes the due commands, or delivers one event. Returns false if there are none.
    async fn turn(&mut self) -> Result<bool, RunFailure> {
        let orders = self.core.poll(self.now());
        if !orders.is_empty() {
            for order in orders {
                if self.perform(order).await? {
                    self.restart();
                    break;
                }
            }
            return Ok(true);
        }
        let Some((table, events)) = self.feed.next() else { return Ok(self.rows.notify(self.now(), &mut self.core)) };
        self.deliver(&table, events);
        Ok(true)
    }

    /// Executes a command, and returns whether the process crashed.
    async fn perform(&mut self, order: CoreCommand) -> Result<bool, RunFailure> {
        match order {
            CoreCommand::Watch(table) => {
                let events = self.feed.watch(&table, &self.cluster)?;
                self.deliver(&table, events);
            }
            CoreCommand::Unwatch(table) => self.feed.unwatch(&table),
            CoreCommand::Run(run) => return self.decide(*run).await,
            CoreCommand::Rows(_, command) => self.rows.perform(self.cluster.clock.now(), command, &mut self.core),
        }
        Ok(false)
    }

    fn deliver(&mut self, table: &TableKey, events: Vec<TableEvent>) {
        for observed in events {
            // The embedded cluster stores valid objects; tests of the kernel check that.
            let _ = self.core.observe(self.cluster.clock.now(), table, observed);
        }
    }

    async fn decide(&mut self, run: UnitRun) -> Result<bool, RunFailure> {
        self.next = run.id.0 + 1;
        let decided = self.early_decisions.remove(&run.unit);
        let (plan, reads) = decided.unwrap_or_else(|| self.setup.watchdog.watch(&run.unit, || run.decide()));
        let (unit, id) = (run.unit.clone(), run.id);
        if let Some(round) = &mut self.round {
            round.record(run, &plan);
        }
        let result = DecideResult { plan, reads, decide_us: 0 };
        let progress = self.core.finish_decide(self.now(), &unit, id, result);
        let Some(RunProgress::Write { rows, writes, user, snapshot }) = progress else { return Ok(false) };
        let committed = self.rows.commit(self.now(), rows);
        if self.rows.take_crash() {
            return Ok(true);
        }
        let mut committed = match committed {
            Ok(committed) => committed,
            Err(mut failed) => {
                failed.extend(writes.into_iter().map(unsent));
                self.core.finish_writes(self.now(), &unit, id, failed, 0);
                return Ok(false);
            }
        };
        let manager = unit.operator.to_string();
        let executed =
            execute_with_reader(Some(&*snapshot), &self.writer, writes, user.as_ref(), &manager, false).await;
        self.collect().await?;
        if self.writer.take_crash() {
            return Ok(true);
        }
        committed.extend(executed);
        self.core.finish_writes(self.now(), &unit, id, committed, 0);
        Ok(false)
    }

    async fn collect(&mut self) -> Result<(), RunFailure> {
        let changes = self.cluster.collect().await?;
        self.written.record(&changes);
        Ok(self.feed.add_changes(self.now(), &changes, &self.cluster)?)
    }

    fn restart(&mut self) {
        self.feed.forget();
        self.core = core(self.now(), DecisionId(self.next), self.setup.factory, &mut self.rows);
    }

    async fn check_quiet_rounds(&mut self) -> Result<(), RunFailure> {
        let (still, commits) = (self.cluster.store.revision(), self.rows.counts());
        for round in 1..=QUIET_ROUNDS {
            self.cluster.clock.advance_to(self.now().after(ROUND));
            if self.all_decide_the_same() {
                continue;
            }
            self.round = Some(Round::default());
            self.settle("the end", ROUND_TIMEOUT).await?;
            self.early_decisions.clear();
            if self.rows.counts() != commits {
                return Err(RunFailure::KeepsWriting { round, what: "rows".to_string() });
            }
            if self.cluster.store.revision() != still {
                return Err(RunFailure::KeepsWriting { round, what: self.changed_since(still) });
            }
        }
        Ok(())
    }

    /// Lets every unit decide again as in the previous round. If each plan is equal, the round would have the same
    /// effect as before, because the cluster's revision has not changed, and the round is skipped. Otherwise the
    /// decisions are passed to the core when it requests them.
    fn all_decide_the_same(&mut self) -> bool {
        let (now, watchdog) = (self.now(), self.setup.watchdog);
        let Some(round) = self.round.as_mut().filter(|round| round.is_steady()) else { return false };
        for (unit, run, before) in round.runs() {
            run.now = now;
            let (plan, reads) = watchdog.watch(unit, || run.decide());
            let same = plan.as_ref().is_ok_and(|plan| plan == before);
            self.early_decisions.insert(unit.clone(), (plan, reads));
            if !same {
                return false;
            }
        }
        self.early_decisions.clear();
        true
    }

    fn changed_since(&self, revision: u64) -> String {
        let Ok(mut watch) = self.cluster.store.watch("", revision) else { return String::new() };
        let changes = watch.progress().map(|batch| batch.changes).unwrap_or_default();
        let names: Vec<String> = changes.iter().take(3).map(|change| display_key(&change.key)).collect();
        names.join(", ")
    }
}
