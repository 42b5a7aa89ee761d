//! `--watch`: looks again and again, and prints what has changed.

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{self, Failure};
use crate::form;
use crate::talk::say;

/// Moves to the beginning of a terminal and takes away what stands there.
const CLEAR: &str = "\x1b[H\x1b[2J";
/// The longest pause between two looks: an hour.
const MAX_INTERVAL: u64 = 60 * 60;

/// Whether to look once or again and again.
#[derive(Args, Clone, Copy)]
pub struct Watch {
    /// Look again and again, and print what has changed, until a signal comes
    #[arg(short, long)]
    watch: bool,
    /// How often --watch looks
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=MAX_INTERVAL))]
    interval: u64,
}

impl Watch {
    /// Prints what a look brings; with `--watch` each time something else comes of it.
    pub async fn show<F: Future<Output = Result<String, Failure>>>(self, look: impl Fn() -> F) -> Result<(), Failure> {
        let mut shown = look().await?;
        form::write(&shown)?;
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
                () = tokio::time::sleep(Duration::from_secs(self.interval)) => {}
            }
            match look().await {
                Ok(text) => {
                    if silent || !same(&shown, &text) {
                        form::write(&format!("{}{text}", if terminal { CLEAR } else { "\n" }))?;
                    }
                    (shown, silent) = (text, false);
                }
                // Who watches wants to see it come back; once is enough to know that it is away.
                Err(error) if !silent => {
                    say(failure::tell(&*error));
                    silent = true;
                }
                Err(_) => {}
            }
        }
    }
}

/// Whether two looks bring the same. Their moment is no difference.
fn same(one: &str, other: &str) -> bool {
    let moment = |line: &&str| !line.trim_start().starts_with("\"now\":") && !line.starts_with("now:");
    one.lines().filter(moment).eq(other.lines().filter(moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_of_a_look_is_no_difference() {
        assert!(same("{\n  \"now\": 1,\n  \"a\": 1\n}", "{\n  \"now\": 2,\n  \"a\": 1\n}"));
        assert!(same("now: 1\na: 1\n", "now: 2\na: 1\n"));
        assert!(!same("now: 1\na: 1\n", "now: 1\na: 2\n"));
    }
}
