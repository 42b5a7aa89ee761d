//! Record of a plug.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{CouplingEvent, PlugMeta};
use crate::render::{CouplingSide, PerSide, Values};

/// Identity of an object, distinct from a later object with the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectIdentity {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Uid of the object.
    pub uid: String,
}

impl ObjectIdentity {
    /// Returns the identity of an object.
    pub fn of(meta: &PlugMeta) -> Self {
        Self { namespace: meta.namespace.clone(), name: meta.name.clone(), uid: meta.uid.clone() }
    }
}

/// An object that was applied, or is about to be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppliedObject {
    /// `apiVersion` of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Namespace and name of the service account that applies the object.
    pub account: (String, String),
    /// Whether decoupling removes the object.
    pub removed_when_decoupled: bool,
    /// Path of the template in the spec, for messages about a refusal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
}

impl AppliedObject {
    /// Whether both are the same object, regardless of the service account.
    pub fn is_same_object(&self, other: &AppliedObject) -> bool {
        (&self.api_version, &self.kind, &self.namespace, &self.name)
            == (&other.api_version, &other.kind, &other.namespace, &other.name)
    }

    /// Returns the name for messages: `Kind namespace/name`.
    pub fn display_name(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// An event in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingEvent {
    /// Event.
    pub event: CouplingEvent,
    /// Start time in milliseconds, which distinguishes the event from others of its kind.
    pub number: u64,
    /// Start time as RFC 3339, used in every notification about the event.
    pub at: String,
    /// Completed steps, which must not be repeated.
    #[serde(default)]
    pub done: BTreeSet<String>,
    /// Uids of objects that must be deleted before they are recreated, by [`AppliedObject::display_name`].
    #[serde(default)]
    pub replaced: BTreeMap<String, String>,
    /// Hash of the event's content.
    #[serde(default)]
    pub content: String,
    /// Sides that were never notified of the coupling, and therefore are not notified of its end.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub uninformed: BTreeSet<CouplingSide>,
}

/// Plug and socket at the time of the last event, for templates and calls when they are decoupled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CouplingSnapshot {
    /// Plug.
    pub plug: Value,
    /// Socket.
    pub socket: Value,
}

impl CouplingSnapshot {
    /// Returns the object of a side.
    pub fn of(&self, side: CouplingSide) -> &Value {
        match side {
            CouplingSide::Plug => &self.plug,
            CouplingSide::Socket => &self.socket,
        }
    }
}

/// Config values from an apparatus, with the request that they answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigAnswer {
    /// Digest of the request.
    pub key: String,
    /// Values of the response.
    pub values: Values,
}

/// State of a plug's coupling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CouplingRecord {
    /// Identity of the plug.
    pub plug: ObjectIdentity,
    /// Time of the first run as RFC 3339, used as the time in templates.
    pub since: String,
    /// Whether the `created` event is complete.
    pub created: bool,
    /// Whether the plug's own apparatus was notified of `created`.
    #[serde(default)]
    pub notified_created: bool,
    /// Whether the plug's own apparatus was notified of `deleted`.
    #[serde(default)]
    pub notified_deleted: bool,
    /// Config values from the apparatus of each side.
    #[serde(skip)]
    pub config_answers: PerSide<Option<ConfigAnswer>>,
    /// Socket that the plug is coupled to, or about to be.
    #[serde(default)]
    pub socket: Option<ObjectIdentity>,
    /// Whether both sides are coupled: `coupled` is complete, and `decoupled` has not started.
    #[serde(default)]
    pub coupled: bool,
    /// Event in progress.
    #[serde(default)]
    pub pending: Option<PendingEvent>,
    /// Hash of the content of the last completed event.
    #[serde(default)]
    pub content: String,
    /// Objects of the plug alone.
    #[serde(default)]
    pub own: Vec<AppliedObject>,
    /// Objects of the coupling, in the order in which they were applied.
    #[serde(default)]
    pub inventory: PerSide<Vec<AppliedObject>>,
    /// Names of redacted results.
    #[serde(default)]
    pub redacted: PerSide<Vec<String>>,
    /// Number of refused writes during teardown.
    #[serde(default)]
    pub refusals: u32,
    /// Objects that teardown has abandoned.
    #[serde(default)]
    pub abandoned: BTreeSet<String>,
    /// Uids of objects that must be deleted before they are recreated at creation, decoupling or deletion, by event and
    /// [`AppliedObject::display_name`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replaced: BTreeMap<String, String>,
    /// Number of failed calls for the current end event.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_calls: u32,
    /// Configurations.
    #[serde(skip)]
    pub config: PerSide<Values>,
    /// Results; absent until they are available.
    #[serde(skip)]
    pub result: Option<PerSide<Values>>,
    /// Objects at the time of the last event, if decoupling needs them.
    #[serde(skip)]
    pub snapshot: Option<CouplingSnapshot>,
    /// Whether the last run failed.
    #[serde(skip)]
    pub failing: bool,
    /// Whether the socket admits the plug; absent until the socket has decided.
    #[serde(skip)]
    pub admitted: Option<bool>,
}

impl CouplingRecord {
    /// Returns the record of a new plug.
    pub fn new(meta: &PlugMeta, now: &str) -> Self {
        Self { plug: ObjectIdentity::of(meta), since: now.to_string(), ..Self::default() }
    }

    /// Whether there is anything to decouple.
    pub fn is_bound(&self) -> bool {
        let begun = self.pending.as_ref().is_some_and(|pending| pending.event != CouplingEvent::Created);
        self.coupled || begun || !self.inventory.plug.is_empty() || !self.inventory.socket.is_empty()
    }

    /// Returns the sides that were never notified of the coupling, and therefore must not be notified of its end.
    pub fn uninformed_sides(&self) -> BTreeSet<CouplingSide> {
        let heard = |side: &CouplingSide| {
            let done = self.pending.as_ref().map(|pending| &pending.done);
            self.coupled || done.is_some_and(|done| done.contains(side.as_str()) || done.contains(&call_step(*side)))
        };
        CouplingSide::BOTH.into_iter().filter(|side| !heard(side)).collect()
    }

    /// Begins an event at a time, given as RFC 3339 and in milliseconds.
    pub fn begin(&mut self, event: CouplingEvent, now: &str, number: u64, content: String) {
        self.pending = Some(PendingEvent {
            event,
            number,
            at: now.to_string(),
            done: BTreeSet::new(),
            replaced: BTreeMap::new(),
            content,
            uninformed: BTreeSet::new(),
        });
    }

    /// Returns the name of the Secret with the results, if a result is redacted.
    pub fn binding(&self) -> Option<String> {
        let redacts = !self.redacted.plug.is_empty() || !self.redacted.socket.is_empty();
        (self.coupled && self.result.is_some() && redacts).then(|| binding_name(&self.plug.name))
    }

    /// Clears everything that binds the plug to a socket.
    pub fn release(&mut self) {
        (self.socket, self.coupled, self.pending, self.result, self.snapshot) = (None, false, None, None, None);
        (self.content, self.config, self.inventory) = (String::new(), PerSide::default(), PerSide::default());
        (self.refusals, self.admitted, self.redacted) = (0, None, PerSide::default());
        self.config_answers = PerSide::default();
        self.abandoned.clear();
        self.replaced.retain(|object, _| !object.starts_with(CouplingEvent::Decoupled.as_str()));
        self.failed_calls = 0;
    }
}

/// Returns the step that marks a call to the apparatus of a side as complete.
pub fn call_step(side: CouplingSide) -> String {
    format!("{} called", side.as_str())
}

/// Returns the name of the Secret with a plug's results.
pub fn binding_name(plug: &str) -> String {
    format!("{plug}-binding")
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
