//! One thing that is not as it should be, for people.

use std::fmt;

use super::canonical::Canonical;
use crate::cases::lines::diff;

/// How far lines below a headline are indented.
const INDENT: &str = "    ";

/// One thing that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A file cannot be read, or has no place here.
    Unreadable {
        /// Which file.
        file: String,
        /// What is wrong with it.
        message: String,
    },
    /// The controllers did otherwise.
    Results {
        /// What differs, line by line.
        lines: Vec<String>,
    },
    /// It was expected and is not there.
    Missing {
        /// Who should do what to which object.
        mutation: String,
        /// What was expected to be written.
        body: String,
    },
    /// It is there and was not expected.
    Unexpected {
        /// Who does what to which object.
        mutation: String,
        /// What is written.
        body: String,
    },
    /// It is written although the operator does not declare it.
    Undeclared {
        /// Who does what to which object.
        mutation: String,
    },
    /// It writes something else, or with other options.
    Changed {
        /// Who does what to which object.
        mutation: String,
        /// What differs in the body, line by line.
        body: Vec<String>,
        /// What differs in the options.
        options: Vec<String>,
    },
}

impl Difference {
    pub(super) fn changed(expected: &Canonical, actual: &Canonical) -> Self {
        let mut body = diff(&expected.body, &actual.body);
        if expected.differs_hidden(actual) {
            body.push("the bytes differ where values are hidden, or in their form".to_string());
        }
        Self::Changed { mutation: expected.name(), body, options: diff(&expected.options, &actual.options) }
    }

    pub(super) fn results(expected: &str, actual: &str) -> Self {
        let lines = diff(expected, actual);
        // Sorted they may say the same: then it is the order that differs.
        let told = if lines.is_empty() { vec!["the order differs".to_string()] } else { lines };
        Self::Results { lines: told }
    }
}

/// A headline, and below it the lines that say more. `-` is expected, `+` is what came.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = |f: &mut fmt::Formatter<'_>, lines: &mut dyn Iterator<Item = String>| {
            for line in lines {
                write!(f, "\n{INDENT}{line}")?;
            }
            Ok(())
        };
        match self {
            Self::Unreadable { file, message } => write!(f, "{file}: {message}"),
            Self::Results { lines } => {
                f.write_str("controller-results.yaml differs")?;
                below(f, &mut lines.iter().cloned())
            }
            Self::Missing { mutation, body } => {
                write!(f, "missing: {mutation}")?;
                below(f, &mut body.lines().map(|line| format!("-{line}")))
            }
            Self::Unexpected { mutation, body } => {
                write!(f, "unexpected: {mutation}")?;
                below(f, &mut body.lines().map(|line| format!("+{line}")))
            }
            Self::Undeclared { mutation } => write!(f, "not declared by output-resources: {mutation}"),
            Self::Changed { mutation, body, options } => {
                write!(f, "differs: {mutation}")?;
                below(f, &mut body.iter().cloned())?;
                if !options.is_empty() {
                    write!(f, "\n{INDENT}options:")?;
                }
                below(f, &mut options.iter().cloned())
            }
        }
    }
}
