//! Messages on stderr.

use std::fmt::Display;
use std::io::Write;

/// Prints a line to stderr. If stderr is closed or full, the work continues: `eprintln!` would panic.
pub fn print_stderr(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
