//! Threads that decide and tasks that write. Neither can hold up the loop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::applier::{self, Carried, Writer};
use crate::cache::Snapshot;
use crate::core::{self, Answered, Run};
use crate::decision::{DecisionId, Write};
use crate::operator::{OperatorName, ServiceAccount, Stop, UnitId};
use crate::view::Reads;

use super::threads::Threads;

/// How many threads of one operator may hang before its further runs fail at once: a thread cannot be stopped from outside.
const MAX_STUCK: usize = 2;

/// What came of a run, or of its writes.
pub(super) enum Report {
    Answered {
        unit: UnitId,
        id: DecisionId,
        answered: Answered,
    },
    Carried {
        unit: UnitId,
        id: DecisionId,
        carried: Vec<Carried>,
        write_us: u64,
    },
    /// The task that wrote ended without a word.
    Unwritten {
        unit: UnitId,
        id: DecisionId,
    },
}

/// A report that somebody waits for: when the task that owes it panics or is ended, another goes in its place.
struct Owed {
    reports: mpsc::UnboundedSender<Report>,
    otherwise: Option<Report>,
}

impl Owed {
    fn pay(mut self, report: Report) {
        self.otherwise = Some(report);
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(report) = self.otherwise.take() {
            let _ = self.reports.send(report);
        }
    }
}

/// What is to be written of a run.
pub(super) struct Writing {
    pub writes: Vec<Write>,
    pub user: Option<ServiceAccount>,
    /// What was decided on.
    pub picture: Arc<Snapshot>,
    pub dry_run: bool,
}

/// Runs under way.
pub(super) struct Runs {
    reports: (mpsc::UnboundedSender<Report>, mpsc::UnboundedReceiver<Report>),
    /// How many threads were given up and have not returned, by operator.
    stuck: BTreeMap<OperatorName, Arc<AtomicUsize>>,
    threads: Threads,
    writing: usize,
}

impl Runs {
    pub fn new() -> Self {
        // The scheduler bounds how many runs there are, and each reports at most twice.
        Self { reports: mpsc::unbounded_channel(), stuck: BTreeMap::new(), threads: Threads::default(), writing: 0 }
    }

    pub fn writing(&self) -> usize {
        self.writing
    }

    pub async fn next(&mut self) -> Option<Report> {
        let report = self.reports.1.recv().await;
        if matches!(report, Some(Report::Carried { .. } | Report::Unwritten { .. })) {
            self.writing -= 1;
        }
        report
    }

    /// Lets the operator decide on a thread that nobody else has meanwhile, and gives it up after its time.
    pub fn start(&mut self, run: Run) {
        let (unit, id, timeout) = (run.unit.clone(), run.id, run.timeout);
        let stuck = self.stuck.entry(unit.operator.clone()).or_default().clone();
        let reports = self.reports.0.clone();
        let hanging = stuck.load(Ordering::Relaxed);
        if hanging >= MAX_STUCK {
            let _ = reports.send(given_up(&unit, id, core::stuck(hanging, &unit.operator), Duration::ZERO));
            return;
        }
        let (done, mut finished) = tokio::sync::oneshot::channel();
        let started = self.threads.start(Box::new(move || {
            let began = Instant::now();
            let (plan, reads) = run.decide();
            let _ = done.send(Answered { plan, reads, decide_us: micros(began.elapsed()) });
        }));
        if let Err(error) = started {
            let _ = reports.send(given_up(&unit, id, format!("could not start a thread: {error}"), Duration::ZERO));
            return;
        }
        let otherwise = Some(given_up(&unit, id, "nobody waits for its thread any more".to_string(), timeout));
        let owed = Owed { reports, otherwise };
        tokio::spawn(async move {
            match tokio::time::timeout(timeout, &mut finished).await {
                Ok(Ok(answered)) => owed.pay(Report::Answered { unit, id, answered }),
                Ok(Err(_)) => owed.pay(given_up(&unit, id, "its thread ended".to_string(), timeout)),
                Err(_) => {
                    stuck.fetch_add(1, Ordering::Relaxed);
                    owed.pay(given_up(&unit, id, core::late(timeout), timeout));
                    let _ = finished.await;
                    stuck.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }

    /// Carries writes out in a task of their own.
    pub fn write(&mut self, writer: Arc<dyn Writer>, unit: UnitId, id: DecisionId, writing: Writing) {
        self.writing += 1;
        let reports = self.reports.0.clone();
        let owed = Owed { reports, otherwise: Some(Report::Unwritten { unit: unit.clone(), id }) };
        tokio::spawn(async move {
            let began = Instant::now();
            let manager = unit.operator.to_string();
            let Writing { writes, user, picture, dry_run } = writing;
            let carried =
                applier::carry_out_upon(Some(&*picture), &*writer, writes, user.as_ref(), &manager, dry_run).await;
            let write_us = micros(began.elapsed());
            owed.pay(Report::Carried { unit, id, carried, write_us });
        });
    }
}

fn given_up(unit: &UnitId, id: DecisionId, message: String, waited: Duration) -> Report {
    let plan = Err(Stop::Failed(message));
    let answered = Answered { plan, reads: Reads::default(), decide_us: micros(waited) };
    Report::Answered { unit: unit.clone(), id, answered }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
