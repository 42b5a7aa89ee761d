//! Inputs and outputs that a program declares with `input-resources` and `output-resources`.

use serde_json::json;
use switchboard_gather::contract::{ContractRules, InputResources, OutputResources};
use switchboard_kernel::redact::Redactor;
use switchboard_object::causes::error_chain;
use switchboard_sandbox::{JobOutcome, Sandbox};

use crate::hosted_operator::{HostingError, ProgramSpec};

/// Maximum length of program output in an error message.
const SHOWN_BYTES: usize = 500;

/// Declared inputs and outputs of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contract {
    /// Resources that the program reads.
    pub inputs: InputResources,
    /// Resources that the program may write.
    pub outputs: OutputResources,
}

impl Contract {
    /// Runs both commands in the sandbox.
    ///
    /// # Errors
    /// If a command fails, or its output is invalid.
    pub(crate) fn query(program: &ProgramSpec, sandbox: &Sandbox) -> Result<Self, HostingError> {
        let inputs = command_output(program, sandbox, "input-resources")?;
        let inputs =
            InputResources::read(&inputs).map_err(|error| invalid_output(program, "input-resources", &error))?;
        let wrong = inputs.validate(ContractRules::Native);
        if let Some(first) = wrong.first() {
            return Err(HostingError::InvalidContract {
                program: program.program.clone(),
                command: "input-resources",
                why: first.to_string(),
            });
        }
        let outputs = command_output(program, sandbox, "output-resources")?;
        let outputs =
            OutputResources::read(&outputs).map_err(|error| invalid_output(program, "output-resources", &error))?;
        Ok(Self { inputs, outputs })
    }
}

fn command_output(program: &ProgramSpec, sandbox: &Sandbox, command: &'static str) -> Result<String, HostingError> {
    let finished = sandbox.run(&program.job(command)).map_err(|source| HostingError::Run { command, source })?;
    if !finished.end.is_success() || finished.stdout_truncated {
        let why = redacted(program, &format!("{command} {}{}", finished.end, stderr_tail(&finished)));
        return Err(HostingError::NoContract { program: program.program.clone(), why });
    }
    // A program with nothing to declare prints `{}`. A program that prints nothing does not implement the commands.
    if finished.stdout.trim_ascii().is_empty() {
        let why = format!("{command} prints nothing");
        return Err(HostingError::NoContract { program: program.program.clone(), why });
    }
    Ok(String::from_utf8_lossy(&finished.stdout).into_owned())
}

fn invalid_output(program: &ProgramSpec, command: &'static str, error: &dyn std::error::Error) -> HostingError {
    HostingError::InvalidContract { program: program.program.clone(), command, why: error_chain(error) }
}

/// Returns the end of stderr on one line: `: panic: boom`.
pub(crate) fn stderr_tail(finished: &JobOutcome) -> String {
    let text = String::from_utf8_lossy(&finished.stderr);
    let text = text.trim();
    let from = text.len().saturating_sub(SHOWN_BYTES);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let text: Vec<&str> = text[from..].lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if text.is_empty() { String::new() } else { format!(": {}", text.join(" / ")) }
}

/// Parts of the names of variables whose values are secret.
const SECRET_NAME_PARTS: [&str; 6] = ["PASS", "SECRET", "TOKEN", "KEY", "CREDENTIAL", "AUTH"];

/// Redacts the values of secret variables in a program's output.
pub(crate) fn redacted(program: &ProgramSpec, said: &str) -> String {
    let mut secrets = Redactor::default();
    let named = |name: &str| SECRET_NAME_PARTS.iter().any(|word| name.to_ascii_uppercase().contains(word));
    for (name, value) in program.env.iter().filter(|(name, _)| named(name)) {
        secrets.add_of_kind("Secret", &json!({"stringData": {name: value}}));
    }
    secrets.redact(said)
}
