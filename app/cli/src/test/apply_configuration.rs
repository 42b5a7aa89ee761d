//! `switchboard test apply-configuration`: replacement of multi-operator-manager's test runner.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use switchboard_gather::cases::{
    CompareOptions, DesiredError, EXPECTED_OUTPUT, JunitCase, JunitFailure, OperatorCase, Strictness, compare,
    discover, junit,
};
use switchboard_object::quote::quote;
use switchboard_runtime::cases::case_run::{
    CaseRun, CaseRunOptions, ProcessEnvironment, expected, log, remove, run_case,
};
use switchboard_runtime::cases::program::ProgramExit;
use switchboard_runtime::stderr::print_stderr;

use crate::failure::{CommandError, message};
use crate::gather::name_key::NameKeyArg;

/// Timeout of a run; the five seconds of multi-operator-manager are too short on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout with `--compat`.
const COMPAT_TIMEOUT: Duration = Duration::from_secs(5);

/// Run tests like `multi-operator-manager test apply-configuration`, as a replacement
#[derive(Args)]
pub struct ApplyConfigurationTest {
    /// Directory with the tests, searched recursively
    #[arg(long, value_name = "DIR")]
    test_dir: PathBuf,
    /// Output directory; its content is removed
    #[arg(long, value_name = "DIR")]
    output_dir: PathBuf,
    /// Keep the output of passed tests: any value, such as KeepAlways
    #[arg(long, value_name = "POLICY", default_value = "")]
    preserve_policy: String,
    /// Replace the expected output of each test with the current output
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false,
        default_missing_value = "true", action = clap::ArgAction::Set)]
    replace_expected_output: bool,
    /// Run operators without a sandbox, with network access and the permissions of this user
    #[arg(long)]
    no_sandbox: bool,
    /// Metadata key for object names that native operators write; both keys are accepted on input
    #[arg(long, value_name = "KEY", default_value = "name")]
    name_key: NameKeyArg,
    /// Match multi-operator-manager including its errors: a timeout of 5 seconds, no counters in junit.xml, no sandbox
    #[arg(long)]
    compat: bool,
}

/// The tests could not run, or failed.
#[derive(Debug, thiserror::Error)]
enum ApplyConfigurationError {
    #[error("could not find the directory `{}`\nhint: pass the directory with the tests with --test-dir", .0.display())]
    Missing(PathBuf),
    #[error("could not read {0} of the tests")]
    Broken(usize),
    #[error("{0} tests failed\nhint: see the failures above; the output of the tests is below --output-dir")]
    Failed(usize),
    #[error("could not {act} `{}`", path.display())]
    File { act: &'static str, path: PathBuf, source: std::io::Error },
}

impl ApplyConfigurationTest {
    /// Runs the tests. Returns whether all passed.
    pub fn run(self) -> Result<bool, CommandError> {
        if !self.test_dir.exists() {
            return Err(ApplyConfigurationError::Missing(self.test_dir.clone()).into());
        }
        self.run_options().check()?;
        let (cases, errors) = discover(&self.test_dir);
        let missing = |case: &&OperatorCase| !case.has_expected_output && !self.replace_expected_output;
        let missing: Vec<String> =
            cases.iter().filter(missing).map(|case| case.directory.display().to_string()).collect();
        errors.iter().for_each(|error| print_stderr(message(error)));
        missing.iter().for_each(|path| print_stderr(format_args!("error: `{path}/{EXPECTED_OUTPUT}` is missing")));
        if !errors.is_empty() || !missing.is_empty() {
            return Err(ApplyConfigurationError::Broken(errors.len() + missing.len()).into());
        }
        let file = |act, path: &Path| {
            let path = path.to_path_buf();
            move |source| ApplyConfigurationError::File { act, path, source }
        };
        remove(&self.output_dir).map_err(file("remove", &self.output_dir))?;
        fs::create_dir_all(&self.output_dir).map_err(file("create", &self.output_dir))?;
        let named = |name: &str| JunitCase { name: name.into(), ..JunitCase::default() };
        let mut junit_cases = vec![named("remove output directory"), named("ensure output directory")];
        junit_cases.extend(cases.iter().map(|case| self.run_test(case)));
        let path = self.output_dir.join("junit.xml");
        fs::write(&path, junit(&junit_cases, !self.compat)).map_err(file("write", &path))?;
        let mut failed: Vec<(&JunitCase, &JunitFailure)> =
            junit_cases.iter().filter_map(|case| Some((case, case.failure.as_ref()?))).collect();
        failed.sort_by(|one, other| one.0.name.cmp(&other.0.name));
        for (case, failure) in &failed {
            print_stderr(format_args!(
                "test: {}\n{}\n{}\n",
                case.name,
                indented(&failure.message, 1),
                indented(&failure.output, 2)
            ));
        }
        if failed.is_empty() { Ok(true) } else { Err(ApplyConfigurationError::Failed(failed.len()).into()) }
    }

    fn run_options(&self) -> CaseRunOptions {
        let timeout = if self.compat { COMPAT_TIMEOUT } else { TIMEOUT };
        let sandbox = !self.compat && !self.no_sandbox;
        CaseRunOptions {
            environment: ProcessEnvironment::Inherited,
            timeout,
            sandbox,
            name_key: self.name_key.as_str(),
        }
    }

    fn run_test(&self, case: &OperatorCase) -> JunitCase {
        let mut junit_cases = JunitCase { name: test_name(case), ..JunitCase::default() };
        let output = match self.replace_expected_output {
            true => case.directory.join(EXPECTED_OUTPUT),
            false => self.output_dir.join(&case.relative),
        };
        let options = self.run_options();
        let cleared = if self.replace_expected_output { remove(&output) } else { Ok(()) };
        let run = match cleared.and_then(|()| run_case(case, &output, options)) {
            Ok(run) => run,
            Err(error) => {
                let message =
                    format!("unable to prepare output directory {}: {error}", quote(&output.display().to_string()));
                junit_cases.failure = Some(JunitFailure { output: message.clone(), message });
                return junit_cases;
            }
        };
        junit_cases.seconds = run.finished.took.as_secs_f64().round() as u64;
        if self.replace_expected_output {
            accept_output(case, &run, &output);
            return junit_cases;
        }
        check_output(case, &run, &output, options.timeout, &mut junit_cases);
        if junit_cases.failure.is_none() && self.preserve_policy.is_empty() {
            self.clean(&output);
        }
        junit_cases
    }

    /// Removes the output of a passed test. If the test is the whole directory, its output folder is also that of the
    /// report; multi-operator-manager removes it and then fails.
    fn clean(&self, output: &Path) {
        let removed = remove(output).and_then(|()| fs::create_dir_all(&self.output_dir));
        if let Err(error) = removed {
            print_stderr(format_args!("warning: could not remove `{}`: {error}", output.display()));
        }
    }
}

/// Returns the test name of multi-operator-manager: `basic call [Binary:"./web"] [Controllers:["a" "b"]]
/// [Directory:"tests/a"]`.
fn test_name(case: &OperatorCase) -> String {
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

/// Cleans up output that is the new expectation; errors here do not fail the test.
fn accept_output(case: &OperatorCase, run: &CaseRun, output: &Path) {
    for log in ["stdout.log", "stderr.log"] {
        let _ = fs::remove_file(output.join(log));
    }
    // The order is not part of the expectation.
    let _ = fs::remove_file(switchboard_gather::mutation::index_path(output));
    let fails = case.description.desired_error == DesiredError::NonZeroReturn;
    match run.finished.ended {
        ProgramExit::Exited(0) if !fails => {}
        ProgramExit::Exited(code) if fails && code != 0 => {}
        ref ended => {
            print_stderr(format_args!("warning: {}: {}", case.directory.display(), exit_message(ended, TIMEOUT)))
        }
    }
}

fn check_output(case: &OperatorCase, run: &CaseRun, output: &Path, timeout: Duration, junit_cases: &mut JunitCase) {
    let fails = case.description.desired_error == DesiredError::NonZeroReturn;
    let mut problems = Vec::new();
    match &run.finished.ended {
        ProgramExit::Exited(0) if fails => {
            problems.push("test requires non-zero exit code from apply-configuration".to_string())
        }
        ProgramExit::Exited(0) => {}
        ended => {
            junit_cases.system_out = log(output, "stdout.log");
            junit_cases.system_err = log(output, "stderr.log");
            if !(fails && matches!(ended, ProgramExit::Exited(_))) {
                problems.push(format!("{}\n{}", exit_message(ended, timeout), junit_cases.system_err));
            }
        }
    }
    problems.extend(run.unreadable.iter().cloned());
    // The output of an interrupted program is incomplete.
    let differences = match (&run.finished.ended, expected(case)) {
        (ProgramExit::TimedOut | ProgramExit::NotStarted(_), _) => Vec::new(),
        (_, Ok(expected)) => {
            let options = CompareOptions { strictness: Strictness::Bytes, masks: &case.description.masks };
            compare(&expected, &run.output, options).iter().map(ToString::to_string).collect()
        }
        (_, Err(error)) => vec![format!("failed to read expected output:\n{}", message(&error))],
    };
    if !differences.is_empty() {
        problems.push(format!("expected results mismatch {} times with actual results", differences.len()));
    }
    if let Some(message) = problems.first() {
        let output = problems.iter().skip(1).chain(&differences).cloned().collect::<Vec<_>>().join("\n");
        let output = if output.is_empty() { message.clone() } else { output };
        junit_cases.failure = Some(JunitFailure { message: message.clone(), output });
    }
}

fn exit_message(ended: &ProgramExit, timeout: Duration) -> String {
    match ended {
        ProgramExit::Exited(code) => format!("failed to wait for process: exit status {code}"),
        ProgramExit::Killed(signal) => format!("failed to wait for process: killed by signal {signal}"),
        ProgramExit::OutOfMemory(bytes) => {
            format!("failed to wait for process: killed, it held {} MiB of memory", bytes >> 20)
        }
        ProgramExit::TimedOut => {
            format!("timed out: the process took longer than {} s and was killed", timeout.as_secs())
        }
        ProgramExit::NotStarted(error) => format!("failed to start process: {error}"),
    }
}

fn indented(text: &str, depth: usize) -> String {
    let tabs = "\t".repeat(depth);
    text.lines().map(|line| format!("{tabs}{line}")).collect::<Vec<_>>().join("\n")
}
