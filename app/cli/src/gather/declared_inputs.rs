//! Declared inputs of an operator, from a file or from the operator itself.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use switchboard_gather::contract::{ContractRules, InputResources, OutputResources};
use switchboard_hosted::native::input_resources;
use switchboard_sandbox::{JobOutcome, ProgramEnd, Sandbox, SandboxError, SandboxJob, SandboxLimits};

use super::warn;
use crate::failure::CommandError;
use crate::own_operators::families;

/// Command that prints the declared inputs of an operator.
const WORD: &str = "input-resources";
/// Timeout for that command.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum size of a declaration.
const MAX_DECLARATION_MIB: usize = 16;

/// Flags for the source of the declared inputs.
#[derive(Args)]
pub struct InputsArgs {
    #[command(flatten)]
    said_by: DeclarationSource,
    /// Run the operator without a sandbox, with network access and the permissions of this user
    #[arg(long, requires = "operator")]
    no_sandbox: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct DeclarationSource {
    /// Operator: a command with `input-resources`, or the name of an operator in this binary
    #[arg(long, value_name = "COMMAND|NAME")]
    operator: Option<String>,
    /// File with the output of `input-resources`
    #[arg(long, value_name = "FILE")]
    input_resources: Option<PathBuf>,
}

/// Reason why the declared inputs are unknown.
#[derive(Debug, thiserror::Error)]
enum DeclaredError {
    #[error("could not read `{}`", .0.display())]
    File(PathBuf, #[source] io::Error),
    #[error(
        "could not find the program `{0}`\nhint: pass a command that supports `{WORD}`, or the name of an operator in this binary, with --operator"
    )]
    NoProgram(String),
    #[error("could not run `{0} {WORD}`\nhint: pass a command that supports `{WORD}` with --operator")]
    Start(String, #[source] SandboxError),
    #[error(
        "could not run `{0}` in a sandbox to read its declarations\nhint: see docs/reference/hosting.md for the requirements of a sandbox; --no-sandbox runs it without a sandbox, with the permissions of this user"
    )]
    NoSandbox(String, #[source] SandboxError),
    #[error("could not read the declarations of `{0}`: `{WORD}` did not finish within {PATIENCE:?}")]
    Slow(String),
    #[error("could not read the declarations of `{0}`: `{WORD}` printed more than {MAX_DECLARATION_MIB} MiB")]
    Long(String),
    #[error("could not read the declarations of `{0}`: `{WORD}` {1}{2}")]
    Failed(String, ProgramEnd, String),
    #[error("could not use the declared inputs\n  {}\nhint: see docs/reference/gather.md for the output of `input-resources`", .0.join("\n  "))]
    Invalid(Vec<String>),
}

impl InputsArgs {
    /// Reads and validates the declared inputs.
    pub fn read(&self, rules: ContractRules) -> Result<InputResources, CommandError> {
        let inputs = match (&self.said_by.operator, &self.said_by.input_resources) {
            (_, Some(file)) => InputResources::read(&read(file)?)?,
            (Some(operator), _) => match families().operator(operator) {
                Some(own) => input_resources(&own.declaration()),
                None => InputResources::read(&run_operator(operator, self.no_sandbox)?)?,
            },
            (None, None) => InputResources::default(),
        };
        let wrong: Vec<String> = inputs.validate(rules).iter().map(ToString::to_string).collect();
        match rules {
            ContractRules::Native if !wrong.is_empty() => Err(DeclaredError::Invalid(wrong).into()),
            _ => {
                // multi-operator-manager prunes by any output, valid or not.
                warn(wrong);
                Ok(inputs)
            }
        }
    }
}

/// Reads declared outputs from a file.
pub fn outputs(file: &Path) -> Result<OutputResources, CommandError> {
    Ok(OutputResources::read(&read(file)?)?)
}

fn read(file: &Path) -> Result<String, DeclaredError> {
    fs::read_to_string(file).map_err(|error| DeclaredError::File(file.into(), error))
}

/// Runs a program for its declared inputs like a hosted program: without network, with a minimal environment and
/// without leftovers.
fn run_operator(operator: &str, unconfined: bool) -> Result<String, CommandError> {
    let found = switchboard_hosted::resolve_program(Path::new(operator));
    let program = found.ok_or_else(|| DeclaredError::NoProgram(operator.into()))?;
    let limits = switchboard_hosted::default_limits(PATIENCE);
    let limits = SandboxLimits { stdout_bytes: MAX_DECLARATION_MIB << 20, ..limits };
    let mut job = SandboxJob::new(program, limits).args([WORD]);
    job.unconfined = unconfined;
    let work = tempfile::tempdir()?;
    let ran = Sandbox::new(&work.path().join("sandbox")).and_then(|sandbox| sandbox.run(&job));
    let JobOutcome { end, stdout, stdout_truncated: stdout_cut, stderr, .. } = ran.map_err(|error| match error {
        error @ SandboxError::NoProgram { .. } => DeclaredError::Start(operator.into(), error),
        error => DeclaredError::NoSandbox(operator.into(), error),
    })?;
    match end {
        ProgramEnd::Deadline => Err(DeclaredError::Slow(operator.into()).into()),
        end if !end.is_success() => {
            let stderr_text = String::from_utf8_lossy(&stderr);
            let below = stderr_text.trim_end().lines().map(|line| format!("\n  {line}")).collect();
            Err(DeclaredError::Failed(operator.into(), end, below).into())
        }
        _ if stdout_cut => Err(DeclaredError::Long(operator.into()).into()),
        _ => Ok(String::from_utf8_lossy(&stdout).into_owned()),
    }
}
