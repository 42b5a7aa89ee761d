//! Request bodies of calls to an apparatus.

use serde_json::{Map, Value, json};

use crate::render::{CouplingSide, Values};

/// Version of the bodies. `/config` has always sent a number and the events a string; programs accept both.
const VERSION: u64 = 1;

/// Returns the body of `/config`. `vars` are those of the side that is called, and are left out if it declares none.
pub fn config_body(
    plug: &Value,
    socket: &Value,
    plug_data: &Values,
    socket_data: &Values,
    vars: Option<&Values>,
) -> Value {
    let mut body = json!({
        "version": VERSION,
        "plug": plug,
        "socket": socket,
        "plugData": plug_data,
        "socketData": socket_data,
    });
    if let Some(vars) = vars {
        body["vars"] = json!(vars);
    }
    body
}

/// The other object, the plug's config and the socket's config.
pub type CoupledPair<'a> = (&'a Value, &'a Values, &'a Values);

/// Returns the body of an event. Unless the sides are coupled, the other object and the configs are left out.
pub fn event_body(side: CouplingSide, owner: &Value, coupled: Option<CoupledPair<'_>>) -> Value {
    let mut body = Map::from_iter([
        ("version".to_string(), Value::from(VERSION.to_string())),
        (side.as_str().to_string(), owner.clone()),
    ]);
    if let Some((other, plug_config, socket_config)) = coupled {
        let opposite = match side {
            CouplingSide::Plug => CouplingSide::Socket,
            CouplingSide::Socket => CouplingSide::Plug,
        };
        body.insert(opposite.as_str().to_string(), other.clone());
        body.insert("plugConfig".to_string(), json!(plug_config));
        body.insert("socketConfig".to_string(), json!(socket_config));
    }
    Value::Object(body)
}

/// Returns an identifier of an event, from the side, the uids, the event and its number. Every retry has the same
/// identifier, so a program can skip an event that it has already handled.
pub fn event_mark(side: CouplingSide, plug: &str, socket: &str, event: &str, number: u64) -> String {
    super::pod::digest(&[side.as_str(), plug, socket, event, &number.to_string()])[..32].to_string()
}

/// Returns a digest of a `/config` request. While the digest is unchanged, the stored response is reused.
///
/// Fields that change without a change by the user are left out: status, revisions and managed fields.
pub fn config_key(url: &str, body: &Value) -> String {
    let mut asked = body.clone();
    for side in [CouplingSide::Plug, CouplingSide::Socket] {
        if let Some(object) = asked.get_mut(side.as_str()).and_then(Value::as_object_mut) {
            object.remove("status");
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata
                    .retain(|field, _| !matches!(field.as_str(), "resourceVersion" | "managedFields" | "generation"));
            }
        }
    }
    super::pod::digest(&[url, &asked.to_string()])
}
