//! What an apparatus answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What came of a call, as the journal keeps it: nothing of what was said, as it may be secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallAnswer {
    /// It answered with this status.
    Status(u16),
    /// Nobody listens there: the program is not running.
    NotRunning(String),
    /// It took too long.
    TimedOut,
    /// The connection broke, or what came back is no HTTP.
    Broken(String),
    /// It was not asked: it is still busy with what somebody else asked.
    Busy,
}

/// Why a call did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It said no.
    #[error("{what} failed with {status} status from POST {url}")]
    Status {
        /// `event coupled`, `config`.
        what: String,
        /// The HTTP status.
        status: u16,
        /// Where.
        url: String,
    },
    /// It is not running.
    #[error("{what} failed: nobody answers at {url}: {why}")]
    NotRunning {
        /// `event coupled`, `config`.
        what: String,
        /// Where.
        url: String,
        /// What the system says.
        why: String,
    },
    /// It took too long.
    #[error("{what} failed: no answer from POST {url} within {seconds} s")]
    TimedOut {
        /// `event coupled`, `config`.
        what: String,
        /// Where.
        url: String,
        /// The time it had.
        seconds: u64,
    },
    /// The connection broke.
    #[error("{what} failed: POST {url} broke off: {why}")]
    Broken {
        /// `event coupled`, `config`.
        what: String,
        /// Where.
        url: String,
        /// What the system says.
        why: String,
    },
    /// It was not asked.
    #[error("another call to {url} to be answered")]
    Busy {
        /// Where.
        url: String,
    },
    /// The answer of `/config` is no map.
    #[error("config failed: the answer of POST {url} must be a JSON object, and is {found}")]
    NoMap {
        /// Where.
        url: String,
        /// What it is instead.
        found: &'static str,
    },
}

impl CallAnswer {
    /// Whether the call did what it should; `what` and `url` are for the message.
    ///
    /// # Errors
    /// [`AnswerError`] in words for people; `url` must be one that may be shown.
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

/// The config in an answer of `/config`: texts as they are, other values as one writes them, null as no value.
///
/// # Errors
/// [`AnswerError::NoMap`] when it is no JSON object; `null` is one without keys.
pub fn config_answer(url: &str, body: &[u8]) -> Result<BTreeMap<String, String>, AnswerError> {
    let no_map = |found| AnswerError::NoMap { url: url.to_string(), found };
    match serde_json::from_slice(body) {
        Ok(value) => config_values(value).map_err(no_map),
        Err(_) if body.iter().all(u8::is_ascii_whitespace) => Err(no_map("empty")),
        Err(_) => Err(no_map("no JSON")),
    }
}

/// The same of an answer that was read already.
///
/// # Errors
/// What it is instead of a map.
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
        // Without an exponent: `1e6` is how some programs write a million.
        Value::Number(number) if number.is_f64() => number.as_f64().map(|float| float.to_string()),
        other => Some(other.to_string()),
    };
    Ok(fields.into_iter().filter_map(|(key, value)| Some((key, text(value)?))).collect())
}
