//! How long work shows that it goes on: one line that is written over on a terminal, now and then a line elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line on a terminal is renewed.
const TERMINAL_STEP: Duration = Duration::from_millis(100);
/// How often a line is written elsewhere.
const PLAIN_STEP: Duration = Duration::from_secs(5);

/// A line of progress on stderr.
pub struct ProgressLine {
    terminal: bool,
    last: Instant,
    shown: bool,
}

impl ProgressLine {
    /// Begins without showing anything: short work needs no line.
    pub fn begin() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), last: Instant::now(), shown: false }
    }

    /// Shows the text when it is time for it.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        let step = if self.terminal { TERMINAL_STEP } else { PLAIN_STEP };
        if self.last.elapsed() < step {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        let mut out = std::io::stderr().lock();
        let _ = if self.terminal { write!(out, "\r\x1b[K{}", text()) } else { writeln!(out, "{}", text()) };
        let _ = out.flush();
    }

    /// Takes the line away.
    pub fn end(self) {
        if self.terminal && self.shown {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}
