//! Differences and their text for users.

use std::fmt;

use super::canonical::CanonicalMutation;
use crate::cases::line_diff::diff;

/// Indentation of the lines below a headline.
const INDENT: &str = "    ";

/// A difference between expected and actual output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A file cannot be read or does not belong in the directory.
    Unreadable {
        /// Path of the file.
        file: String,
        /// Problem.
        message: String,
    },
    /// The controller results differ.
    Results {
        /// Line diff.
        lines: Vec<String>,
    },
    /// An expected mutation is missing.
    Missing {
        /// Name of the mutation.
        mutation: String,
        /// Expected body.
        body: String,
    },
    /// A mutation is not expected.
    Unexpected {
        /// Name of the mutation.
        mutation: String,
        /// Actual body.
        body: String,
    },
    /// A mutation is not declared by the operator.
    Undeclared {
        /// Name of the mutation.
        mutation: String,
    },
    /// A mutation has another body or other options than expected.
    Changed {
        /// Name of the mutation.
        mutation: String,
        /// Line diff of the body.
        body: Vec<String>,
        /// Line diff of the options.
        options: Vec<String>,
    },
}

impl Difference {
    pub(super) fn changed(expected: &CanonicalMutation, actual: &CanonicalMutation) -> Self {
        let mut body = diff(&expected.body, &actual.body);
        if expected.differs_in_redacted(actual) {
            body.push("the bytes differ in redacted values or in formatting".to_string());
        }
        Self::Changed { mutation: expected.name(), body, options: diff(&expected.options, &actual.options) }
    }

    pub(super) fn results(expected: &str, actual: &str) -> Self {
        let lines = diff(expected, actual);
        // If the sorted results are equal, only the order differs.
        let lines = if lines.is_empty() { vec!["the order differs".to_string()] } else { lines };
        Self::Results { lines }
    }
}

/// A headline, and the details below it. `-` marks expected lines, `+` actual ones.
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
