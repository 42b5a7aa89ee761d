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
use switchboard_kernel::view::Outside;

use super::answer::Answer;
use super::crowd::Crowd;
use super::endpoint::shown;
use super::pod::digest;

/// How long an event or `/config` may take, unless `spec.apparatus.timeout` says otherwise.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long `/ping` may take.
pub const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest answer that is read.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Where.
    pub url: String,
    /// What is posted; without, it is a GET.
    pub body: Option<Value>,
    /// How long it may take.
    pub timeout: Duration,
    /// What tells this event apart from every other, the same however often it is told.
    pub mark: Option<String>,
}

impl Call {
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
    pub fn marked(self, mark: Option<&str>) -> Self {
        Self { mark: mark.map(str::to_string), ..self }
    }

    fn method(&self) -> &'static str {
        if self.body.is_some() { "POST" } else { "GET" }
    }

    /// The question as it is recorded.
    fn question(&self, number: &str) -> Value {
        json!({"apparatus": self.method(), "url": shown(&self.url), "input": number, "timeoutMs": self.timeout.as_millis() as u64})
    }
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// How it ended.
    pub answer: Answer,
    /// What was said; absent in a replay, as it is not recorded.
    pub body: Option<Vec<u8>>,
}

/// Makes calls through the door to the outside.
#[derive(Default)]
pub struct Caller {
    /// What the threads that decide are about to ask, and what they were answered. A thread asks one thing at a time.
    passing: Mutex<HashMap<(ThreadId, String), Passing>>,
    crowd: Crowd,
}

struct Passing {
    call: Call,
    said: Option<Vec<u8>>,
}

impl Caller {
    /// Makes a call from inside a decision.
    ///
    /// # Errors
    /// A message when the answer that was recorded cannot be read.
    pub fn call(&self, outside: &Outside<'_>, call: Call) -> Result<Said, String> {
        let number = digest(&[&call.url, &call.body.as_ref().map(Value::to_string).unwrap_or_default()]);
        let question = call.question(&number);
        let key = (thread::current().id(), number);
        self.passing().insert(key.clone(), Passing { call, said: None });
        let asked = outside.ask(question);
        let body = self.passing().remove(&key).and_then(|passing| passing.said);
        let answer =
            serde_json::from_value(asked?).map_err(|error| format!("a recorded call cannot be read: {error}"))?;
        Ok(Said { answer, body })
    }

    /// The operator's `reach`: makes the call that a question stands for. Blocks.
    ///
    /// # Errors
    /// When it is no question of this caller's.
    pub fn reach(&self, question: &Value) -> Result<Value, String> {
        let number = question["input"].as_str().ok_or("this is no question to an apparatus")?;
        let key = (thread::current().id(), number.to_string());
        let call = self.passing().get(&key).map(|passing| passing.call.clone());
        let call = call.ok_or("what was to be asked is not there any more")?;
        let (answer, said) = match self.crowd.enter(&call.url) {
            Some(place) => {
                let sent = http::send(&call);
                place.answered(&sent.0);
                sent
            }
            None => (Answer::Busy, None),
        };
        if let Some(passing) = self.passing().get_mut(&key) {
            passing.said = said;
        }
        serde_json::to_value(answer).map_err(|error| error.to_string())
    }

    /// Whether a question tells an apparatus something; whether it is up may be asked at any time.
    pub fn acts(question: &Value) -> bool {
        question["apparatus"] != "GET"
    }

    fn passing(&self) -> MutexGuard<'_, HashMap<(ThreadId, String), Passing>> {
        self.passing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(super) fn sent(call: &Call) -> (Answer, Option<Vec<u8>>) {
    http::send(call)
}
