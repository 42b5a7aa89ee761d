//! Declarative cases of a directory, several at a time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use switchboard_gather::cases::{CompareOptions, DesiredError, OperatorCase, Strictness, compare, discover};
use switchboard_gather::mutation::MutationDirectory;
use switchboard_kernel::family::Families;

use super::case_run::{CaseRun, CaseRunOptions, ProcessEnvironment, expected, log, run_case};
use super::program::ProgramExit;
use super::report::{CaseReport, CaseVerdict, SuiteReport};
use crate::failure::{CommandError, message};
use crate::stderr::print_stderr;

/// Default maximum of concurrent cases.
const MAX_JOBS: usize = 8;
/// Maximum number of log lines in the report.
const SHOWN_LINES: usize = 20;

/// Options of a suite.
pub struct SuiteOptions {
    /// Native operators that a case may name.
    pub families: Families,
    /// Whether bytes are compared instead of meaning.
    pub strict: bool,
    /// Number of runs of each case; a run that differs from the first fails the case.
    pub repeat: u32,
    /// Whether native operators are also tested under every fault, starting from the input of the case.
    pub fault_test: bool,
    /// Number of cases that run at the same time; by the number of processors when absent.
    pub jobs: Option<usize>,
    /// Timeout of a run.
    pub timeout: Duration,
    /// Whether operators run in a sandbox.
    pub sandbox: bool,
    /// Directory to keep the output of the operators in, one folder for each case.
    pub output_dir: Option<PathBuf>,
    /// Value of `--name-key` for native operators.
    pub name_key: &'static str,
}

impl SuiteOptions {
    fn run_options(&self) -> CaseRunOptions {
        CaseRunOptions {
            environment: ProcessEnvironment::Minimal,
            timeout: self.timeout,
            sandbox: self.sandbox,
            name_key: self.name_key,
        }
    }
}

/// The cases cannot be run.
#[derive(Debug, thiserror::Error)]
enum SuiteError {
    #[error("could not read {0} of the cases")]
    Broken(usize),
    #[error("could not find the directory `{}`\nhint: pass the directory with the cases; a case is a directory with test.yaml and input-dir", .0.display())]
    Missing(PathBuf),
    #[error("could not find a case below `{}`\nhint: a case is a directory with test.yaml and input-dir", .0.display())]
    Empty(PathBuf),
}

/// Runs the cases of a directory. `on_progress` gets the number of finished cases and of all cases.
///
/// # Errors
/// Fails if the cases cannot be read, or if programs cannot run on this machine.
pub fn run(
    directory: &Path,
    options: &SuiteOptions,
    on_progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<SuiteReport, CommandError> {
    if !directory.exists() {
        return Err(SuiteError::Missing(directory.to_path_buf()).into());
    }
    let (cases, errors) = discover(directory);
    for error in &errors {
        print_stderr(message(error));
    }
    if !errors.is_empty() {
        return Err(SuiteError::Broken(errors.len()).into());
    }
    if cases.is_empty() {
        return Err(SuiteError::Empty(directory.to_path_buf()).into());
    }
    options.run_options().check()?;
    let scratch = tempfile::tempdir()?;
    let kept = options.output_dir.as_deref().unwrap_or(scratch.path());
    Ok(SuiteReport { cases: run_cases(&cases, options, kept, on_progress) })
}

fn run_cases(
    cases: &[OperatorCase],
    options: &SuiteOptions,
    kept: &Path,
    on_progress: &(dyn Fn(usize, usize) + Sync),
) -> Vec<CaseReport> {
    let free = std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_JOBS));
    let jobs = options.jobs.unwrap_or(free).clamp(1, cases.len().max(1));
    let (next, case_report) = (AtomicUsize::new(0), Mutex::new(vec![None; cases.len()]));
    let finished = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((at, case)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, cases.get(at)?)))
                {
                    let one = run_suite_case(case, options, &kept.join(&case.relative));
                    on_progress(finished.fetch_add(1, Ordering::Relaxed) + 1, cases.len());
                    case_report.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(one);
                }
            });
        }
    });
    case_report.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

/// Runs one case: all its runs, and its fault test.
fn run_suite_case(case: &OperatorCase, options: &SuiteOptions, kept: &Path) -> CaseReport {
    let mut case_report = CaseReport {
        case: if case.relative.as_os_str().is_empty() { ".".into() } else { case.relative.display().to_string() },
        name: case.description.test_name.clone(),
        verdict: CaseVerdict::Passed,
        took_ms: 0,
        differences: Vec::new(),
    };
    let mut first: Option<MutationDirectory> = None;
    for number in 1..=options.repeat {
        // Each run gets a new directory, since operators do not remove old output.
        let output = kept.join(if options.repeat == 1 { "output".to_string() } else { format!("output-{number}") });
        let outcome = super::case_run::remove(&output).and_then(|()| run_case(case, &output, options.run_options()));
        let attempt = match outcome {
            Ok(attempt) => attempt,
            Err(error) => {
                case_report.fail(format!("could not run: {error}"));
                break;
            }
        };
        case_report.took_ms += u64::try_from(attempt.finished.took.as_millis()).unwrap_or(u64::MAX);
        let problems = match &first {
            None => case_problems(case, &attempt, &output, options),
            Some(first) => repeat_problems(case, first, &attempt, (number, &output), options),
        };
        problems.into_iter().for_each(|problem| case_report.fail(problem));
        if matches!(attempt.finished.ended, ProgramExit::TimedOut) {
            case_report.verdict = CaseVerdict::TimedOut;
        }
        if case_report.verdict != CaseVerdict::Passed {
            break;
        }
        first.get_or_insert(attempt.output);
    }
    if options.fault_test && case_report.verdict == CaseVerdict::Passed {
        fault_test(case, options).into_iter().for_each(|problem| case_report.fail(problem));
    }
    case_report
}

impl CaseReport {
    fn fail(&mut self, problem: String) {
        self.verdict = CaseVerdict::Failed;
        self.differences.push(problem);
    }
}

fn comparison<'a>(case: &'a OperatorCase, options: &SuiteOptions) -> CompareOptions<'a> {
    let strictness = if options.strict { Strictness::Bytes } else { Strictness::Semantic };
    CompareOptions { strictness, masks: &case.description.masks }
}

/// Returns the problems of a run: its exit and its output.
fn case_problems(case: &OperatorCase, attempt: &CaseRun, output: &Path, options: &SuiteOptions) -> Vec<String> {
    let mut problems: Vec<String> = exit_problem(case, attempt, output, options.timeout).into_iter().collect();
    match &attempt.finished.ended {
        // The output of an interrupted program is incomplete.
        ProgramExit::TimedOut | ProgramExit::NotStarted(_) => return problems,
        ProgramExit::Exited(_) | ProgramExit::Killed(_) | ProgramExit::OutOfMemory(_) => {}
    }
    problems.extend(attempt.unreadable.clone());
    match expected(case) {
        // A comparison by bytes follows the rule of multi-operator-manager that something must be expected.
        Ok(expected) => {
            let comparison_options = comparison(case, options);
            let comparison_options = if case.has_expected_output {
                comparison_options
            } else {
                CompareOptions { strictness: Strictness::Semantic, ..comparison_options }
            };
            problems.extend(compare(&expected, &attempt.output, comparison_options).iter().map(ToString::to_string));
        }
        Err(error) => problems.push(message(&error)),
    }
    problems
}

fn exit_problem(case: &OperatorCase, attempt: &CaseRun, output: &Path, timeout: Duration) -> Option<String> {
    let description = &case.description;
    let log_tail = || last_lines(&log(output, "stderr.log"));
    let fails = description.desired_error == DesiredError::NonZeroReturn;
    match &attempt.finished.ended {
        ProgramExit::Exited(0) if fails => Some("exited with 0, but should fail".to_string()),
        ProgramExit::Exited(0) => None,
        ProgramExit::Exited(_) if fails => None,
        ProgramExit::Exited(code) => Some(format!("exited with {code}{}", log_tail())),
        ProgramExit::Killed(signal) => Some(format!("was killed by signal {signal}{}", log_tail())),
        ProgramExit::OutOfMemory(bytes) => {
            Some(format!("used {} MiB of memory and was killed{}", bytes >> 20, log_tail()))
        }
        ProgramExit::TimedOut => {
            Some(format!("took longer than {} s and was killed{}", timeout.as_secs_f64(), log_tail()))
        }
        ProgramExit::NotStarted(error) if description.operator.is_empty() => {
            let binary = &description.binary_name;
            Some(format!(
                "could not start `{binary}`: {error}\nhint: check the path, which is relative to the working directory; use `operator: NAME` for an operator in this binary"
            ))
        }
        ProgramExit::NotStarted(error) => {
            Some(format!("could not start the operator `{}`: {error}", description.operator))
        }
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    shown.iter().map(|line| format!("\n    {line}")).collect()
}

/// Returns the differences between a later run and the first one, which matched the expectation.
fn repeat_problems(
    case: &OperatorCase,
    first: &MutationDirectory,
    attempt: &CaseRun,
    (number, output): (u32, &Path),
    options: &SuiteOptions,
) -> Vec<String> {
    if let Some(problem) = exit_problem(case, attempt, output, options.timeout) {
        return vec![format!("run {number} differs from run 1: {problem}")];
    }
    let differences = compare(first, &attempt.output, comparison(case, options));
    differences.iter().map(|difference| format!("run {number} differs from run 1: {difference}")).collect()
}

/// Tests a native operator under every fault, on a cluster with the input of the case.
fn fault_test(case: &OperatorCase, options: &SuiteOptions) -> Vec<String> {
    let name = case.description.operator.clone();
    if options.families.operator(&name).is_none() {
        return vec![
            "could not run the fault test: it needs a native operator, set with `operator` in test.yaml".to_string(),
        ];
    }
    let input = case.directory.join(switchboard_gather::cases::INPUT_DIRECTORY);
    let inputs = match switchboard_gather::read(&input, |_| {}) {
        Ok(dump) => dump.objects.into_iter().map(|object| without_server_fields(object.value)),
        Err(error) => return vec![message(&error)],
    };
    let families = options.families;
    let factory = move || families.operator(&name).expect("it was found before");
    let report = switchboard_probe::Probe::of(factory).given(inputs).run();
    report.failures.iter().map(|failure| format!("fault test: {}: {}", failure.fault, failure.problem)).collect()
}

/// Removes the fields that a server sets, so that the object can be created on another cluster.
fn without_server_fields(mut object: serde_json::Value) -> serde_json::Value {
    // Owner references hold uids that do not exist on another cluster.
    let inputs = ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences"];
    if let Some(metadata) = object.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
        inputs.iter().for_each(|field| drop(metadata.remove(*field)));
    }
    object
}
