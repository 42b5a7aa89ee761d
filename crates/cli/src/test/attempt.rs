//! One run of one case.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use switchboard_gather::cases::{Case, Description, EXPECTED_OUTPUT, INPUT_DIRECTORY};
use switchboard_gather::mutation::{Directory, index_path, read_directory};

use super::program::{self, Finished};

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
pub fn attempt(case: &Case, output: &Path, environment: Environment, timeout: Duration) -> std::io::Result<Attempt> {
    fs::create_dir_all(output)?;
    let home = tempfile::tempdir()?;
    let mut command = command(&case.description)?;
    command.arg("apply-configuration");
    command.arg("--input-dir").arg(case.directory.join(INPUT_DIRECTORY)).arg("--output-dir").arg(output);
    if let Some(now) = &case.description.now {
        command.args(["--now", now]);
    }
    if !case.description.controllers.is_empty() {
        command.args(["--controllers", &case.description.controllers.join(",")]);
    }
    if environment == Environment::Scrubbed {
        command.env_clear().envs(scrubbed(home.path(), &case.description.env));
    }
    let finished = program::run(command, output, timeout);
    let (output, unreadable) = match read_directory(output) {
        Ok(directory) => (directory, None),
        Err(error) => (Directory::default(), Some(error.to_string())),
    };
    Ok(Attempt { finished, output, unreadable })
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

/// The program itself: a native operator is this one.
fn command(description: &Description) -> std::io::Result<Command> {
    if description.operator.is_empty() {
        return Ok(Command::new(&description.binary_name));
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["operator", &description.operator]);
    Ok(command)
}

fn scrubbed(home: &Path, own: &BTreeMap<String, String>) -> BTreeMap<String, std::ffi::OsString> {
    let mut variables = BTreeMap::from([("HOME".to_string(), home.into()), ("TMPDIR".to_string(), home.into())]);
    if let Some(path) = std::env::var_os("PATH") {
        variables.insert("PATH".to_string(), path);
    }
    variables.extend(own.iter().map(|(name, value)| (name.clone(), value.into())));
    variables
}
