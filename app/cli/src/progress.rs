//! Progress of long work: one line on a terminal that is overwritten, a line from time to time elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Minimum interval between updates on a terminal.
const TERMINAL_STEP: Duration = Duration::from_millis(100);
/// Minimum interval between lines elsewhere.
const PLAIN_STEP: Duration = Duration::from_secs(5);

/// Width of a bar.
const WIDTH: usize = 30;

/// Line of progress on stderr.
pub struct ProgressLine {
    terminal: bool,
    last: Instant,
    shown: bool,
    state: String,
}

impl ProgressLine {
    /// Starts without output: short work needs no progress line.
    pub fn begin() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), last: Instant::now(), shown: false, state: String::new() }
    }

    /// Prints the text if the interval has passed.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        if self.is_due(Instant::now()) {
            self.print(text);
        }
    }

    /// Prints a state and the time since the start if the interval has passed. An unchanged state is printed again
    /// only on a terminal, where it overwrites the line.
    pub fn show_state(&mut self, state: &str, elapsed: Duration) {
        if self.is_state_due(state, Instant::now()) {
            self.print(|| format!("{state} ({} s)", elapsed.as_secs()));
        }
    }

    fn is_state_due(&mut self, state: &str, now: Instant) -> bool {
        let is_due = (self.terminal || self.state != state) && self.is_due(now);
        if is_due {
            self.state = state.to_string();
        }
        is_due
    }

    /// Whether the interval has passed. It starts again if so.
    fn is_due(&mut self, now: Instant) -> bool {
        let step = if self.terminal { TERMINAL_STEP } else { PLAIN_STEP };
        let is_due = now.duration_since(self.last) >= step;
        if is_due {
            self.last = now;
        }
        is_due
    }

    fn print(&mut self, text: impl FnOnce() -> String) {
        self.shown = true;
        let mut out = std::io::stderr().lock();
        let _ = if self.terminal { write!(out, "\r\x1b[K{}", text()) } else { writeln!(out, "{}", text()) };
        let _ = out.flush();
    }

    /// Prints a count: as a bar on a terminal, as text elsewhere.
    pub fn count(&mut self, what: &str, done: usize, all: usize) {
        let terminal = self.terminal;
        self.show(|| if terminal { format!("{what} {}", bar(done, all)) } else { format!("{what}: {done} of {all}") });
    }

    /// Clears the line.
    pub fn end(self) {
        if self.terminal && self.shown {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// Formats a bar such as `[##########----------] 4 of 8`.
pub fn bar(done: usize, all: usize) -> String {
    let full = (done * WIDTH).checked_div(all).unwrap_or(WIDTH).min(WIDTH);
    format!("[{}{}] {done} of {all}", "#".repeat(full), "-".repeat(WIDTH - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_state_is_printed_once() {
        let begin = Instant::now();
        let mut line = ProgressLine { terminal: false, last: begin, shown: false, state: String::new() };
        let mut printed = |state: &str, second: u64| line.is_state_due(state, begin + Duration::from_secs(second));
        assert!(!printed("refused", 1), "short work needs no line");
        assert_eq!([5, 10, 15].map(|second| printed("refused", second)), [true, false, false]);
        assert_eq!([20, 21, 25].map(|second| printed("pending", second)), [true, false, false]);
        assert!(printed("refused", 30));
        let mut line = ProgressLine { terminal: true, last: begin, shown: false, state: String::new() };
        let mut printed = |second: u64| line.is_state_due("refused", begin + Duration::from_secs(second));
        assert_eq!([5, 10].map(&mut printed), [true, true]);
    }

    #[test]
    fn bar_shows_progress() {
        assert_eq!(bar(0, 3), format!("[{}] 0 of 3", "-".repeat(30)));
        assert_eq!(bar(1, 3), format!("[{}{}] 1 of 3", "#".repeat(10), "-".repeat(20)));
        assert_eq!(bar(3, 3), format!("[{}] 3 of 3", "#".repeat(30)));
        // A total that was too small must not break the line.
        assert_eq!(bar(4, 3), format!("[{}] 4 of 3", "#".repeat(30)));
    }
}
