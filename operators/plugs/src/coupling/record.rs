//! The record of a plug.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{CouplingEvent, PlugMeta};
use crate::render::{CouplingSide, PerSide, Values};

/// An object that cannot be confused with a later one of its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectIdentity {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

impl ObjectIdentity {
    /// That of an object.
    pub fn of(meta: &PlugMeta) -> Self {
        Self { namespace: meta.namespace.clone(), name: meta.name.clone(), uid: meta.uid.clone() }
    }
}

/// An object that was made, or was about to be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppliedObject {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for kinds without.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The service account it was made as, in the namespace of its owner.
    pub account: (String, String),
    /// It goes when plug and socket are taken apart.
    #[serde(rename = "goes")]
    pub removed_when_decoupled: bool,
    /// Where its template is written, for whoever is told that it was refused.
    #[serde(rename = "place", default, skip_serializing_if = "String::is_empty")]
    pub path: String,
}

impl AppliedObject {
    /// Whether it is the same object, whoever made it.
    pub fn is_same_object(&self, other: &AppliedObject) -> bool {
        (&self.api_version, &self.kind, &self.namespace, &self.name)
            == (&other.api_version, &other.kind, &other.namespace, &other.name)
    }

    /// As messages name it.
    pub fn display_name(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// An event under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingEvent {
    /// Which.
    pub event: CouplingEvent,
    /// When it began, in milliseconds: what tells it apart from others of its kind.
    pub number: u64,
    /// When it began, as RFC 3339: what is told of it has this time, however often it is told.
    pub at: String,
    /// The steps that were taken and must not be taken again.
    #[serde(default)]
    pub done: BTreeSet<String>,
    /// The uids of objects that are to be gone before they are made anew, by [`Made::shown`].
    #[serde(default)]
    pub replaced: BTreeMap<String, String>,
    /// What it is about, as a hash.
    #[serde(default)]
    pub content: String,
    /// At a parting: the sides that never heard of the coupling, and so do not hear of its end.
    #[serde(rename = "strangers", default, skip_serializing_if = "BTreeSet::is_empty")]
    pub uninformed: BTreeSet<CouplingSide>,
}

/// Plug and socket as they were when they were coupled, for templates and programs at their parting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CouplingSnapshot {
    /// The plug.
    pub plug: Value,
    /// The socket.
    pub socket: Value,
}

impl CouplingSnapshot {
    /// That of one side.
    pub fn of(&self, side: CouplingSide) -> &Value {
        match side {
            CouplingSide::Plug => &self.plug,
            CouplingSide::Socket => &self.socket,
        }
    }
}

/// What an apparatus adds to a config, and to which question it said so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigAnswer {
    /// The number of the question.
    pub key: String,
    /// What it said.
    pub values: Values,
}

/// What is known of a plug's coupling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CouplingRecord {
    /// The plug.
    pub plug: ObjectIdentity,
    /// When it was first seen, as RFC 3339: the time that templates know.
    pub since: String,
    /// `created` was told.
    pub created: bool,
    /// The plug's own apparatus was told of it.
    #[serde(rename = "toldCreated", default)]
    pub notified_created: bool,
    /// The plug's own apparatus was told of its end.
    #[serde(rename = "toldDeleted", default)]
    pub notified_deleted: bool,
    /// What the apparatus of each side adds to its config.
    #[serde(skip)]
    pub config_answers: PerSide<Option<ConfigAnswer>>,
    /// The socket it is coupled to, or about to be.
    #[serde(default)]
    pub socket: Option<ObjectIdentity>,
    /// Both sides know of each other: `coupled` has come to its end, and `decoupled` not begun.
    #[serde(default)]
    pub coupled: bool,
    /// The event under way.
    #[serde(default)]
    pub pending: Option<PendingEvent>,
    /// What was last told to both sides, as a hash.
    #[serde(default)]
    pub content: String,
    /// What was made for the plug alone.
    #[serde(default)]
    pub own: Vec<AppliedObject>,
    /// What was made for the coupling, in the order it was made in.
    #[serde(default)]
    pub inventory: PerSide<Vec<AppliedObject>>,
    /// Names of results that are not to be shown.
    #[serde(default)]
    pub hidden: PerSide<Vec<String>>,
    /// How often teardown was refused something.
    #[serde(default)]
    pub refusals: u32,
    /// What teardown has given up on.
    #[serde(default)]
    pub abandoned: BTreeSet<String>,
    /// The uids of objects that are to be gone before they are made anew at the beginning, the parting or the end: by event and
    /// [`Made::shown`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replaced: BTreeMap<String, String>,
    /// How often a program did not hear of a parting that it is told of at present.
    #[serde(rename = "unheard", default, skip_serializing_if = "is_zero")]
    pub failed_calls: u32,
    /// The configurations.
    #[serde(skip)]
    pub config: PerSide<Values>,
    /// The results; absent until there are some.
    #[serde(skip)]
    pub result: Option<PerSide<Values>>,
    /// The objects at the time of the last event, when their parting needs them.
    #[serde(skip)]
    pub snapshot: Option<CouplingSnapshot>,
    /// Something is wrong with it at present.
    #[serde(skip)]
    pub failing: bool,
    /// Whether the socket has a place for it; absent until it says so.
    #[serde(skip)]
    pub admitted: Option<bool>,
}

impl CouplingRecord {
    /// Of a plug that is seen for the first time.
    pub fn new(meta: &PlugMeta, now: &str) -> Self {
        Self { plug: ObjectIdentity::of(meta), since: now.to_string(), ..Self::default() }
    }

    /// Whether there is anything to take apart.
    pub fn is_bound(&self) -> bool {
        let begun = self.pending.as_ref().is_some_and(|pending| pending.event != CouplingEvent::Created);
        self.coupled || begun || !self.inventory.plug.is_empty() || !self.inventory.socket.is_empty()
    }

    /// The sides that do not know of the coupling: it is not over for who was never told that it began.
    pub fn uninformed_sides(&self) -> BTreeSet<CouplingSide> {
        let heard = |side: &CouplingSide| {
            let done = self.pending.as_ref().map(|pending| &pending.done);
            self.coupled || done.is_some_and(|done| done.contains(side.as_str()) || done.contains(&call_step(*side)))
        };
        CouplingSide::BOTH.into_iter().filter(|side| !heard(side)).collect()
    }

    /// Begins an event, at a time and its milliseconds.
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

    /// The name of the Secret with the results, where one of them is not to be shown.
    pub fn binding(&self) -> Option<String> {
        let hides = !self.hidden.plug.is_empty() || !self.hidden.socket.is_empty();
        (self.coupled && self.result.is_some() && hides).then(|| binding_name(&self.plug.name))
    }

    /// Nothing binds it to a socket any more.
    pub fn release(&mut self) {
        (self.socket, self.coupled, self.pending, self.result, self.snapshot) = (None, false, None, None, None);
        (self.content, self.config, self.inventory) = (String::new(), PerSide::default(), PerSide::default());
        (self.refusals, self.admitted, self.hidden) = (0, None, PerSide::default());
        self.config_answers = PerSide::default();
        self.abandoned.clear();
        self.replaced.retain(|object, _| !object.starts_with(CouplingEvent::Decoupled.as_str()));
        self.failed_calls = 0;
    }
}

/// The mark of a step: the program of a side was told.
pub fn call_step(side: CouplingSide) -> String {
    format!("{} called", side.as_str())
}

/// The name of the Secret with the results of a plug that are not shown.
pub fn binding_name(plug: &str) -> String {
    format!("{plug}-binding")
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
