//! One question to a server, and how often it is asked.

use std::fmt;
use std::time::Duration;

use super::GraphqlError;
use super::answer::answered;

/// How often a question is asked before it has failed.
pub const ATTEMPTS: u32 = 5;
/// The wait after the first failure; it grows by itself with each further one.
pub const PAUSE: Duration = Duration::from_secs(1);
/// How much of an answer that is an error is repeated.
const MAX_TOLD: usize = 400;

/// What can come of one attempt.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nothing could be sent, or nothing came back.
    #[error("{0}")]
    Transport(String),
    /// Another status than 200.
    #[error("the server answered {0}: {1}")]
    Status(u16, String),
    /// Not JSON, or not of this form.
    #[error("the answer is not what a GraphQL server says: {0}")]
    Answer(String),
    /// The server's own errors; with any, nothing of an answer is used.
    #[error("the server reports: {}", .0.join("; "))]
    Reported(Vec<String>),
}

/// One question to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The whole address.
    pub url: String,
    /// What stands in the `Authorization` header.
    pub authorization: Option<Secret>,
    /// The body of a POST; without one it is a GET.
    pub body: Option<String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// A header that is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the value of the header as it is: `Basic …` or `Bearer …` included.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for the header alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What carries a question to the server and the answer back. The one door to the network.
pub trait Transport {
    /// The status and the body.
    ///
    /// # Errors
    /// When there is no answer.
    fn call(&self, ask: &Ask) -> Result<(u16, Vec<u8>), String>;

    /// Waits before the next attempt.
    fn pause(&self, duration: Duration);
}

/// Asks until there is a good answer, [`ATTEMPTS`] times at most, with a longer wait after each failure.
pub fn retried<T>(
    transport: &dyn Transport,
    ask: &Ask,
    what: &'static str,
    read: impl Fn(&[u8]) -> Result<T, AskError>,
) -> Result<T, GraphqlError> {
    let mut attempt = 1;
    loop {
        let source = match once(transport, ask, &read) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if attempt == ATTEMPTS {
            return Err(GraphqlError::Ask { url: ask.url.clone(), what, source });
        }
        transport.pause(PAUSE * attempt);
        attempt += 1;
    }
}

fn once<T>(transport: &dyn Transport, ask: &Ask, read: impl Fn(&[u8]) -> Result<T, AskError>) -> Result<T, AskError> {
    let (status, body) = transport.call(ask).map_err(AskError::Transport)?;
    match status {
        200 => read(&body),
        // A server that refuses a query says why in the form of an answer.
        _ if ask.body.is_some() && answered(&body).is_err_and(|e| matches!(e, AskError::Reported(_))) => read(&body),
        _ => Err(AskError::Status(status, told(&body))),
    }
}

/// The beginning of an answer, for a message.
pub fn told(body: &[u8]) -> String {
    String::from_utf8_lossy(body).trim().chars().take(MAX_TOLD).collect()
}
