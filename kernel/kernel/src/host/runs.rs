//! Threads that decide and tasks that write; neither can block the loop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::applier::{self, ExecutedWrite, Writer};
use crate::cache::Snapshot;
use crate::core::{self, DecideResult, UnitRun};
use crate::decision::{DecisionId, Write};
use crate::operator::{DecideError, OperatorName, ServiceAccount, UnitId};
use crate::store::{PlannedRow, RowStore, commit_then_write};
use crate::view::Reads;

use super::threads::Threads;

/// Number of hung threads of one operator after which its runs fail at once: a thread cannot be stopped from outside.
const MAX_HUNG: usize = 2;

/// Result of a decision or of a run's writes.
#[expect(clippy::large_enum_variant, reason = "a report is moved once; a box would be an allocation for every run")]
pub(super) enum RunReport {
    Decided {
        unit: UnitId,
        id: DecisionId,
        result: DecideResult,
    },
    Executed {
        unit: UnitId,
        id: DecisionId,
        executed: Vec<ExecutedWrite>,
        write_us: u64,
    },
    /// The writing task ended without a result.
    WritesLost {
        unit: UnitId,
        id: DecisionId,
    },
}

/// Guard that sends a report. If the task panics or is aborted, the guard sends a fallback report instead.
struct ReportGuard {
    reports: mpsc::UnboundedSender<RunReport>,
    fallback: Option<RunReport>,
}

impl ReportGuard {
    fn send(mut self, report: RunReport) {
        self.fallback = Some(report);
    }
}

impl Drop for ReportGuard {
    fn drop(&mut self) {
        if let Some(report) = self.fallback.take() {
            let _ = self.reports.send(report);
        }
    }
}

/// Writes of a run to execute.
pub(super) struct WriteJob {
    pub rows: Vec<PlannedRow>,
    /// Store of the rows.
    pub store: Option<Arc<dyn RowStore>>,
    pub writes: Vec<Write>,
    pub user: Option<ServiceAccount>,
    /// Snapshot the run has read.
    pub snapshot: Arc<Snapshot>,
    pub dry_run: bool,
}

/// Active runs.
pub(super) struct ActiveRuns {
    reports: (mpsc::UnboundedSender<RunReport>, mpsc::UnboundedReceiver<RunReport>),
    /// Number of hung threads, by operator.
    hung: BTreeMap<OperatorName, Arc<AtomicUsize>>,
    threads: Threads,
    writing: usize,
}

impl ActiveRuns {
    pub fn new() -> Self {
        // The channel is bounded by the number of runs, each of which reports at most twice.
        Self { reports: mpsc::unbounded_channel(), hung: BTreeMap::new(), threads: Threads::default(), writing: 0 }
    }

    pub fn pending_writes(&self) -> usize {
        self.writing
    }

    pub async fn next(&mut self) -> Option<RunReport> {
        let report = self.reports.1.recv().await;
        if matches!(report, Some(RunReport::Executed { .. } | RunReport::WritesLost { .. })) {
            self.writing -= 1;
        }
        report
    }

    /// Lets the operator decide on a thread, and abandons the thread after the timeout.
    pub fn start(&mut self, run: UnitRun) {
        let (unit, id, timeout) = (run.unit.clone(), run.id, run.timeout);
        let stuck = self.hung.entry(unit.operator.clone()).or_default().clone();
        let reports = self.reports.0.clone();
        let hanging = stuck.load(Ordering::Relaxed);
        if hanging >= MAX_HUNG {
            let _ =
                reports.send(abandoned_report(&unit, id, core::hung_message(hanging, &unit.operator), Duration::ZERO));
            return;
        }
        let (done, mut finished) = tokio::sync::oneshot::channel();
        let started = self.threads.start(Box::new(move || {
            let began = Instant::now();
            let (plan, reads) = run.decide();
            let _ = done.send(DecideResult { plan, reads, decide_us: micros(began.elapsed()) });
        }));
        if let Err(error) = started {
            let _ =
                reports.send(abandoned_report(&unit, id, format!("could not start a thread: {error}"), Duration::ZERO));
            return;
        }
        let otherwise =
            Some(abandoned_report(&unit, id, "the task that waits for its thread ended".to_string(), timeout));
        let owed = ReportGuard { reports, fallback: otherwise };
        tokio::spawn(async move {
            match tokio::time::timeout(timeout, &mut finished).await {
                Ok(Ok(decided)) => owed.send(RunReport::Decided { unit, id, result: decided }),
                Ok(Err(_)) => owed.send(abandoned_report(&unit, id, "its thread ended".to_string(), timeout)),
                Err(_) => {
                    stuck.fetch_add(1, Ordering::Relaxed);
                    owed.send(abandoned_report(&unit, id, core::timeout_message(timeout), timeout));
                    let _ = finished.await;
                    stuck.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }

    /// Executes writes in a separate task.
    pub fn write(&mut self, writer: Arc<dyn Writer>, unit: UnitId, id: DecisionId, writing: WriteJob) {
        self.writing += 1;
        let reports = self.reports.0.clone();
        let owed = ReportGuard { reports, fallback: Some(RunReport::WritesLost { unit: unit.clone(), id }) };
        tokio::spawn(async move {
            let began = Instant::now();
            let manager = unit.operator.to_string();
            let WriteJob { rows, store, writes, user, snapshot, dry_run } = writing;
            let unwritten = if rows.is_empty() { Vec::new() } else { writes.clone() };
            let objects =
                applier::execute_with_reader(Some(&*snapshot), &*writer, writes, user.as_ref(), &manager, dry_run);
            let executed = match rows.is_empty() {
                true => objects.await,
                false => commit_then_write(store.as_deref(), rows, dry_run, objects, unwritten).await,
            };
            let write_us = micros(began.elapsed());
            owed.send(RunReport::Executed { unit, id, executed, write_us });
        });
    }
}

fn abandoned_report(unit: &UnitId, id: DecisionId, message: String, waited: Duration) -> RunReport {
    let plan = Err(DecideError::Failed(message));
    let decided = DecideResult { plan, reads: Reads::default(), decide_us: micros(waited) };
    RunReport::Decided { unit: unit.clone(), id, result: decided }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
