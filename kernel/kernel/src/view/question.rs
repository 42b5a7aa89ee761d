//! Typed questions to systems outside the clusters.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::View;
use crate::redact::redact_value;

/// Maximum length of a skipped query in a message.
const MAX_QUERY_BYTES: usize = 200;

/// External query of an operator: a question to a system outside the clusters.
///
/// Question and answer are recorded, so that a decision can be replayed without that system. Data that must not be
/// recorded, such as a password or the body of a request, is no part of either. It travels beside the question, in the
/// function that [`View::ask`] calls for the answer.
///
/// ```
/// use switchboard_kernel::fake_view::FakeView;
/// use switchboard_kernel::operator::DecideError;
/// use switchboard_kernel::view::{Question, View};
///
/// #[derive(serde::Serialize)]
/// struct Forecast {
///     city: String,
/// }
///
/// impl Question for Forecast {
///     type Answer = String;
///     const KIND: &'static str = "forecast";
///
///     fn acts(&self) -> bool {
///         false
///     }
/// }
///
/// fn forecast(view: &View, city: &str, password: &str) -> Result<String, DecideError> {
///     let question = Forecast { city: city.to_string() };
///     view.ask(question, |question| fetch(&question.city, password)).map_err(DecideError::Failed)
/// }
/// # fn fetch(_: &str, _: &str) -> Result<String, String> { Ok("rain".to_string()) }
/// ```
pub trait Question: Serialize {
    /// Type of the answer.
    type Answer: Serialize + DeserializeOwned;

    /// Name of the question's type in a recording, unique among the questions of an operator. An answer that was
    /// recorded for another kind is not used.
    const KIND: &'static str;

    /// Whether the question may change something in the external system; true by default. A dry run skips such
    /// questions and reports the unit as undecided.
    fn acts(&self) -> bool {
        true
    }

    /// Returns the part of an answer that shows the state of the external system.
    fn external_state(_answer: &Result<Self::Answer, String>) -> ExternalState {
        ExternalState::Answer
    }
}

/// Part of an answer that shows the state of the external system. By it the kernel decides whether an answer was a
/// reason to write.
#[derive(Clone, Debug, PartialEq)]
pub enum ExternalState {
    /// Whole answer.
    Answer,
    /// No part: the answer depends only on the reads and the time, for example that of a program without other input. A
    /// unit that keeps writing although nothing it read has changed is then found to loop, whatever the answers are.
    Nothing,
    /// Part of the answer; the rest is data of the question, such as its time and cost. While the part stays the same,
    /// nothing has changed. If only the unit's own writes triggered the run, a changed part is no reason for another
    /// write, because nothing else caused the question.
    Part(Value),
}

/// External query as it is recorded: a question with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExternalQuery {
    /// Type of the question, [`Question::KIND`]; empty in a recording of an older version.
    #[serde(default)]
    pub kind: String,
    /// Question.
    pub request: Value,
    /// Answer.
    pub answer: Result<Value, String>,
    /// Whether the answer shows no external state, and so adds no input; see [`ExternalState::Nothing`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deterministic: bool,
    /// Hash of the external state if it is a part of the answer; see [`ExternalState::Part`]. Used to compare runs in
    /// memory; not recorded.
    #[serde(skip)]
    pub digest: Option<u64>,
}

impl View {
    /// Queries an external system, and records question and answer.
    ///
    /// `answer` performs the I/O, and captures everything that travels beside the question. It may block: decisions run
    /// on threads of their own. A replay returns the recorded answer instead, and a dry run skips questions that act.
    ///
    /// # Errors
    /// The error of the external system. It is recorded as the answer, and users see it.
    pub fn ask<Q: Question>(
        &self,
        question: Q,
        answer: impl FnOnce(Q) -> Result<Q::Answer, String>,
    ) -> Result<Q::Answer, String> {
        let request = encode(Q::KIND, &question)?;
        let (answer, recorded) = match self.reader.answer(Q::KIND, &request) {
            Some(recorded) => (self.decode::<Q>(&recorded), recorded),
            None => {
                let answer = match self.dry_run && question.acts() {
                    true => Err(self.leave_unanswered(skipped(Q::KIND, &request))),
                    false => answer(question),
                };
                match answer.and_then(|answer| encode(Q::KIND, &answer).map(|recorded| (answer, recorded))) {
                    Ok((answer, recorded)) => (Ok(answer), Ok(recorded)),
                    Err(message) => (Err(message.clone()), Err(message)),
                }
            }
        };
        let (deterministic, digest) = match Q::external_state(&answer) {
            ExternalState::Answer => (false, None),
            ExternalState::Nothing => (true, None),
            ExternalState::Part(part) => (false, Some(hash(&part))),
        };
        let query = ExternalQuery { kind: Q::KIND.to_string(), request, answer: recorded, deterministic, digest };
        self.reads.borrow_mut().external_queries.push(query);
        answer
    }

    fn decode<Q: Question>(&self, recorded: &Result<Value, String>) -> Result<Q::Answer, String> {
        let unreadable = |error| {
            self.leave_unanswered(format!("could not read the recorded answer of query `{}`: {error}", Q::KIND))
        };
        recorded.as_ref().map_err(Clone::clone).and_then(|answer| Q::Answer::deserialize(answer).map_err(unreadable))
    }

    /// Remembers the first question without an answer, and returns the reason as the answer.
    fn leave_unanswered(&self, why: String) -> String {
        self.unanswered.borrow_mut().get_or_insert_with(|| why.clone());
        why
    }

    /// Returns the reason why a question has no answer, if there was one: a dry run skipped it, or its recorded answer
    /// has another form.
    pub(crate) fn unanswered(&self) -> Option<String> {
        self.unanswered.borrow().clone()
    }
}

fn encode(kind: &str, data: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(data).map_err(|error| format!("could not record query `{kind}`: {error}"))
}

fn skipped(kind: &str, request: &Value) -> String {
    let mut query = redact_value(request).to_string();
    query.truncate(query.floor_char_boundary(MAX_QUERY_BYTES));
    format!("a dry run skips queries with side effects: {kind} {query}")
}

fn hash(part: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.to_string().hash(&mut hasher);
    hasher.finish()
}
