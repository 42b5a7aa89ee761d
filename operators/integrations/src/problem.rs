//! What is wrong with the data: which file, which line, which field.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// Something in a datafile that keeps a part of it from being used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The datafile, as others refer to it: `/integrations/aws-ami-share.yml`.
    pub file: Arc<str>,
    /// The line, counted from one, where the source has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The field: `managed[0].sharding.strategy`; empty for the file itself.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// What helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// Of a file as a whole.
    pub fn of_file(file: &str, message: impl fmt::Display) -> Self {
        Self { file: Arc::from(file), line: None, field: String::new(), message: message.to_string(), hint: None }
    }

    /// At a line.
    #[must_use]
    pub fn at_line(mut self, line: Option<usize>) -> Self {
        self.line = line;
        self
    }

    /// With what helps.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }
}

/// `/integrations/a.yml:12: managed[0].sharding.strategy: there is no strategy "per-moon"`.
impl fmt::Display for Problem {
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
