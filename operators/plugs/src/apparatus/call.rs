//! The calls themselves: the one part that touches the network.
//!
//! What is asked and answered goes through the kernel's door to the outside, and is recorded there; configs are not for records.
//! Therefore the question is a number for its body, and the answer a status; the bodies pass beside the door, in memory.

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

/// How long an event or `/config` may take, unless `spec.apparatus.timeout` says otherwise.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long `/ping` may take.
pub const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest answer that is read.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct ApparatusCall {
    /// Where.
    pub url: String,
    /// What is posted; without, it is a GET.
    pub body: Option<Value>,
    /// How long it may take.
    pub timeout: Duration,
    /// What tells this event apart from every other, the same however often it is told.
    pub mark: Option<String>,
}

impl ApparatusCall {
    /// `GET /ping`.
    pub fn ping(base: &str) -> Self {
        Self { url: super::url(base, "ping"), body: None, timeout: PING_TIMEOUT, mark: None }
    }

    /// `POST /config` or an event.
    pub fn post(base: &str, call: &str, body: Value, timeout: Duration) -> Self {
        Self { url: super::url(base, call), body: Some(body), timeout, mark: None }
    }

    /// The same, with the mark of its event.
    #[must_use]
    pub fn with_mark(self, mark: Option<&str>) -> Self {
        Self { mark: mark.map(str::to_string), ..self }
    }

    fn method(&self) -> &'static str {
        if self.body.is_some() { "POST" } else { "GET" }
    }

    /// The question as it is recorded.
    fn question(&self, number: &str) -> Value {
        json!({"apparatus": self.method(), "url": display_url(&self.url), "input": number, "timeoutMs": self.timeout.as_millis() as u64})
    }
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// How it ended.
    pub answer: CallAnswer,
    /// What was said; absent in a replay, as it is not recorded.
    pub body: Option<Vec<u8>>,
}

/// Makes calls through the door to the outside.
#[derive(Default)]
pub struct ApparatusCaller {
    /// What the threads that decide are about to ask, and what they were answered. A thread asks one thing at a time.
    in_flight: Mutex<HashMap<(ThreadId, String), CallInFlight>>,
    limiter: CallLimiter,
}

struct CallInFlight {
    call: ApparatusCall,
    body: Option<Vec<u8>>,
}

impl ApparatusCaller {
    /// Makes a call from inside a decision.
    ///
    /// # Errors
    /// A message when the answer that was recorded cannot be read.
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

    /// The operator's `reach`: makes the call that a question stands for. Blocks.
    ///
    /// # Errors
    /// When it is no question of this caller's.
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

    /// Whether a question tells an apparatus something; whether it is up may be asked at any time.
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
