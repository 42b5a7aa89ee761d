//! Kubernetes Events of plugs and sockets.

use serde_json::{Value, json};
use switchboard_kernel::plan::Mutation;
use switchboard_kernel::resource::Resource;

use super::content::hash;
use super::record::ObjectIdentity;
use crate::model::{CouplingEvent, GROUP, VERSION};
use crate::render::CouplingSide;

/// Event kind.
const EVENTS: Resource = Resource::namespaced("", "v1", "Event", "events");
/// Maximum length of the name's prefix, so that the hash fits.
const MAX_PREFIX: usize = 200;
/// Maximum length of an Event's message.
const MAX_MESSAGE: usize = 1024;

/// Event about a plug or a socket.
#[derive(Clone, Copy, Debug)]
pub enum EventKind<'a> {
    /// Event of the coupling's lifecycle.
    Lifecycle(CouplingEvent),
    /// Warning for the user.
    Warning {
        /// Reason, as one word.
        reason: &'a str,
        /// Full message.
        message: &'a str,
    },
}

/// Returns an Event about an object. The name is derived from `what`, so that a repeated notification is the same
/// Event.
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

/// Returns a warning Event about an object that is not a side of a coupling.
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
