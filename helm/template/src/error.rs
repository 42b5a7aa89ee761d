//! Errors with the texts that Go prints.

/// Error of parsing or executing a template. The text is Go's and contains the template, line and column.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Error that a function or method returned. An execution prefixes it with `error calling NAME: `.
    #[error("{0}")]
    Call(String),
    /// Parse error.
    #[error("{}", .0.text)]
    Parse(Box<ErrorDetails>),
    /// Execution error.
    #[error("{}", .0.text)]
    Execute(Box<ErrorDetails>),
}

/// Position of an error in a template, and the whole error text.
#[derive(Debug, Default)]
pub struct ErrorDetails {
    /// Error text as Go prints it.
    pub text: String,
    /// Name of the parsed text; for charts, the file.
    pub file: String,
    /// Template that was running: a `define` of that file, or the file itself.
    pub template: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in bytes, counted from 0 as in Go. Parse errors have none.
    pub column: Option<usize>,
    /// Failed part of the template, as Go prints it between `<` and `>`.
    pub node: String,
    /// Problem without its position.
    pub problem: String,
    /// Innermost error, if a called function executed other templates.
    pub cause: Option<Error>,
}

impl Error {
    /// Creates an error of a function or a method.
    pub fn call(text: impl Into<String>) -> Error {
        Error::Call(text.into())
    }

    /// Returns the position. Errors of functions get one from the execution that called them.
    pub fn details(&self) -> Option<&ErrorDetails> {
        match self {
            Error::Call(_) => None,
            Error::Parse(details) | Error::Execute(details) => Some(details),
        }
    }

    /// Returns the innermost position, for an error that passed through `include`.
    pub fn innermost(&self) -> Option<&ErrorDetails> {
        let details = self.details()?;
        details.cause.as_ref().and_then(Error::details).or(Some(details))
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
