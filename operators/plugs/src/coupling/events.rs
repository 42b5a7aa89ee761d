//! What is told to people as Kubernetes Events.

use serde_json::{Value, json};
use switchboard_kernel::plan::Mutation;
use switchboard_kernel::resource::Resource;

use super::content::hash;
use super::record::ObjectIdentity;
use crate::model::{CouplingEvent, GROUP, VERSION};
use crate::render::CouplingSide;

/// The kind of Events.
const EVENTS: Resource = Resource::namespaced("", "v1", "Event", "events");
/// The longest beginning of a name, so that the rest fits.
const MAX_PREFIX: usize = 200;
/// The longest message of an Event.
const MAX_MESSAGE: usize = 1024;

/// Something worth telling about a plug or a socket.
#[derive(Clone, Copy, Debug)]
pub enum EventKind<'a> {
    /// An event of the integration.
    Lifecycle(CouplingEvent),
    /// Something a person should know.
    Warning {
        /// As one word.
        reason: &'a str,
        /// In full.
        message: &'a str,
    },
}

/// The Event about an object. Its name follows from `what`, so that what is told twice is one Event.
pub fn kubernetes_event(
    side: CouplingSide,
    about: &ObjectIdentity,
    notice: EventKind<'_>,
    what: &str,
    at: &str,
) -> Mutation {
    let kind = match side {
        CouplingSide::Plug => "Plug",
        CouplingSide::Socket => "Socket",
    };
    let (of_type, reason, message) = match notice {
        EventKind::Lifecycle(event) => {
            let word = event.as_str();
            let capital: String = word[..1].to_uppercase() + &word[1..];
            let message = format!("{} {}/{} {word}", side.as_str(), about.name, about.namespace);
            ("Normal", format!("{kind}{capital}"), message)
        }
        EventKind::Warning { reason, message } => {
            let end = message.floor_char_boundary(MAX_MESSAGE);
            ("Warning", reason.to_string(), message[..end].to_string())
        }
    };
    event(kind, about, (of_type, &reason, &message), what, at)
}

/// A warning about an object of a kind that has no side in a coupling.
pub fn warning_event(kind: &str, about: &ObjectIdentity, reason: &str, message: &str, at: &str) -> Mutation {
    let end = message.floor_char_boundary(MAX_MESSAGE);
    event(kind, about, ("Warning", reason, &message[..end]), message, at)
}

fn event(kind: &str, about: &ObjectIdentity, said: (&str, &str, &str), what: &str, at: &str) -> Mutation {
    let (of_type, reason, message) = said;
    let prefix = &about.name[..about.name.floor_char_boundary(MAX_PREFIX)];
    let name = format!("{prefix}.{}", &hash(&json!([about.uid, reason, what]))[..16]);
    Mutation::apply(&EVENTS, body(kind, about, &name, of_type, reason, message, at)).forced().unconditional()
}

fn body(kind: &str, about: &ObjectIdentity, name: &str, of_type: &str, reason: &str, message: &str, at: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": about.namespace},
        "involvedObject": {
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": kind, "name": about.name, "namespace": about.namespace,
            "uid": about.uid,
        },
        "type": of_type, "reason": reason, "message": message, "count": 1,
        "firstTimestamp": at, "lastTimestamp": at,
        "source": {"component": "integration-operator"},
        "reportingComponent": "integration-operator", "reportingInstance": "switchboard",
    })
}
