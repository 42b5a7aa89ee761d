//! Errors with the texts Go prints.

/// Why a template could not be parsed or executed. The text is Go's, so it names template, line and column itself.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What a function or a method answers instead of a value; an execution puts `error calling NAME: ` before it.
    #[error("{0}")]
    Call(String),
    /// The text of a template is not one.
    #[error("{}", .0.text)]
    Parse(Box<Spot>),
    /// A template failed while it ran.
    #[error("{}", .0.text)]
    Execute(Box<Spot>),
}

/// Where a template failed, and the whole text of the error.
#[derive(Debug, Default)]
pub struct Spot {
    /// The error as Go prints it.
    pub text: String,
    /// The template as it was parsed: a file, for charts.
    pub file: String,
    /// The template that was running: a `define` of that file, or the file itself.
    pub template: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes as Go counts it, from 0; parse errors have none.
    pub column: Option<usize>,
    /// The part of the template that failed, as Go prints it between `<` and `>`.
    pub node: String,
    /// What was wrong there, without the place.
    pub problem: String,
    /// The error it began with, where a function that was called executed other templates: the innermost one.
    pub cause: Option<Error>,
}

impl Error {
    /// An error of a function or a method.
    pub fn call(text: impl Into<String>) -> Error {
        Error::Call(text.into())
    }

    /// Where it happened; errors of functions get their place from the execution that called them.
    pub fn spot(&self) -> Option<&Spot> {
        match self {
            Error::Call(_) => None,
            Error::Parse(spot) | Error::Execute(spot) => Some(spot),
        }
    }

    /// The place where it began: of an error that came up through `include`, the innermost one.
    pub fn innermost(&self) -> Option<&Spot> {
        let spot = self.spot()?;
        spot.cause.as_ref().and_then(Error::spot).or(Some(spot))
    }
}

impl From<String> for Error {
    fn from(text: String) -> Error {
        Error::Call(text)
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Error {
        Error::Call(text.to_string())
    }
}
