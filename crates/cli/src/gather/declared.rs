//! What an operator declares: from a file, or from the operator itself.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use switchboard_gather::contract::{InputResources, OutputResources, Rules};

use super::warn;
use crate::failure::Failure;

/// How long an operator may take to say what it reads.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often is looked whether it has.
const GLANCE: Duration = Duration::from_millis(10);
/// The longest declaration that is read.
const MAX_DECLARATION_BYTES: u64 = 16 << 20;

/// Where the declared inputs come from.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct Inputs {
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
        "could not run `{0} {1}`\nhint: --operator takes a command that knows `{1}`, or the name of an operator this binary hosts"
    )]
    Run(String, &'static str, #[source] io::Error),
    #[error("could not learn what `{0}` declares: `{1}` was not done within {PATIENCE:?}")]
    Slow(String, &'static str),
    #[error("could not learn what `{0}` declares: `{1}` ended with {2}\n  {3}")]
    Failed(String, &'static str, ExitStatus, String),
    #[error("could not use the declared inputs\n  {}\nhint: docs/GATHER.md says what `input-resources` prints", .0.join("\n  "))]
    Invalid(Vec<String>),
}

impl Inputs {
    /// The declared inputs, checked.
    pub fn read(&self, rules: Rules) -> Result<InputResources, Failure> {
        let text = match (&self.operator, &self.input_resources) {
            (_, Some(file)) => read(file)?,
            (Some(operator), _) => ask(operator, "input-resources")?,
            (None, None) => String::new(),
        };
        let inputs = InputResources::read(&text)?;
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

fn ask(operator: &str, word: &'static str) -> Result<String, DeclaredError> {
    let mut command = if crate::operators::operator(operator).is_some() {
        let own = std::env::current_exe().map_err(|error| DeclaredError::Run(operator.into(), word, error))?;
        let mut command = Command::new(own);
        command.args(["operator", operator]);
        command
    } else {
        Command::new(operator)
    };
    command.arg(word).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| DeclaredError::Run(operator.into(), word, error))?;
    let (out, err) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let status = wait(&mut child).map_err(|error| DeclaredError::Run(operator.into(), word, error))?;
    let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
    match status {
        None => Err(DeclaredError::Slow(operator.into(), word)),
        Some(status) if !status.success() => {
            Err(DeclaredError::Failed(operator.into(), word, status, err.trim_end().replace('\n', "\n  ")))
        }
        Some(_) => Ok(out),
    }
}

/// Both are read while it runs, so that it never waits for us.
fn drain(from: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(from) = from {
            let _ = from.take(MAX_DECLARATION_BYTES).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(GLANCE);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}
