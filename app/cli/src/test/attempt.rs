//! One run of one case.

mod confined;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use switchboard_gather::cases::{Case, Description, EXPECTED_OUTPUT, INPUT_DIRECTORY};
use switchboard_gather::mutation::{Directory, index_path, read_directory};
use switchboard_sandbox::{Sandbox, SandboxError};

use super::program::{self, Finished};
use crate::failure::Failure;
use crate::gather::name_key::Key;

/// How much of a log is kept, from its end.
pub const MAX_LOG_BYTES: u64 = 512 << 10;

/// In which surroundings a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// Those of the tests, as in the original.
    Inherited,
    /// Its own: what the case says and what no program can do without.
    Scrubbed,
}

/// How programs are run.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// In which surroundings.
    pub environment: Environment,
    /// For how long.
    pub timeout: Duration,
    /// Without a network, and with nothing to see but the system and its input.
    pub sandbox: bool,
    /// Under which key native operators write names; others know their own.
    pub name_key: Key,
}

/// No sandbox for tests.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not run tests in a sandbox\nhint: docs/HOSTING.md says what a sandbox needs; --no-sandbox runs them without one, with all that this user may"
)]
pub struct NoSandbox(#[source] SandboxError);

impl How {
    /// Whether programs can be run so on this machine.
    ///
    /// # Errors
    /// When there is no sandbox here.
    pub fn check(&self) -> Result<(), Failure> {
        if !self.sandbox {
            return Ok(());
        }
        let folder = tempfile::tempdir()?;
        Ok(Sandbox::new(folder.path()).and_then(|sandbox| sandbox.check()).map_err(NoSandbox)?)
    }
}

/// A run, and what is left of it.
pub struct Attempt {
    /// How it ended.
    pub finished: Finished,
    /// What it wrote.
    pub output: Directory,
    /// Why that cannot be read, where it cannot.
    pub unreadable: Option<String>,
}

/// Runs a case into a directory that is made when there is none.
pub fn attempt(case: &Case, output: &Path, how: How) -> std::io::Result<Attempt> {
    fs::create_dir_all(output)?;
    let (finished, odd) =
        if how.sandbox { confined::run(case, output, how)? } else { (free(case, output, how)?, None) };
    let (output, unreadable) = match read_directory(output) {
        Ok(directory) => (directory, odd),
        Err(error) => (Directory::default(), Some(error.to_string())),
    };
    Ok(Attempt { finished, output, unreadable })
}

/// As the original does it: the program may do all that this user may.
fn free(case: &Case, output: &Path, how: How) -> std::io::Result<Finished> {
    let home = tempfile::tempdir()?;
    let (program, first) = program_of(&case.description)?;
    let input = case.directory.join(INPUT_DIRECTORY);
    let mut command = Command::new(program);
    command.args(first).args(words(case, &input.display().to_string(), &output.display().to_string(), how));
    if how.environment == Environment::Scrubbed {
        command.env_clear().envs(scrubbed(home.path(), &case.description.env));
    }
    Ok(program::run(command, output, how.timeout))
}

/// The contract's command with its flags.
fn words(case: &Case, input: &str, output: &str, how: How) -> Vec<String> {
    let mut words: Vec<String> =
        ["apply-configuration", "--input-dir", input, "--output-dir", output].map(String::from).into();
    if let Some(now) = &case.description.now {
        words.extend(["--now".to_string(), now.clone()]);
    }
    if !case.description.controllers.is_empty() {
        words.extend(["--controllers".to_string(), case.description.controllers.join(",")]);
    }
    if !case.description.operator.is_empty() {
        words.extend(["--name-key", how.name_key.word()].map(String::from));
    }
    words
}

/// What a case expects; nothing when it has no expected output.
pub fn expected(case: &Case) -> Result<Directory, switchboard_gather::SourceError> {
    if case.expects { read_directory(&case.directory.join(EXPECTED_OUTPUT)) } else { Ok(Directory::default()) }
}

/// Takes away a directory of mutations and the index beside it.
pub fn remove(output: &Path) -> std::io::Result<()> {
    let absent = |error: std::io::Error| if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) };
    fs::remove_file(index_path(output)).or_else(absent)?;
    fs::remove_dir_all(output).or_else(absent)
}

/// The end of a log.
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

/// The program itself, and its first words: a native operator is this one.
fn program_of(description: &Description) -> std::io::Result<(PathBuf, Vec<String>)> {
    if description.operator.is_empty() {
        return Ok((PathBuf::from(&description.binary_name), Vec::new()));
    }
    Ok((std::env::current_exe()?, vec!["operator".to_string(), description.operator.clone()]))
}

fn scrubbed(home: &Path, own: &BTreeMap<String, String>) -> BTreeMap<String, std::ffi::OsString> {
    let mut variables = BTreeMap::from([("HOME".to_string(), home.into()), ("TMPDIR".to_string(), home.into())]);
    if let Some(path) = std::env::var_os("PATH") {
        variables.insert("PATH".to_string(), path);
    }
    variables.extend(own.iter().map(|(name, value)| (name.clone(), value.into())));
    variables
}
