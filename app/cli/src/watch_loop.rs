//! `--watch`: repeats a report and prints it when it changes.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use switchboard_runtime::stderr::print_stderr;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{self, CommandError};
use crate::{flag_duration, output_format};

/// Control sequence that clears a terminal.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Flags of commands that can watch.
#[derive(Args, Clone, Copy)]
pub struct WatchArgs {
    /// Watch for changes until interrupted
    #[arg(short, long)]
    watch: bool,
    /// Interval of --watch
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = flag_duration::parse)]
    interval: Duration,
}

impl WatchArgs {
    /// Prints a report; with `--watch`, again whenever it changes.
    pub async fn show<F: Future<Output = Result<String, CommandError>>>(
        self,
        look: impl Fn() -> F,
    ) -> Result<(), CommandError> {
        let mut shown = look().await?;
        output_format::write(&shown)?;
        if !self.watch {
            return Ok(());
        }
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let terminal = std::io::stdout().is_terminal();
        let mut silent = false;
        loop {
            tokio::select! {
                _ = interrupt.recv() => return Ok(()),
                _ = terminate.recv() => return Ok(()),
                () = tokio::time::sleep(self.interval) => {}
            }
            match look().await {
                Ok(text) => {
                    if silent || !is_unchanged(&shown, &text) {
                        output_format::write(&format!("{}{text}", if terminal { CLEAR } else { "\n" }))?;
                    }
                    (shown, silent) = (text, false);
                }
                // A watch continues after an error, which is printed once.
                Err(error) if !silent => {
                    print_stderr(failure::message(&*error));
                    silent = true;
                }
                Err(_) => {}
            }
        }
    }
}

/// Whether two reports are equal, except for their time.
fn is_unchanged(one: &str, other: &str) -> bool {
    let moment = |line: &&str| !line.trim_start().starts_with("\"now\":") && !line.starts_with("now:");
    one.lines().filter(moment).eq(other.lines().filter(moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_not_compared() {
        assert!(is_unchanged("{\n  \"now\": 1,\n  \"a\": 1\n}", "{\n  \"now\": 2,\n  \"a\": 1\n}"));
        assert!(is_unchanged("now: 1\na: 1\n", "now: 2\na: 1\n"));
        assert!(!is_unchanged("now: 1\na: 1\n", "now: 1\na: 2\n"));
    }
}
