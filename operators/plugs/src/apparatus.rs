//! Programs beside the operator that take part in an integration: a REST API, in a pod of its own or elsewhere.
//!
//! ```text
//!            ┌ endpoint ─▶ URL ┐
//! spec ──────┤                 ├─▶ call: /ping /config /created /coupled /updated /decoupled /deleted ─▶ answer
//!            └ pod ─▶ life ────┘      body ─┘
//!              start · ping until ready · stop when idle · roll · replace
//! ```
//!
//! Everything but `call` is a pure function: what to do with the pod follows from the spec, the pod and the time. `call` is the
//! thin shell that the operator's door to the outside opens; `attend` is how a decision uses both.

mod answer;
mod attend;
mod body;
mod call;
mod crowd;
mod endpoint;
mod life;
mod pod;

pub use answer::{Answer, AnswerError, config_answer, config_values};
pub use attend::{Attendant, Outcome};
pub use body::{Coupled, config_body, config_key, event_body, event_mark};
pub use call::{CALL_TIMEOUT, Call, Caller, MAX_ANSWER_BYTES, PING_TIMEOUT, Said};
pub use endpoint::{EndpointError, base_url, shown, url};
pub use life::{
    DEFAULT_IDLE_SECONDS, PING_EVERY, REPLACE_AFTER, Renewal, STARTUP_DEADLINE, Step, after_an_end, deadline_after,
    decide, needs_renewal, unanswered,
};
pub use pod::{
    ADDRESS_ANNOTATION, ANSWERED_ANNOTATION, IDLE_ANNOTATION, Names, PodError, SPEC_HASH_ANNOTATION, names, pod,
    service, spec_hash,
};

use serde_json::Value;

use crate::render::Who;

/// The apparatus of a Plug or a Socket.
#[derive(Clone, Copy, Debug)]
pub struct Apparatus<'a> {
    /// Whose.
    pub who: Who,
    /// The Plug or Socket.
    pub owner: &'a Value,
    /// Its `spec.apparatus`.
    pub spec: &'a Value,
}

impl<'a> Apparatus<'a> {
    /// That of an object; nothing when it has none.
    pub fn of(who: Who, owner: &'a Value) -> Option<Self> {
        let spec = owner.pointer("/spec/apparatus").filter(|spec| spec.is_object())?;
        Some(Self { who, owner, spec })
    }

    /// Whether it runs in a pod; otherwise it is somewhere else, and neither started nor stopped.
    pub fn has_pod(&self) -> bool {
        pod::containers(self.spec).is_some_and(|containers| !containers.is_empty())
    }

    /// The namespace of its owner.
    pub fn namespace(&self) -> &'a str {
        self.meta("namespace")
    }

    /// The name of its owner.
    pub fn name(&self) -> &'a str {
        self.meta("name")
    }

    /// The uid of its owner.
    pub fn uid(&self) -> &'a str {
        self.meta("uid")
    }

    fn meta(&self, field: &str) -> &'a str {
        self.owner.pointer("/metadata").and_then(|meta| meta[field].as_str()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
