//! Runs many cases against one server and reports the result.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use futures::stream::{self, StreamExt};

use crate::case::{self, CaseAnswer, ConformanceCase};
use crate::run::RunError;
use crate::target::TestTarget;
use crate::{case_file, compare, real, run};

/// Maximum number of concurrent cases.
const MAX_CASES_AT_ONCE: usize = 16;

/// Outcome of a case.
#[derive(Debug)]
pub struct CaseOutcome {
    /// Path of the case.
    pub path: PathBuf,
    /// Case.
    pub case: ConformanceCase,
    /// Masked answers, up to an error.
    pub answers: Vec<CaseAnswer>,
    /// Error that stopped the run, if any.
    pub error: Option<RunError>,
}

/// Returns the directory of the cases.
pub fn root() -> PathBuf {
    real::workspace().join("tests/conformance")
}

/// Runs every case whose path contains `filter`.
pub async fn run_all(target: &TestTarget, filter: &str) -> Result<Vec<CaseOutcome>, case::ReadCaseError> {
    let cases = case::read_all(&root())?;
    let target = Arc::new(target.clone());
    let chosen = cases.into_iter().filter(|(path, _)| path.to_string_lossy().contains(filter));
    let mut outcomes: Vec<CaseOutcome> = stream::iter(chosen)
        .map(|(path, case)| {
            let target = target.clone();
            async move {
                match run::run(&case, &target, &fresh_id()).await {
                    Ok(answers) => CaseOutcome { path, case, answers, error: None },
                    Err((answers, error)) => CaseOutcome { path, case, answers, error: Some(error) },
                }
            }
        })
        .buffer_unordered(MAX_CASES_AT_ONCE)
        .collect()
        .await;
    outcomes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(outcomes)
}

/// Returns a unique name part, with letters and digits that do not occur in an answer by chance.
fn fresh_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.as_nanos() as u64).unwrap_or_default();
    let mut number = (nanos / 1000).wrapping_mul(1_000_003).wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed) * 7919);
    let mut id = String::from("x");
    const LETTERS: &[u8; 32] = b"bcdfghjkmnpqrstvwxz0123456789aey";
    for _ in 0..8 {
        id.push(char::from(LETTERS[(number % 32) as usize]));
        number /= 32;
    }
    id
}

impl CaseOutcome {
    /// Returns the differences to the record as text; empty if there are none.
    pub fn failures(&self, decided: bool) -> String {
        let mut out = String::new();
        for (index, (step, answer)) in self.case.steps.iter().zip(&self.answers).enumerate() {
            let lines = match &step.answer {
                Some(recorded) => compare::differences(step, recorded, answer, decided),
                None => vec!["no answer is recorded".to_string()],
            };
            if !lines.is_empty() {
                out.push_str(&format!("  step {} {}\n", index + 1, step.act));
                lines.iter().for_each(|line| out.push_str(&format!("    {line}\n")));
            }
        }
        if let Some(error) = &self.error {
            out.push_str(&format!("  {error}\n"));
        }
        out
    }

    /// Rewrites the file with the answers of this run.
    pub fn record(&self) -> std::io::Result<()> {
        let mut case = self.case.clone();
        for (step, answer) in case.steps.iter_mut().zip(&self.answers) {
            step.answer = Some(answer.clone());
        }
        std::fs::write(&self.path, case_file::write(&case))
    }

    /// Returns the case's name: area and file name without extension.
    pub fn name(&self) -> String {
        let path = self.path.strip_prefix(root()).unwrap_or(Path::new(&self.path));
        path.with_extension("").to_string_lossy().into_owned()
    }
}
