//! Calls to an apparatus: the only module that uses the network.
//!
//! The kernel records requests and responses of the external client, but configs must not be recorded. The recorded
//! request therefore holds a digest of the body, and the recorded response a status. The bodies are passed in memory.

mod http;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_kernel::view::ExternalClient;

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

    /// Returns the request as it is recorded.
    fn question(&self, number: &str) -> Value {
        json!({"apparatus": self.method(), "url": display_url(&self.url), "input": number, "timeoutMs": self.timeout.as_millis() as u64})
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

/// Makes calls through the external client.
#[derive(Default)]
pub struct ApparatusCaller {
    /// Calls of deciding threads and their responses, by thread and digest. A thread makes one call at a time.
    in_flight: Mutex<HashMap<(ThreadId, String), CallInFlight>>,
    limiter: CallLimiter,
}

struct CallInFlight {
    call: ApparatusCall,
    body: Option<Vec<u8>>,
}

impl ApparatusCaller {
    /// Makes a call from within a decision.
    ///
    /// # Errors
    /// A message if the recorded answer cannot be read.
    pub fn call(&self, outside: &ExternalClient<'_>, call: ApparatusCall) -> Result<CallResult, String> {
        let number = digest(&[&call.url, &call.body.as_ref().map(Value::to_string).unwrap_or_default()]);
        let question = call.question(&number);
        let key = (thread::current().id(), number);
        self.in_flight().insert(key.clone(), CallInFlight { call, body: None });
        let asked = outside.query(question);
        let body = self.in_flight().remove(&key).and_then(|entry| entry.body);
        let answer =
            serde_json::from_value(asked?).map_err(|error| format!("a recorded call cannot be read: {error}"))?;
        Ok(CallResult { answer, body })
    }

    /// Sends the call that a recorded request stands for, as the operator's `reach`. Blocks.
    ///
    /// # Errors
    /// If the request is not one of this caller.
    pub fn reach(&self, question: &Value) -> Result<Value, String> {
        let number = question["input"].as_str().ok_or("this is no question to an apparatus")?;
        let key = (thread::current().id(), number.to_string());
        let call = self.in_flight().get(&key).map(|entry| entry.call.clone());
        let call = call.ok_or("what was to be asked is not there any more")?;
        let (answer, said) = match self.limiter.acquire(&call.url) {
            Some(place) => {
                let sent = http::send(&call);
                place.record(&sent.0);
                sent
            }
            None => (CallAnswer::Busy, None),
        };
        if let Some(entry) = self.in_flight().get_mut(&key) {
            entry.body = said;
        }
        serde_json::to_value(answer).map_err(|error| error.to_string())
    }

    /// Whether a request changes something outside. Pings do not.
    pub fn acts(question: &Value) -> bool {
        question["apparatus"] != "GET"
    }

    fn in_flight(&self) -> MutexGuard<'_, HashMap<(ThreadId, String), CallInFlight>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(super) fn sent(call: &ApparatusCall) -> (CallAnswer, Option<Vec<u8>>) {
    http::send(call)
}
