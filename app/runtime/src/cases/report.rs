//! Report of a suite.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::count::counted;

/// Results of all cases.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SuiteReport {
    /// Cases by path.
    pub cases: Vec<CaseReport>,
}

/// Result of one case.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseReport {
    /// Directory of the case, relative to the search path.
    pub case: String,
    /// Name in `test.yaml`.
    pub name: String,
    /// Verdict.
    pub verdict: CaseVerdict,
    /// Duration of all runs.
    pub took_ms: u64,
    /// Problems, each with its detail lines.
    pub differences: Vec<String>,
}

/// Verdict on a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CaseVerdict {
    /// The output matches the expectation.
    Passed,
    /// The output differs, or the program failed.
    Failed,
    /// The program was killed at its deadline.
    TimedOut,
}

impl CaseVerdict {
    fn label(self) -> &'static str {
        match self {
            CaseVerdict::Passed => "PASS",
            CaseVerdict::Failed => "FAIL",
            CaseVerdict::TimedOut => "TIMEOUT",
        }
    }
}

impl SuiteReport {
    /// Whether every case passed.
    pub fn passed(&self) -> bool {
        self.count(CaseVerdict::Passed) == self.cases.len()
    }

    fn count(&self, verdict: CaseVerdict) -> usize {
        self.cases.iter().filter(|case| case.verdict == verdict).count()
    }
}

/// Formats a line such as `PASS     first-run                 0.31 s`.
impl fmt::Display for CaseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = Duration::from_millis(self.took_ms).as_secs_f64();
        write!(f, "{:<8} {:<40} {seconds:.2} s", self.verdict.label(), self.case)
    }
}

impl fmt::Display for SuiteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for case in &self.cases {
            writeln!(f, "{case}")?;
            for line in case.differences.iter().flat_map(|difference| difference.lines()) {
                writeln!(f, "  {line}")?;
            }
        }
        write!(f, "{}: {} passed", counted(self.cases.len(), "case"), self.count(CaseVerdict::Passed))?;
        for (verdict, words) in [(CaseVerdict::Failed, "failed"), (CaseVerdict::TimedOut, "timed out")] {
            let count = self.count(verdict);
            if count > 0 {
                write!(f, ", {count} {words}")?;
            }
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(case: &str, verdict: CaseVerdict, differences: &[&str]) -> CaseReport {
        let differences = differences.iter().map(ToString::to_string).collect();
        CaseReport { case: case.into(), name: "a".into(), verdict, took_ms: 310, differences }
    }

    #[test]
    fn report_lists_differences_below_the_case() {
        let report = SuiteReport {
            cases: vec![
                report("a", CaseVerdict::Passed, &[]),
                report("b", CaseVerdict::Failed, &["missing: x\n    -y"]),
                report("c", CaseVerdict::TimedOut, &["took longer than 1 s"]),
            ],
        };
        let expected = format!(
            "PASS     {:<40} 0.31 s\nFAIL     {:<40} 0.31 s\n  missing: x\n      -y\nTIMEOUT  {:<40} 0.31 s\n  took longer than 1 s\n3 cases: 1 passed, 1 failed, 1 timed out\n",
            "a", "b", "c"
        );
        assert_eq!((report.to_string(), report.passed()), (expected, false));
    }
}
