//! Answers of an apparatus.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Result of a call as the journal stores it. The response body is left out, because it may be secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallAnswer {
    /// The apparatus answered with this HTTP status.
    Status(u16),
    /// The connection was refused: the program is not running.
    NotRunning(String),
    /// The timeout expired.
    TimedOut,
    /// The connection broke, or the response is not valid HTTP.
    Broken(String),
    /// The call was not made: the apparatus is still busy with other calls.
    Busy,
}

/// Failure of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The apparatus answered with an error status.
    #[error("{what} failed with {status} status from POST {url}")]
    Status {
        /// `event coupled` or `config`.
        what: String,
        /// The HTTP status.
        status: u16,
        /// URL of the call.
        url: String,
    },
    /// The program is not running.
    #[error("{what} failed: nothing listens at {url}: {why}")]
    NotRunning {
        /// `event coupled` or `config`.
        what: String,
        /// URL of the call.
        url: String,
        /// Error message of the operating system.
        why: String,
    },
    /// The timeout expired.
    #[error("{what} failed: no answer from POST {url} within {seconds} s")]
    TimedOut {
        /// `event coupled` or `config`.
        what: String,
        /// URL of the call.
        url: String,
        /// Timeout in seconds.
        seconds: u64,
    },
    /// The connection broke.
    #[error("{what} failed: POST {url} broke off: {why}")]
    Broken {
        /// `event coupled` or `config`.
        what: String,
        /// URL of the call.
        url: String,
        /// Error message of the HTTP client.
        why: String,
    },
    /// The call was not made.
    #[error("another call to {url} to be answered")]
    Busy {
        /// URL of the call.
        url: String,
    },
    /// The response of `/config` is not a JSON object.
    #[error("config failed: the answer of POST {url} must be a JSON object, and is {found}")]
    NoMap {
        /// URL of the call.
        url: String,
        /// Type of the response instead.
        found: &'static str,
    },
}

impl CallAnswer {
    /// Checks whether the call succeeded. `what` and `url` are used in the error message.
    ///
    /// # Errors
    /// [`AnswerError`], with a message for the status. `url` must be safe to display.
    pub fn check(&self, what: &str, url: &str, timeout: std::time::Duration) -> Result<(), AnswerError> {
        let (what, url) = (what.to_string(), url.to_string());
        match self {
            CallAnswer::Status(status) if *status < 400 => Ok(()),
            CallAnswer::Status(status) => Err(AnswerError::Status { what, status: *status, url }),
            CallAnswer::NotRunning(why) => Err(AnswerError::NotRunning { what, url, why: why.clone() }),
            CallAnswer::TimedOut => Err(AnswerError::TimedOut { what, url, seconds: timeout.as_secs() }),
            CallAnswer::Broken(why) => Err(AnswerError::Broken { what, url, why: why.clone() }),
            CallAnswer::Busy => Err(AnswerError::Busy { url }),
        }
    }
}

/// Parses the response of `/config`: strings as they are, other values as JSON text, and null as no value.
///
/// # Errors
/// [`AnswerError::NoMap`] if the response is not a JSON object. `null` counts as an empty object.
pub fn config_answer(url: &str, body: &[u8]) -> Result<BTreeMap<String, String>, AnswerError> {
    let no_map = |found| AnswerError::NoMap { url: url.to_string(), found };
    match serde_json::from_slice(body) {
        Ok(value) => config_values(value).map_err(no_map),
        Err(_) if body.iter().all(u8::is_ascii_whitespace) => Err(no_map("empty")),
        Err(_) => Err(no_map("no JSON")),
    }
}

/// Converts a `/config` response that is already parsed, like [`config_answer`].
///
/// # Errors
/// The type of the response, if it is not an object.
pub fn config_values(answer: Value) -> Result<BTreeMap<String, String>, &'static str> {
    let fields = match answer {
        Value::Object(fields) => fields,
        Value::Null => return Ok(BTreeMap::new()),
        Value::Array(_) => return Err("a list"),
        _ => return Err("a single value"),
    };
    let text = |value: Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        // Without an exponent: some programs write a million as `1e6`.
        Value::Number(number) if number.is_f64() => number.as_f64().map(|float| float.to_string()),
        other => Some(other.to_string()),
    };
    Ok(fields.into_iter().filter_map(|(key, value)| Some((key, text(value)?))).collect())
}
