//! Problems in the data, with file, line and field.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// Problem that prevents the use of a part of the data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DataProblem {
    /// Path of the datafile: `/integrations/aws-ami-share.yml`.
    pub file: Arc<str>,
    /// Line, counted from one, if the source has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Field: `managed[0].sharding.strategy`; empty for the file itself.
    pub field: String,
    /// Message.
    pub message: String,
    /// Hint for a solution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl DataProblem {
    /// Creates a problem with a file as a whole.
    pub fn of_file(file: &str, message: impl fmt::Display) -> Self {
        Self { file: Arc::from(file), line: None, field: String::new(), message: message.to_string(), hint: None }
    }

    /// Sets the line.
    #[must_use]
    pub fn at_line(mut self, line: Option<usize>) -> Self {
        self.line = line;
        self
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }
}

/// Formats as `/integrations/a.yml:12: managed[0].sharding.strategy: there is no strategy "per-moon"`.
impl fmt::Display for DataProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        write!(f, ": {}", self.message)
    }
}
