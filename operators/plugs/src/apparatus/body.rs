//! What an apparatus is told: the bodies of its calls.

use serde_json::{Map, Value, json};

use crate::render::{CouplingSide, Values};

/// The version of the bodies. `/config` has always said it as a number, the events as text; programs read both.
const VERSION: u64 = 1;

/// The body of `/config`: `vars` are those of the side that is asked, and left out when it has none.
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

/// The other object, the plug's config and the socket's.
pub type CoupledPair<'a> = (&'a Value, &'a Values, &'a Values);

/// The body of an event. Before it is coupled, and after, a side knows itself alone: the other and the configs are left out.
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

/// What tells an event apart from every other: which side is told, of whom, which event, and its number. It is the same however
/// often the event is told, so a program can leave out what it has heard already.
pub fn event_mark(side: CouplingSide, plug: &str, socket: &str, event: &str, number: u64) -> String {
    super::pod::digest(&[side.as_str(), plug, socket, event, &number.to_string()])[..32].to_string()
}

/// The number of a question: as long as it stays the same, the answer of `/config` need not be asked for again.
///
/// What a server writes into an object without a change of it is left out: status, revisions, who wrote which field when.
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
