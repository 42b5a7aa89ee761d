//! Calls to an apparatus: the only module that uses the network.
//!
//! The kernel records questions with their answers, but configs must not be recorded. A question therefore holds a digest
//! of the request's body, and its answer is a status. Both bodies travel beside them.

mod http;

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use switchboard_kernel::view::{Question, View};

use super::answer::CallAnswer;
use super::call_limit::CallLimiter;
use super::endpoint::display_url;
use super::pod::digest;

/// Default timeout of an event or `/config`, if `spec.apparatus.timeout` is not set.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of `/ping`.
pub const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of a response body.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct ApparatusCall {
    /// URL of the call.
    pub url: String,
    /// JSON body to POST. Without a body, the call is a GET.
    pub body: Option<Value>,
    /// Timeout of the call.
    pub timeout: Duration,
    /// Identifier of the event, the same for every retry.
    pub mark: Option<String>,
}

impl ApparatusCall {
    /// Returns a call of `GET /ping`.
    pub fn ping(base: &str) -> Self {
        Self { url: super::url(base, "ping"), body: None, timeout: PING_TIMEOUT, mark: None }
    }

    /// Returns a call of `POST /config` or of an event.
    pub fn post(base: &str, call: &str, body: Value, timeout: Duration) -> Self {
        Self { url: super::url(base, call), body: Some(body), timeout, mark: None }
    }

    /// Sets the identifier of the event.
    #[must_use]
    pub fn with_mark(self, mark: Option<&str>) -> Self {
        Self { mark: mark.map(str::to_string), ..self }
    }

    fn method(&self) -> &'static str {
        if self.body.is_some() { "POST" } else { "GET" }
    }

    fn question(&self) -> CallQuestion {
        CallQuestion {
            method: self.method(),
            url: display_url(&self.url),
            input: digest(&[&self.url, &self.body.as_ref().map(Value::to_string).unwrap_or_default()]),
            timeout_ms: self.timeout.as_millis() as u64,
        }
    }
}

/// Call as it is recorded.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallQuestion {
    method: &'static str,
    url: String,
    /// Digest of URL and body.
    input: String,
    timeout_ms: u64,
}

impl Question for CallQuestion {
    type Answer = CallAnswer;
    const KIND: &'static str = "apparatus";

    /// Pings change nothing.
    fn acts(&self) -> bool {
        self.method != "GET"
    }
}

/// Result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// Status of the call.
    pub answer: CallAnswer,
    /// Response body; absent in a replay, because bodies are not recorded.
    pub body: Option<Vec<u8>>,
}

/// Makes calls.
#[derive(Default)]
pub struct ApparatusCaller {
    limiter: CallLimiter,
}

impl ApparatusCaller {
    /// Makes a call from within a decision.
    ///
    /// # Errors
    /// A message if there is no answer, because the call is skipped in a dry run or is not recorded.
    pub fn call(&self, view: &View, call: &ApparatusCall) -> Result<CallResult, String> {
        let mut body = None;
        let answer = view.ask(call.question(), |_| {
            let (answer, said) = self.send(call);
            body = said;
            Ok(answer)
        })?;
        Ok(CallResult { answer, body })
    }

    /// Sends a call unless the apparatus is busy. Blocks.
    fn send(&self, call: &ApparatusCall) -> (CallAnswer, Option<Vec<u8>>) {
        let Some(permit) = self.limiter.acquire(&call.url) else { return (CallAnswer::Busy, None) };
        let sent = http::send(call);
        permit.record(&sent.0);
        sent
    }
}

#[cfg(test)]
pub(super) fn sent(call: &ApparatusCall) -> (CallAnswer, Option<Vec<u8>>) {
    http::send(call)
}
