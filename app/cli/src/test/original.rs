//! `switchboard test apply-configuration`: the original's runner, to be used in its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use switchboard_gather::cases::{
    Case, Comparison, DesiredError, EXPECTED_OUTPUT, JunitCase, JunitFailure, Strictness, compare, discover, junit,
};
use switchboard_object::quote::quote;

use super::attempt::{Attempt, Environment, How, attempt, expected, log, remove};
use super::program::Ended;
use crate::failure::{Failure, tell};
use crate::gather::name_key::Key;
use crate::talk::say;

/// How long a run may take: the original's five seconds are too few on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);
/// With `--compat`.
const ORIGINAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs test cases as `multi-operator-manager test apply-configuration` does.
#[derive(Args)]
pub struct Original {
    /// The directory where the tests are stored (recursive)
    #[arg(long, value_name = "DIR")]
    test_dir: PathBuf,
    /// The directory where the output is stored; what is in it is removed
    #[arg(long, value_name = "DIR")]
    output_dir: PathBuf,
    /// Keep the output of tests that pass: any word, such as KeepAlways
    #[arg(long, value_name = "POLICY", default_value = "")]
    preserve_policy: String,
    /// Replace expected-output of each test by what comes out now
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false,
        default_missing_value = "true", action = clap::ArgAction::Set)]
    replace_expected_output: bool,
    /// Run operators as they are, with a network and all that this user may
    #[arg(long)]
    no_sandbox: bool,
    /// Under which key native operators write an object's name into metadata files; either is read as the other
    #[arg(long, value_name = "KEY", default_value = "name")]
    name_key: Key,
    /// Also where the original errs: 5 seconds for a run, no counters in junit.xml, no sandbox
    #[arg(long)]
    compat: bool,
}

/// Why the tests cannot be run, or that they failed.
#[derive(Debug, thiserror::Error)]
enum OriginalError {
    #[error("there is no directory `{}`\nhint: --test-dir takes the one that holds the tests", .0.display())]
    Missing(PathBuf),
    #[error("could not read {0} of the tests")]
    Broken(usize),
    #[error("{0} tests failed\nhint: each is told above; what they wrote is kept below --output-dir")]
    Failed(usize),
    #[error("could not {act} `{}`", path.display())]
    File { act: &'static str, path: PathBuf, source: std::io::Error },
}

impl Original {
    /// Runs the tests. True when all passed.
    pub fn run(self) -> Result<bool, Failure> {
        if !self.test_dir.exists() {
            return Err(OriginalError::Missing(self.test_dir.clone()).into());
        }
        self.how().check()?;
        let (cases, errors) = discover(&self.test_dir);
        let missing = |case: &&Case| !case.expects && !self.replace_expected_output;
        let missing: Vec<String> =
            cases.iter().filter(missing).map(|case| case.directory.display().to_string()).collect();
        errors.iter().for_each(|error| say(tell(error)));
        missing.iter().for_each(|path| say(format_args!("error: `{path}/{EXPECTED_OUTPUT}` is missing")));
        if !errors.is_empty() || !missing.is_empty() {
            return Err(OriginalError::Broken(errors.len() + missing.len()).into());
        }
        let file = |act, path: &Path| {
            let path = path.to_path_buf();
            move |source| OriginalError::File { act, path, source }
        };
        remove(&self.output_dir).map_err(file("remove", &self.output_dir))?;
        fs::create_dir_all(&self.output_dir).map_err(file("make", &self.output_dir))?;
        let named = |name: &str| JunitCase { name: name.into(), ..JunitCase::default() };
        let mut told = vec![named("remove output directory"), named("ensure output directory")];
        told.extend(cases.iter().map(|case| self.one(case)));
        let path = self.output_dir.join("junit.xml");
        fs::write(&path, junit(&told, !self.compat)).map_err(file("write", &path))?;
        let mut failed: Vec<(&JunitCase, &JunitFailure)> =
            told.iter().filter_map(|case| Some((case, case.failure.as_ref()?))).collect();
        failed.sort_by(|one, other| one.0.name.cmp(&other.0.name));
        for (case, failure) in &failed {
            say(format_args!(
                "test: {}\n{}\n{}\n",
                case.name,
                shifted(&failure.message, 1),
                shifted(&failure.output, 2)
            ));
        }
        if failed.is_empty() { Ok(true) } else { Err(OriginalError::Failed(failed.len()).into()) }
    }

    fn how(&self) -> How {
        let timeout = if self.compat { ORIGINAL_TIMEOUT } else { TIMEOUT };
        let sandbox = !self.compat && !self.no_sandbox;
        How { environment: Environment::Inherited, timeout, sandbox, name_key: self.name_key }
    }

    fn one(&self, case: &Case) -> JunitCase {
        let mut told = JunitCase { name: name(case), ..JunitCase::default() };
        let output = match self.replace_expected_output {
            true => case.directory.join(EXPECTED_OUTPUT),
            false => self.output_dir.join(&case.relative),
        };
        let how = self.how();
        let cleared = if self.replace_expected_output { remove(&output) } else { Ok(()) };
        let run = match cleared.and_then(|()| attempt(case, &output, how)) {
            Ok(run) => run,
            Err(error) => {
                let message =
                    format!("unable to prepare output directory {}: {error}", quote(&output.display().to_string()));
                told.failure = Some(JunitFailure { output: message.clone(), message });
                return told;
            }
        };
        told.seconds = run.finished.took.as_secs_f64().round() as u64;
        if self.replace_expected_output {
            replaced(case, &run, &output);
            return told;
        }
        judge(case, &run, &output, how.timeout, &mut told);
        if told.failure.is_none() && self.preserve_policy.is_empty() {
            self.clean(&output);
        }
        told
    }

    /// What is left of a test that passed. A test that is the whole directory has its output where the report will be; the
    /// original takes that away as well and then fails.
    fn clean(&self, output: &Path) {
        let removed = remove(output).and_then(|()| fs::create_dir_all(&self.output_dir));
        if let Err(error) = removed {
            say(format_args!("warning: could not remove `{}`: {error}", output.display()));
        }
    }
}

/// As the original calls a test: `basic call [Binary:"./web"] [Controllers:["a" "b"]] [Directory:"tests/a"]`.
fn name(case: &Case) -> String {
    let description = &case.description;
    let controllers: Vec<String> = description.controllers.iter().map(|name| quote(name)).collect();
    format!(
        "{} [Binary:{}] [Controllers:[{}]] [Directory:{}]",
        description.test_name,
        quote(&description.binary_name),
        controllers.join(" "),
        quote(&case.directory.display().to_string())
    )
}

/// What remains to be done when the output is the new expectation; nothing of it fails a test.
fn replaced(case: &Case, run: &Attempt, output: &Path) {
    for log in ["stdout.log", "stderr.log"] {
        let _ = fs::remove_file(output.join(log));
    }
    // The order is no part of what is expected.
    let _ = fs::remove_file(switchboard_gather::mutation::index_path(output));
    let fails = case.description.desired_error == DesiredError::NonZeroReturn;
    match run.finished.ended {
        Ended::Exited(0) if !fails => {}
        Ended::Exited(code) if fails && code != 0 => {}
        ref ended => say(format_args!("warning: {}: {}", case.directory.display(), ending(ended, TIMEOUT))),
    }
}

fn judge(case: &Case, run: &Attempt, output: &Path, timeout: Duration, told: &mut JunitCase) {
    let fails = case.description.desired_error == DesiredError::NonZeroReturn;
    let mut problems = Vec::new();
    match &run.finished.ended {
        Ended::Exited(0) if fails => {
            problems.push("test requires non-zero exit code from apply-configuration".to_string())
        }
        Ended::Exited(0) => {}
        ended => {
            told.system_out = log(output, "stdout.log");
            told.system_err = log(output, "stderr.log");
            if !(fails && matches!(ended, Ended::Exited(_))) {
                problems.push(format!("{}\n{}", ending(ended, timeout), told.system_err));
            }
        }
    }
    problems.extend(run.unreadable.iter().cloned());
    // A program that was ended half-way has not said what it wants.
    let differences = match (&run.finished.ended, expected(case)) {
        (Ended::TimedOut | Ended::NotStarted(_), _) => Vec::new(),
        (_, Ok(expected)) => {
            let how = Comparison { strictness: Strictness::Bytes, masks: &case.description.masks };
            compare(&expected, &run.output, how).iter().map(ToString::to_string).collect()
        }
        (_, Err(error)) => vec![format!("failed to read expected output:\n{}", tell(&error))],
    };
    if !differences.is_empty() {
        problems.push(format!("expected results mismatch {} times with actual results", differences.len()));
    }
    if let Some(message) = problems.first() {
        let output = problems.iter().skip(1).chain(&differences).cloned().collect::<Vec<_>>().join("\n");
        let output = if output.is_empty() { message.clone() } else { output };
        told.failure = Some(JunitFailure { message: message.clone(), output });
    }
}

fn ending(ended: &Ended, timeout: Duration) -> String {
    match ended {
        Ended::Exited(code) => format!("failed to wait for process: exit status {code}"),
        Ended::Killed(signal) => format!("failed to wait for process: killed by signal {signal}"),
        Ended::Hoarded(bytes) => format!("failed to wait for process: killed, it held {} MiB of memory", bytes >> 20),
        Ended::TimedOut => format!("timed out: the process took longer than {} s and was killed", timeout.as_secs()),
        Ended::NotStarted(error) => format!("failed to start process: {error}"),
    }
}

fn shifted(text: &str, depth: usize) -> String {
    let tabs = "\t".repeat(depth);
    text.lines().map(|line| format!("{tabs}{line}")).collect::<Vec<_>>().join("\n")
}
