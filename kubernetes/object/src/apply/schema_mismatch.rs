//! Mismatches between a value and its type, in the words of structured-merge-diff.

use std::fmt;

/// All mismatches of a value.
#[derive(Debug, Default)]
pub(crate) struct SchemaMismatches(pub(crate) Vec<SchemaMismatch>);

/// Mismatch at one path.
#[derive(Debug)]
pub(crate) struct SchemaMismatch {
    path: String,
    message: String,
}

impl SchemaMismatches {
    pub(crate) fn add(&mut self, message: impl Into<String>) {
        self.0.push(SchemaMismatch { path: String::new(), message: message.into() });
    }

    /// Adds mismatches that were found one level below.
    pub(crate) fn add_below(&mut self, prefix: impl FnOnce() -> String, below: SchemaMismatches) {
        if below.0.is_empty() {
            return;
        }
        let prefix = prefix();
        self.0.extend(below.0.into_iter().map(|p| SchemaMismatch { path: format!("{prefix}{}", p.path), ..p }));
    }

    pub(crate) fn into_result(self) -> Result<(), SchemaMismatches> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl From<String> for SchemaMismatches {
    fn from(message: String) -> Self {
        Self(vec![SchemaMismatch { path: String::new(), message }])
    }
}

impl fmt::Display for SchemaMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

impl fmt::Display for SchemaMismatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => one.fmt(f),
            many => {
                f.write_str("errors:")?;
                many.iter().try_for_each(|p| write!(f, "\n  {p}"))
            }
        }
    }
}
