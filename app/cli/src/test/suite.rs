//! `switchboard test DIR`: every case of a directory, several at a time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use switchboard_gather::cases::{Case, Comparison, DesiredError, Strictness, compare, discover};
use switchboard_gather::mutation::Directory;

use super::attempt::{Attempt, Environment, How, attempt, expected, log};
use super::program::Ended;
use super::report::{Progress, Report, Told, Verdict};
use crate::explain::{Form, print};
use crate::failure::{Failure, tell};
use crate::gather::name_key::Key;
use crate::operators;
use crate::talk::say;

/// How many cases run at the same time at most, unless told otherwise.
const MAX_JOBS: usize = 8;
/// How often a case is run at most.
const MAX_REPEAT: u32 = 10_000;
/// A day: who waits longer does not look.
const MAX_TIMEOUT: u64 = 24 * 60 * 60;
/// How many lines of what a program said are shown.
const SHOWN_LINES: usize = 20;

/// How the cases of a directory are run.
#[derive(Args)]
pub struct Options {
    /// Compare byte by byte instead of by meaning
    #[arg(long)]
    strict: bool,
    /// Run each case that often; runs that differ from the first fail it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_REPEAT)))]
    repeat: u32,
    /// Also try native operators under every fault, beginning with what the case gives
    #[arg(long)]
    probe: bool,
    /// How many cases run at the same time
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
    /// How long one run may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// Run operators as they are, with a network and all that this user may
    #[arg(long)]
    no_sandbox: bool,
    /// Keep what the operators wrote here, in a folder for each case
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Under which key native operators write an object's name into metadata files; either is read as the other
    #[arg(long, value_name = "KEY", default_value = "name")]
    name_key: Key,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

impl Options {
    fn how(&self) -> How {
        let timeout = Duration::from_secs(self.timeout);
        How { environment: Environment::Scrubbed, timeout, sandbox: !self.no_sandbox, name_key: self.name_key }
    }
}

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
enum SuiteError {
    #[error("could not read {0} of the cases")]
    Broken(usize),
    #[error("there is no directory `{}`\nhint: give the one that holds the cases; a case is a directory with test.yaml and input-dir", .0.display())]
    Missing(PathBuf),
    #[error("there is no case below `{}`\nhint: a case is a directory with test.yaml and input-dir", .0.display())]
    Empty(PathBuf),
}

/// Runs the cases and prints the report. True when all passed.
pub fn run(directory: &Path, options: &Options) -> Result<bool, Failure> {
    if !directory.exists() {
        return Err(SuiteError::Missing(directory.to_path_buf()).into());
    }
    let (cases, errors) = discover(directory);
    for error in &errors {
        say(tell(error));
    }
    if !errors.is_empty() {
        return Err(SuiteError::Broken(errors.len()).into());
    }
    if cases.is_empty() {
        return Err(SuiteError::Empty(directory.to_path_buf()).into());
    }
    options.how().check()?;
    let scratch = tempfile::tempdir()?;
    let kept = options.output_dir.as_deref().unwrap_or(scratch.path());
    let report = Report { cases: all(&cases, options, kept) };
    print(&report, options.output)?;
    Ok(report.passed())
}

fn all(cases: &[Case], options: &Options, kept: &Path) -> Vec<Told> {
    let free = std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_JOBS));
    let jobs = options.jobs.unwrap_or(free).clamp(1, cases.len().max(1));
    let (next, told) = (AtomicUsize::new(0), Mutex::new(vec![None; cases.len()]));
    let progress = Progress::of(cases.len());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((at, case)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, cases.get(at)?)))
                {
                    let one = one(case, options, &kept.join(&case.relative));
                    progress.done();
                    told.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(one);
                }
            });
        }
    });
    progress.end();
    told.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

/// One case: all its runs, and its probe.
fn one(case: &Case, options: &Options, kept: &Path) -> Told {
    let mut told = Told {
        case: if case.relative.as_os_str().is_empty() { ".".into() } else { case.relative.display().to_string() },
        name: case.description.test_name.clone(),
        verdict: Verdict::Passed,
        took_ms: 0,
        differences: Vec::new(),
    };
    let mut first: Option<Directory> = None;
    for number in 1..=options.repeat {
        // A fresh one each time: nothing is removed by who writes into it.
        let output = kept.join(if options.repeat == 1 { "output".to_string() } else { format!("output-{number}") });
        let made = super::attempt::remove(&output).and_then(|()| attempt(case, &output, options.how()));
        let attempt = match made {
            Ok(attempt) => attempt,
            Err(error) => {
                told.fail(format!("could not run: {error}"));
                break;
            }
        };
        told.took_ms += u64::try_from(attempt.finished.took.as_millis()).unwrap_or(u64::MAX);
        let problems = match &first {
            None => judge(case, &attempt, &output, options),
            Some(first) => repeated(case, first, &attempt, (number, &output), options),
        };
        problems.into_iter().for_each(|problem| told.fail(problem));
        if matches!(attempt.finished.ended, Ended::TimedOut) {
            told.verdict = Verdict::TimedOut;
        }
        if told.verdict != Verdict::Passed {
            break;
        }
        first.get_or_insert(attempt.output);
    }
    if options.probe && told.verdict == Verdict::Passed {
        probe(case).into_iter().for_each(|problem| told.fail(problem));
    }
    told
}

impl Told {
    fn fail(&mut self, problem: String) {
        self.verdict = Verdict::Failed;
        self.differences.push(problem);
    }
}

fn comparison<'a>(case: &'a Case, options: &Options) -> Comparison<'a> {
    let strictness = if options.strict { Strictness::Bytes } else { Strictness::Semantic };
    Comparison { strictness, masks: &case.description.masks }
}

/// How a run ended, and what it wrote.
fn judge(case: &Case, attempt: &Attempt, output: &Path, options: &Options) -> Vec<String> {
    let mut problems: Vec<String> = ending(case, attempt, output, options.timeout).into_iter().collect();
    match &attempt.finished.ended {
        // What it wrote until then says nothing about it.
        Ended::TimedOut | Ended::NotStarted(_) => return problems,
        Ended::Exited(_) | Ended::Killed(_) | Ended::Hoarded(_) => {}
    }
    problems.extend(attempt.unreadable.clone());
    match expected(case) {
        // By bytes the original's rule holds: something must be expected.
        Ok(expected) => {
            let how = comparison(case, options);
            let how = if case.expects { how } else { Comparison { strictness: Strictness::Semantic, ..how } };
            problems.extend(compare(&expected, &attempt.output, how).iter().map(ToString::to_string));
        }
        Err(error) => problems.push(tell(&error)),
    }
    problems
}

fn ending(case: &Case, attempt: &Attempt, output: &Path, timeout: u64) -> Option<String> {
    let description = &case.description;
    let said = || last_lines(&log(output, "stderr.log"));
    let fails = description.desired_error == DesiredError::NonZeroReturn;
    match &attempt.finished.ended {
        Ended::Exited(0) if fails => Some("exited with 0, but should fail".to_string()),
        Ended::Exited(0) => None,
        Ended::Exited(_) if fails => None,
        Ended::Exited(code) => Some(format!("exited with {code}{}", said())),
        Ended::Killed(signal) => Some(format!("was killed by signal {signal}{}", said())),
        Ended::Hoarded(bytes) => Some(format!("held {} MiB of memory and was killed{}", bytes >> 20, said())),
        Ended::TimedOut => Some(format!("took longer than {timeout} s and was killed{}", said())),
        Ended::NotStarted(error) if description.operator.is_empty() => {
            let binary = &description.binary_name;
            Some(format!(
                "could not start `{binary}`: {error}\nhint: it is looked for from where the tests are started; `operator: NAME` is one of this binary's"
            ))
        }
        Ended::NotStarted(error) => Some(format!("could not start the operator `{}`: {error}", description.operator)),
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    shown.iter().map(|line| format!("\n    {line}")).collect()
}

/// Whether a later run is as the first one, which was as expected.
fn repeated(
    case: &Case,
    first: &Directory,
    attempt: &Attempt,
    (number, output): (u32, &Path),
    options: &Options,
) -> Vec<String> {
    if let Some(problem) = ending(case, attempt, output, options.timeout) {
        return vec![format!("run {number} is not as run 1: {problem}")];
    }
    let differences = compare(first, &attempt.output, comparison(case, options));
    differences.iter().map(|difference| format!("run {number} is not as run 1: {difference}")).collect()
}

/// Tries a native operator under every fault, on a cluster that begins with what the case gives.
fn probe(case: &Case) -> Vec<String> {
    let name = case.description.operator.clone();
    if operators::operator(&name).is_none() {
        return vec!["cannot be probed: only native operators can, those with `operator` in test.yaml".to_string()];
    }
    let input = case.directory.join(switchboard_gather::cases::INPUT_DIRECTORY);
    let given = match switchboard_gather::read(&input, |_| {}) {
        Ok(dump) => dump.objects.into_iter().map(|object| unborn(object.value)),
        Err(error) => return vec![tell(&error)],
    };
    let factory = move || operators::operator(&name).expect("it was found before");
    let report = switchboard_probe::Probe::of(factory).given(given).run();
    report.failures.iter().map(|failure| format!("probe: {}: {}", failure.fault, failure.what)).collect()
}

/// An object without what its server gave it: on another cluster it begins anew.
fn unborn(mut object: serde_json::Value) -> serde_json::Value {
    // Owners are known by their uid, and nobody there has it.
    let given = ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences"];
    if let Some(metadata) = object.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
        given.iter().for_each(|field| drop(metadata.remove(*field)));
    }
    object
}
