//! Messages on stderr.

use std::fmt::Display;
use std::io::Write;

use crate::{log, program_name};

/// Prints a line to stderr, in the format of the log. If stderr is closed or full, the work continues: `eprintln!` would panic.
pub fn print_stderr(line: impl Display) {
    let line = log::message(program_name::name_commands(&line.to_string()).into_owned());
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
