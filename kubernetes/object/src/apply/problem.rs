//! Why a value does not fit its type, in the words of structured-merge-diff.

use std::fmt;

/// Everything wrong with a value.
#[derive(Debug, Default)]
pub(crate) struct Problems(pub(crate) Vec<Problem>);

/// One thing wrong at one path.
#[derive(Debug)]
pub(crate) struct Problem {
    path: String,
    message: String,
}

impl Problems {
    pub(crate) fn add(&mut self, message: impl Into<String>) {
        self.0.push(Problem { path: String::new(), message: message.into() });
    }

    /// Adds what was found one level below.
    pub(crate) fn add_below(&mut self, prefix: impl FnOnce() -> String, below: Problems) {
        if below.0.is_empty() {
            return;
        }
        let prefix = prefix();
        self.0.extend(below.0.into_iter().map(|p| Problem { path: format!("{prefix}{}", p.path), ..p }));
    }

    pub(crate) fn into_result(self) -> Result<(), Problems> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl From<String> for Problems {
    fn from(message: String) -> Self {
        Self(vec![Problem { path: String::new(), message }])
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

impl fmt::Display for Problems {
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
