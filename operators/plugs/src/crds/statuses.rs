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
            "plug": texts("Result of the plug, with secrets redacted."),
            "socket": texts("Result of the socket, with secrets redacted."),
            "observedGeneration": {"type": "integer", "format": "int64"},
        })),
        "binding": object(json!({"name": text("Secret with the results, if one of them is secret.")})),
    }))
}

pub(super) fn socket() -> Value {
    object(json!({
        "conditions": conditions(),
        "coupledPlugs": list(reference(), "Coupled plugs; only the first ones if there are many."),
        "plugs": object(json!({
            "coupled": count("Number of coupled plugs."),
            "failing": count("Number of failing plugs."),
            "waiting": count("Number of waiting plugs."),
        })),
        "created": flag("Whether the event created is complete: its objects exist and the program was notified."),
        "made": list(free_object("Created object."), "Objects created for the socket itself."),
        "replaced": texts("UIDs of objects that must be deleted before they are recreated."),
        "abandoned": list(json!({"type": "string"}), "Objects that could not be deleted with the socket, and remain."),
        "summed": text("Time of the last count of plugs."),
        "apparatus": object(json!({
            "created": flag("Whether the program was notified of the socket's creation."),
            "deleted": flag("Whether the program was notified of the socket's deletion."),
            "tries": count("Number of failed notifications of the socket's deletion."),
        })),
    }))
}

pub(super) fn deferred() -> Value {
    object(json!({
        "conditions": conditions(),
        "ownerReferences": reference(),
        "made": flag("Whether this DeferredResource created the object, and deletes it."),
    }))
}
