//! One run of a test case.

mod sandboxed;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use switchboard_gather::cases::{CaseDescription, EXPECTED_OUTPUT, INPUT_DIRECTORY, OperatorCase};
use switchboard_gather::mutation::{MutationDirectory, index_path, read_directory};
use switchboard_sandbox::{Sandbox, SandboxError};

use super::program::{self, ProgramRun};
use crate::failure::CommandError;

/// Maximum size of a log; the end is kept.
pub const MAX_LOG_BYTES: u64 = 512 << 10;

/// Environment variables of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnvironment {
    /// Variables of the test runner, as in multi-operator-manager.
    Inherited,
    /// Variables of the case, and those that every program needs.
    Minimal,
}

/// Options of a run.
#[derive(Clone, Copy, Debug)]
pub struct CaseRunOptions {
    /// Environment variables.
    pub environment: ProcessEnvironment,
    /// Timeout of a run.
    pub timeout: Duration,
    /// Whether the program runs in a sandbox: without network, and with only the system and its input visible.
    pub sandbox: bool,
    /// Value of `--name-key` for native operators; other operators choose their own key.
    pub name_key: &'static str,
}

/// The sandbox is not available.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not run tests in a sandbox\nhint: see docs/reference/hosting.md for the requirements of a sandbox; --no-sandbox runs them without a sandbox, with the permissions of this user"
)]
pub struct SandboxUnavailable(#[source] SandboxError);

impl CaseRunOptions {
    /// Checks that programs can run with these options on this machine.
    ///
    /// # Errors
    /// Fails if there is no sandbox.
    pub fn check(&self) -> Result<(), CommandError> {
        if !self.sandbox {
            return Ok(());
        }
        let folder = tempfile::tempdir()?;
        let limits = switchboard_hosted::default_limits(self.timeout);
        Ok(Sandbox::new(folder.path()).and_then(|sandbox| sandbox.check(limits)).map_err(SandboxUnavailable)?)
    }
}

/// Result of a run.
pub struct CaseRun {
    /// Exit of the program.
    pub finished: ProgramRun,
    /// Written output.
    pub output: MutationDirectory,
    /// Reason why the output cannot be read.
    pub unreadable: Option<String>,
}

/// Runs a case into an output directory, which is created if it does not exist.
pub fn run_case(case: &OperatorCase, output: &Path, how: CaseRunOptions) -> std::io::Result<CaseRun> {
    fs::create_dir_all(output)?;
    let (finished, odd) =
        if how.sandbox { sandboxed::run(case, output, how)? } else { (run_unconfined(case, output, how)?, None) };
    let (output, unreadable) = match read_directory(output) {
        Ok(directory) => (directory, odd),
        Err(error) => (MutationDirectory::default(), Some(error.to_string())),
    };
    Ok(CaseRun { finished, output, unreadable })
}

/// Runs without a sandbox like multi-operator-manager: the program has the permissions of this user.
fn run_unconfined(case: &OperatorCase, output: &Path, how: CaseRunOptions) -> std::io::Result<ProgramRun> {
    let home = tempfile::tempdir()?;
    let (program, first) = program_of(&case.description)?;
    let input = case.directory.join(INPUT_DIRECTORY);
    let mut command = Command::new(program);
    command.args(first).args(contract_arguments(
        case,
        &input.display().to_string(),
        &output.display().to_string(),
        how,
    ));
    if how.environment == ProcessEnvironment::Minimal {
        command.env_clear().envs(minimal_environment(home.path(), &case.description.env));
    }
    Ok(program::run(command, output, how.timeout))
}

/// Returns the arguments of the contract's command.
fn contract_arguments(case: &OperatorCase, input: &str, output: &str, how: CaseRunOptions) -> Vec<String> {
    let mut words: Vec<String> =
        ["apply-configuration", "--input-dir", input, "--output-dir", output].map(String::from).into();
    if let Some(now) = &case.description.now {
        words.extend(["--now".to_string(), now.clone()]);
    }
    if !case.description.controllers.is_empty() {
        words.extend(["--controllers".to_string(), case.description.controllers.join(",")]);
    }
    if !case.description.operator.is_empty() {
        words.extend(["--name-key", how.name_key].map(String::from));
    }
    words
}

/// Returns the expected output; empty if the case has none.
pub fn expected(case: &OperatorCase) -> Result<MutationDirectory, switchboard_gather::SourceError> {
    if case.has_expected_output {
        read_directory(&case.directory.join(EXPECTED_OUTPUT))
    } else {
        Ok(MutationDirectory::default())
    }
}

/// Removes a mutation directory and its index.
pub fn remove(output: &Path) -> std::io::Result<()> {
    let absent = |error: std::io::Error| if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) };
    fs::remove_file(index_path(output)).or_else(absent)?;
    fs::remove_dir_all(output).or_else(absent)
}

/// Returns the end of a log.
pub fn log(output: &Path, name: &str) -> String {
    let read = |path: PathBuf| -> std::io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MAX_LOG_BYTES)))?;
        let mut content = Vec::new();
        file.take(MAX_LOG_BYTES).read_to_end(&mut content)?;
        Ok(content)
    };
    String::from_utf8_lossy(&read(output.join(name)).unwrap_or_default()).into_owned()
}

/// Returns the program and its first arguments; native operators are part of this binary.
fn program_of(description: &CaseDescription) -> std::io::Result<(PathBuf, Vec<String>)> {
    if description.operator.is_empty() {
        return Ok((PathBuf::from(&description.binary_name), Vec::new()));
    }
    Ok((std::env::current_exe()?, vec!["operator".to_string(), description.operator.clone()]))
}

fn minimal_environment(home: &Path, own: &BTreeMap<String, String>) -> BTreeMap<String, std::ffi::OsString> {
    let mut variables = BTreeMap::from([("HOME".to_string(), home.into()), ("TMPDIR".to_string(), home.into())]);
    if let Some(path) = std::env::var_os("PATH") {
        variables.insert("PATH".to_string(), path);
    }
    variables.extend(own.iter().map(|(name, value)| (name.clone(), value.into())));
    variables
}
