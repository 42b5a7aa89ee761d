//! What is told of a suite, and how far it is.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use crate::progress::ProgressLine;

/// How all cases went.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// By path.
    pub cases: Vec<Told>,
}

/// How one case went.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// Its directory, from where the search began.
    pub case: String,
    /// What `test.yaml` calls it.
    pub name: String,
    /// How it went.
    pub verdict: Verdict,
    /// How long its runs took.
    pub took_ms: u64,
    /// What is wrong, each with the lines that say more.
    pub differences: Vec<String>,
}

/// How a case went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// As expected.
    Passed,
    /// Otherwise.
    Failed,
    /// It took longer than it may.
    TimedOut,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Passed => "PASS",
            Verdict::Failed => "FAIL",
            Verdict::TimedOut => "TIMEOUT",
        }
    }
}

impl Report {
    /// Whether every case passed.
    pub fn passed(&self) -> bool {
        self.count(Verdict::Passed) == self.cases.len()
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.cases.iter().filter(|told| told.verdict == verdict).count()
    }
}

/// `PASS     first-run                 0.31 s`.
impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = Duration::from_millis(self.took_ms).as_secs_f64();
        write!(f, "{:<8} {:<40} {seconds:.2} s", self.verdict.word(), self.case)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for told in &self.cases {
            writeln!(f, "{told}")?;
            for line in told.differences.iter().flat_map(|difference| difference.lines()) {
                writeln!(f, "  {line}")?;
            }
        }
        write!(f, "{} cases: {} passed", self.cases.len(), self.count(Verdict::Passed))?;
        for (verdict, words) in [(Verdict::Failed, "failed"), (Verdict::TimedOut, "timed out")] {
            let count = self.count(verdict);
            if count > 0 {
                write!(f, ", {count} {words}")?;
            }
        }
        writeln!(f)
    }
}

/// How far a suite is: a bar on a terminal, elsewhere a line now and then. How each case went is for the report alone.
pub struct Progress {
    all: usize,
    line: Mutex<(usize, ProgressLine)>,
}

impl Progress {
    /// Of that many cases.
    pub fn of(all: usize) -> Self {
        Self { all, line: Mutex::new((0, ProgressLine::begin())) }
    }

    /// One more is done.
    pub fn done(&self) {
        let (done, line) = &mut *self.line.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        line.count("cases", *done, self.all);
    }

    /// Takes the bar away.
    pub fn end(self) {
        self.line.into_inner().unwrap_or_else(PoisonError::into_inner).1.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(case: &str, verdict: Verdict, differences: &[&str]) -> Told {
        let differences = differences.iter().map(ToString::to_string).collect();
        Told { case: case.into(), name: "a".into(), verdict, took_ms: 310, differences }
    }

    #[test]
    fn a_report_names_what_differs_below_its_case() {
        let report = Report {
            cases: vec![
                told("a", Verdict::Passed, &[]),
                told("b", Verdict::Failed, &["missing: x\n    -y"]),
                told("c", Verdict::TimedOut, &["took longer than 1 s"]),
            ],
        };
        let expected = format!(
            "PASS     {:<40} 0.31 s\nFAIL     {:<40} 0.31 s\n  missing: x\n      -y\nTIMEOUT  {:<40} 0.31 s\n  took longer than 1 s\n3 cases: 1 passed, 1 failed, 1 timed out\n",
            "a", "b", "c"
        );
        assert_eq!((report.to_string(), report.passed()), (expected, false));
    }
}
