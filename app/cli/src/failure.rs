//! Error output of the command.

use std::error::Error;
use std::process::ExitCode;

pub use switchboard_runtime::failure::{CommandError, message};
use switchboard_runtime::state_dir::StateDir;
use switchboard_runtime::stderr::print_stderr;

/// Prints the error with its causes and returns the exit code.
pub fn report(error: &(dyn Error + 'static)) -> ExitCode {
    report_for(error, &StateDir::default())
}

/// Prints the error as [`report`] does. Commands in it get the flag of the state directory.
pub fn report_for(error: &(dyn Error + 'static), state: &StateDir) -> ExitCode {
    print_stderr(state.complete(&message(error)));
    ExitCode::FAILURE
}
