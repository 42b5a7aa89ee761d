//! What the command says beside its data, on stderr.

use std::fmt::Display;
use std::io::Write;

/// Says a line. Is nobody there to hear it, or no room for it, the work goes on: `eprintln!` would panic.
pub fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
