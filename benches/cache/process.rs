//! Runs this program as a separate process, and reads memory figures of the Linux kernel.

use std::process::{Command, Stdio};

pub use switchboard_suite::BoxError;

pub const MIB: f64 = (1 << 20) as f64;

/// Runs this program with other arguments, and returns the printed numbers.
pub fn numbers(arguments: &[&str]) -> Result<Vec<u64>, BoxError> {
    let mut child = Command::new(std::env::current_exe()?);
    let output = child.args(arguments).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("measuring {} failed: {}", arguments.join(" "), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

/// Returns the resident set size in bytes.
pub fn resident() -> Result<u64, BoxError> {
    status("VmRSS:")
}

/// Returns the peak resident set size since the last [`reset_peak`].
pub fn peak() -> Result<u64, BoxError> {
    status("VmHWM:")
}

pub fn reset_peak() -> Result<(), BoxError> {
    // proc(5): 5 resets the peak resident set size to the current one.
    Ok(std::fs::write("/proc/self/clear_refs", "5")?)
}

fn status(field: &str) -> Result<u64, BoxError> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)).ok_or("no such field")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? << 10)
}
