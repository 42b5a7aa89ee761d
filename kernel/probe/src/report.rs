//! What came of probing an operator.

use std::fmt;

use serde::Serialize;

use crate::fault::Fault;

/// What came of all runs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Whose.
    pub operator: String,
    /// How many runs there were, the undisturbed one included.
    pub runs: usize,
    /// How many writes the undisturbed run sent.
    pub writes: u32,
    /// How many events the undisturbed run was told of.
    pub events: u32,
    /// The runs that did not end as the undisturbed one did, in the order of the schedule.
    pub failures: Vec<Failure>,
}

/// A run that did not end as the undisturbed one did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// What went wrong around the operator.
    pub fault: Fault,
    /// What the operator did wrong.
    pub what: String,
    /// The command that shows it again.
    pub replay: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}\n  replay: {}", self.fault, self.what, self.replay)
    }
}

impl Report {
    /// Whether every run ended as the undisturbed one did.
    pub fn is_ok(&self) -> bool {
        self.failures.is_empty()
    }

    /// For tests.
    ///
    /// # Panics
    /// With every failure and how to replay it, when there is one.
    #[track_caller]
    pub fn assert_ok(&self) {
        assert!(self.is_ok(), "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (runs, failed) = (self.runs, self.failures.len());
        writeln!(f, "{}: {runs} runs, {failed} failed", self.operator)?;
        self.failures.iter().try_for_each(|failure| failure.fmt(f))
    }
}
