//! Schemas of statuses.

use serde_json::{Value, json};

use super::parts::{count, flag, free_object, list, object, text};
use super::texts;

fn conditions() -> Value {
    let condition = object(json!({
        "type": {"type": "string"}, "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": {"type": "string"}, "message": {"type": "string"},
        "observedGeneration": {"type": "integer", "format": "int64"},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    }));
    let condition = super::required(condition, &["type", "status", "reason", "message", "lastTransitionTime"]);
    json!({"type": "array", "items": condition, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]})
}

fn reference() -> Value {
    let word = || json!({"type": "string"});
    object(json!({"apiVersion": word(), "kind": word(), "name": word(), "namespace": word(), "uid": word()}))
}

pub(super) fn plug() -> Value {
    object(json!({
        "conditions": conditions(),
        "coupledSocket": reference(),
        "coupledResult": object(json!({
            "plug": texts("the plug's result, secrets hidden"),
            "socket": texts("the socket's result, secrets hidden"),
            "observedGeneration": {"type": "integer", "format": "int64"},
        })),
        "binding": object(json!({"name": text("the Secret with the results, where the interface marks one as secret")})),
    }))
}

pub(super) fn socket() -> Value {
    object(json!({
        "conditions": conditions(),
        "coupledPlugs": list(reference(), "the plugs that are coupled, the first of them when there are many"),
        "plugs": object(json!({
            "coupled": count("how many are coupled"),
            "failing": count("how many fail"),
            "waiting": count("how many wait"),
        })),
        "created": flag("it was told of, and what it makes for itself was made"),
        "made": list(free_object("one"), "what was made for the socket alone"),
        "replaced": texts("the uids of objects that are to be gone before they are made anew"),
        "abandoned": list(json!({"type": "string"}), "what could not be removed at its end, and is left"),
        "summed": text("when its plugs were last counted"),
        "apparatus": object(json!({
            "created": flag("its program was told of the socket"),
            "deleted": flag("its program was told of the socket's end"),
            "tries": count("how often it could not be told of the socket's end"),
        })),
    }))
}

pub(super) fn deferred() -> Value {
    object(json!({
        "conditions": conditions(),
        "ownerReferences": reference(),
        "made": flag("the object was made for this one, and goes with it"),
    }))
}
