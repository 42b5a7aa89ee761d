//! Report of a probe.

use std::fmt;

use serde::Serialize;

use crate::fault::Fault;

/// Results of all runs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeReport {
    /// Name of the operator.
    pub operator: String,
    /// Number of runs, including the undisturbed one.
    pub runs: usize,
    /// Number of writes in the undisturbed run.
    pub writes: u32,
    /// Number of events in the undisturbed run.
    pub events: u32,
    /// Failed runs, in the order of the schedule.
    pub failures: Vec<ProbeFailure>,
}

/// Run whose final state differs from the undisturbed run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeFailure {
    /// Injected faults.
    pub fault: Fault,
    /// Problem.
    pub problem: String,
    /// Command that repeats the run.
    pub replay: String,
}

impl fmt::Display for ProbeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}\n  replay: {}", self.fault, self.problem, self.replay)
    }
}

impl ProbeReport {
    /// Whether no run failed.
    pub fn is_ok(&self) -> bool {
        self.failures.is_empty()
    }

    /// Asserts that no run failed, for tests.
    ///
    /// # Panics
    /// When a run failed, with each failure and the command that repeats it.
    #[track_caller]
    pub fn assert_ok(&self) {
        assert!(self.is_ok(), "{self}");
    }
}

impl fmt::Display for ProbeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (runs, failed) = (self.runs, self.failures.len());
        writeln!(f, "{}: {runs} runs, {failed} failed", self.operator)?;
        self.failures.iter().try_for_each(|failure| failure.fmt(f))
    }
}
