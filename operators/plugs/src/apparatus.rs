//! Programs beside the operator that take part in an integration: a REST API in a pod of its own, or at an external
//! URL.
//!
//! ```text
//!            ┌ endpoint ─▶ URL ┐
//! spec ──────┤                 ├─▶ call: /ping /config /created /coupled /updated /decoupled /deleted ─▶ answer
//!            └ pod ─▶ lifecycle┘      body ─┘
//!              start · ping until ready · stop when idle · roll · replace
//! ```
//!
//! All modules but `call` and `driver` are pure functions: the next step for the pod follows from the spec, the pod and
//! the time. `call` sends the HTTP requests as external queries of the view, and `driver` combines both for a decision.

mod answer;
mod body;
mod call;
mod call_limit;
mod driver;
mod endpoint;
mod lifecycle;
mod pod;

pub use answer::{AnswerError, CallAnswer, config_answer, config_values};
pub use body::{CoupledPair, config_body, config_key, event_body, event_mark};
pub use call::{ApparatusCall, ApparatusCaller, CALL_TIMEOUT, CallResult, MAX_ANSWER_BYTES, PING_TIMEOUT};
pub use driver::{ApparatusDriver, CallOutcome};
pub(crate) use driver::{PODS, SERVICES};
pub use endpoint::{EndpointError, base_url, display_url, url};
pub use lifecycle::{
    DEFAULT_IDLE_SECONDS, DeadlineRenewal, PING_EVERY, PodStep, REPLACE_AFTER, STARTUP_DEADLINE, deadline_after,
    decide, renewed_deadline, step_after_failed_ping, with_last_end,
};
pub use pod::{
    ADDRESS_ANNOTATION, ANSWERED_ANNOTATION, ApparatusNames, IDLE_ANNOTATION, PodError, SPEC_HASH_ANNOTATION, names,
    pod, service, spec_hash,
};

use serde_json::Value;

use crate::render::CouplingSide;

/// Apparatus of a Plug or a Socket.
#[derive(Clone, Copy, Debug)]
pub struct Apparatus<'a> {
    /// Side that owns the apparatus.
    pub side: CouplingSide,
    /// Plug or Socket object.
    pub owner: &'a Value,
    /// `spec.apparatus` of the owner.
    pub spec: &'a Value,
}

impl<'a> Apparatus<'a> {
    /// Returns the apparatus of an object, or `None` if the object has none.
    pub fn of(side: CouplingSide, owner: &'a Value) -> Option<Self> {
        let spec = owner.pointer("/spec/apparatus").filter(|spec| spec.is_object())?;
        Some(Self { side, owner, spec })
    }

    /// Whether the apparatus runs in a pod of its own. Switchboard neither starts nor stops an external one.
    pub fn has_pod(&self) -> bool {
        pod::containers(self.spec).is_some_and(|containers| !containers.is_empty())
    }

    /// Returns the owner's namespace.
    pub fn namespace(&self) -> &'a str {
        self.meta("namespace")
    }

    /// Returns the owner's name.
    pub fn name(&self) -> &'a str {
        self.meta("name")
    }

    /// Returns the owner's uid.
    pub fn uid(&self) -> &'a str {
        self.meta("uid")
    }

    fn meta(&self, field: &str) -> &'a str {
        self.owner.pointer("/metadata").and_then(|meta| meta[field].as_str()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
