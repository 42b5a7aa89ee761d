//! The `switchboard` binary: the command line with the built-in operators.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchboard_cli::main(Vec::new())
}
