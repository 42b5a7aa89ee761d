//! Requests to a server, with retries.

use std::fmt;
use std::time::Duration;

use super::GraphqlError;
use super::response::parse_response;

/// Maximum number of attempts.
pub const ATTEMPTS: u32 = 5;
/// Delay after the first failure; each further delay is longer by the same amount.
pub const PAUSE: Duration = Duration::from_secs(1);
/// Maximum length of an error response in a message.
const MAX_EXCERPT_CHARS: usize = 400;

/// Error of one attempt.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The connection failed.
    #[error("{0}")]
    Transport(String),
    /// The status is not 200.
    #[error("the server answered {0}: {1}")]
    Status(u16, String),
    /// The response is not JSON or has another structure.
    #[error("unexpected response: {0}")]
    Answer(String),
    /// Errors that the server reports. The data of such a response is not used.
    #[error("the server reports: {}", .0.join("; "))]
    Reported(Vec<String>),
}

/// Request to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRequest {
    /// URL.
    pub url: String,
    /// `Authorization` header.
    pub authorization: Option<AuthorizationHeader>,
    /// Body of a POST request; `None` for a GET request.
    pub body: Option<String>,
    /// Timeout.
    pub timeout: Duration,
}

/// Value of the `Authorization` header. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthorizationHeader(String);

impl AuthorizationHeader {
    /// Wraps a complete header value such as `Basic …` or `Bearer …`.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value, for the header only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AuthorizationHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Transport of requests, the only access to the network.
pub trait Transport {
    /// Sends a request and returns the status and body of the response.
    ///
    /// # Errors
    /// If there is no response.
    fn call(&self, ask: &ServerRequest) -> Result<(u16, Vec<u8>), String>;

    /// Waits before the next attempt.
    fn pause(&self, duration: Duration);
}

/// Sends a request up to [`ATTEMPTS`] times, with increasing delays, until `read` accepts the response.
pub fn send_with_retries<T>(
    transport: &dyn Transport,
    ask: &ServerRequest,
    what: &'static str,
    read: impl Fn(&[u8]) -> Result<T, RequestError>,
) -> Result<T, GraphqlError> {
    let mut attempt = 1;
    loop {
        let source = match send_once(transport, ask, &read) {
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

fn send_once<T>(
    transport: &dyn Transport,
    ask: &ServerRequest,
    read: impl Fn(&[u8]) -> Result<T, RequestError>,
) -> Result<T, RequestError> {
    let (status, body) = transport.call(ask).map_err(RequestError::Transport)?;
    match status {
        200 => read(&body),
        // A server that rejects a query reports the reason in a GraphQL response.
        _ if ask.body.is_some() && parse_response(&body).is_err_and(|e| matches!(e, RequestError::Reported(_))) => {
            read(&body)
        }
        _ => Err(RequestError::Status(status, excerpt(&body))),
    }
}

/// Returns the beginning of a response, for a message.
pub fn excerpt(body: &[u8]) -> String {
    String::from_utf8_lossy(body).trim().chars().take(MAX_EXCERPT_CHARS).collect()
}
