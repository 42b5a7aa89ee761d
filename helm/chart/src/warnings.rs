//! Warnings that Helm prints on stderr. The library collects them and the command prints them.

/// Maximum number of different lines.
const MAX_LINES: usize = 1_000;

/// Collected warnings without duplicates.
#[derive(Debug, Default)]
pub struct ChartWarnings {
    lines: Vec<String>,
}

impl ChartWarnings {
    /// Adds a line unless it is already there.
    pub fn add(&mut self, line: String) {
        if self.lines.len() < MAX_LINES && !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// Returns all lines in the order in which they were first added.
    pub fn into_lines(self) -> Vec<String> {
        self.lines
    }
}
