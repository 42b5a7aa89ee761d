//! What an operator declares: from a file, or from the operator itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use switchboard_gather::contract::{InputResources, OutputResources, Rules};
use switchboard_hosted::native::input_resources;
use switchboard_sandbox::{Bounds, End, Finished, Job, Sandbox, SandboxError};

use super::warn;
use crate::failure::Failure;

/// The command an operator is asked with.
const WORD: &str = "input-resources";
/// How long it may take to say what it reads.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest declaration that is read.
const MAX_DECLARATION_MIB: usize = 16;

/// Where the declared inputs come from.
#[derive(Args)]
pub struct Inputs {
    #[command(flatten)]
    said_by: SaidBy,
    /// Ask the operator as it is, with a network and all that this user may
    #[arg(long, requires = "operator")]
    no_sandbox: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct SaidBy {
    /// The operator: a command with `input-resources`, or the name of one this binary hosts
    #[arg(long, value_name = "COMMAND|NAME")]
    operator: Option<String>,
    /// A file with what `input-resources` prints
    #[arg(long, value_name = "FILE")]
    input_resources: Option<PathBuf>,
}

/// Why declarations are not known.
#[derive(Debug, thiserror::Error)]
enum DeclaredError {
    #[error("could not read `{}`", .0.display())]
    File(PathBuf, #[source] io::Error),
    #[error(
        "there is no program `{0}`\nhint: --operator takes a command that knows `{WORD}`, or the name of an operator this binary hosts"
    )]
    NoProgram(String),
    #[error("could not run `{0} {WORD}`\nhint: --operator takes a command that knows `{WORD}`")]
    Start(String, #[source] SandboxError),
    #[error(
        "could not ask `{0}` in a sandbox what it declares\nhint: docs/HOSTING.md says what a sandbox needs; --no-sandbox asks without one, with all that this user may"
    )]
    NoSandbox(String, #[source] SandboxError),
    #[error("could not learn what `{0}` declares: `{WORD}` was not done within {PATIENCE:?}")]
    Slow(String),
    #[error("could not learn what `{0}` declares: `{WORD}` printed more than {MAX_DECLARATION_MIB} MiB")]
    Long(String),
    #[error("could not learn what `{0}` declares: `{WORD}` {1}{2}")]
    Failed(String, End, String),
    #[error("could not use the declared inputs\n  {}\nhint: docs/GATHER.md says what `input-resources` prints", .0.join("\n  "))]
    Invalid(Vec<String>),
}

impl Inputs {
    /// The declared inputs, checked.
    pub fn read(&self, rules: Rules) -> Result<InputResources, Failure> {
        let inputs = match (&self.said_by.operator, &self.said_by.input_resources) {
            (_, Some(file)) => InputResources::read(&read(file)?)?,
            (Some(operator), _) => match crate::operators::operator(operator) {
                Some(own) => input_resources(&own.declaration()),
                None => InputResources::read(&ask(operator, self.no_sandbox)?)?,
            },
            (None, None) => InputResources::default(),
        };
        let wrong: Vec<String> = inputs.validate(rules).iter().map(ToString::to_string).collect();
        match rules {
            Rules::Native if !wrong.is_empty() => Err(DeclaredError::Invalid(wrong).into()),
            _ => {
                // The original prunes by whatever was printed.
                warn(wrong);
                Ok(inputs)
            }
        }
    }
}

/// The declared outputs of a file.
pub fn outputs(file: &Path) -> Result<OutputResources, Failure> {
    Ok(OutputResources::read(&read(file)?)?)
}

fn read(file: &Path) -> Result<String, DeclaredError> {
    fs::read_to_string(file).map_err(|error| DeclaredError::File(file.into(), error))
}

/// Asks a program, as hosting does: it has no network, an environment of its own, and nothing of it is left behind.
fn ask(operator: &str, unconfined: bool) -> Result<String, Failure> {
    let found = switchboard_hosted::found(Path::new(operator));
    let program = found.ok_or_else(|| DeclaredError::NoProgram(operator.into()))?;
    let mut job = Job::new(program).args([WORD]);
    job.bounds = Bounds { wall: PATIENCE, stdout_bytes: MAX_DECLARATION_MIB << 20, ..Bounds::default() };
    job.unconfined = unconfined;
    let work = tempfile::tempdir()?;
    let ran = Sandbox::new(&work.path().join("sandbox")).and_then(|sandbox| sandbox.run(&job));
    let Finished { end, stdout, stdout_cut, stderr, .. } = ran.map_err(|error| match error {
        error @ SandboxError::NoProgram { .. } => DeclaredError::Start(operator.into(), error),
        error => DeclaredError::NoSandbox(operator.into(), error),
    })?;
    match end {
        End::Deadline => Err(DeclaredError::Slow(operator.into()).into()),
        end if !end.is_success() => {
            let said = String::from_utf8_lossy(&stderr);
            let below = said.trim_end().lines().map(|line| format!("\n  {line}")).collect();
            Err(DeclaredError::Failed(operator.into(), end, below).into())
        }
        _ if stdout_cut => Err(DeclaredError::Long(operator.into()).into()),
        _ => Ok(String::from_utf8_lossy(&stdout).into_owned()),
    }
}
