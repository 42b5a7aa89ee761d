//! What Helm says on stderr while it works. Kept, so that a library stays silent and a command says it.

/// How many different lines are kept.
const MAX_LINES: usize = 1_000;

/// Warnings, each once.
#[derive(Debug, Default)]
pub struct Talk {
    lines: Vec<String>,
}

impl Talk {
    /// Keeps a line, unless it was said before.
    pub fn say(&mut self, line: String) {
        if self.lines.len() < MAX_LINES && !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// All lines, in the order they were first said.
    pub fn into_lines(self) -> Vec<String> {
        self.lines
    }
}
