//! CustomResourceDefinitions of the three kinds.

mod parts;
mod sides;
mod statuses;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use switchboard_kernel::resource::Resource;

use crate::model::{DEFERRED_RESOURCES, GROUP, PLUGS, SOCKETS, VERSION};
use parts::{column, count, free_object, list, map_of, object, rule, string_enum, text};

/// Returns the CustomResourceDefinitions of Plug, Socket and DeferredResource.
pub fn crds() -> Vec<Value> {
    vec![plugs(), sockets(), deferred_resources()]
}

fn plugs() -> Value {
    let socket = object(json!({
        "name": {"type": "string", "minLength": 1, "description": "Name of the socket."},
        "namespace": text("Namespace of the socket; the default is the namespace of the plug."),
    }));
    let mut spec = sides::side("plug");
    spec["properties"]["socket"] = required(socket, &["name"]);
    spec["properties"]["interface"] = object(json!({
        "name": text("Interface that the plug is written for; a socket with another interface refuses the plug."),
        "version": text("Version of the interface; the default is any version."),
    }));
    let columns = json!([
        column("Socket", "string", ".spec.socket.name"),
        column("Coupled", "string", r#".status.conditions[?(@.type=="Coupled")].status"#),
        column("Reason", "string", r#".status.conditions[?(@.type=="Coupled")].reason"#),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]);
    definition(&PLUGS, "plug", "plg", spec, statuses::plug(), columns)
}

fn sockets() -> Value {
    let mut spec = sides::side("socket");
    let fields = &mut spec["properties"];
    fields["interface"] = sides::interface();
    fields["limit"] = count("Maximum number of coupled plugs; the default is no limit.");
    let pattern = rule(
        json!({"type": "string", "maxLength": 253}),
        "'x'.matches(self) || !'x'.matches(self)",
        "must be a regular expression; it is compared with the whole name of a namespace",
    );
    fields["validation"] = object(json!({
        "namespaceWhitelist": bounded(list(pattern.clone(), "Regular expressions for names of namespaces that may use the socket."), 256),
        "namespaceBlacklist": bounded(list(pattern, "Regular expressions for names of namespaces that may not use the socket."), 256),
    }));
    fields["consent"] = object(json!({
        "namespaces": list(json!({"type": "string"}), "Names of namespaces that may use the socket."),
        "namespaceSelector": free_object("Label selector of namespaces that may use the socket: matchLabels, matchExpressions."),
    }));
    fields["deletionPolicy"] =
        string_enum(&["KeepPlugs", "DeletePlugs"], "KeepPlugs", "Effect of the socket's deletion on its plugs.");
    let columns = json!([
        column("Plugs", "integer", ".status.plugs.coupled"),
        column("Limit", "integer", ".spec.limit"),
        column("Coupled", "string", r#".status.conditions[?(@.type=="Coupled")].status"#),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]);
    definition(&SOCKETS, "socket", "sock", spec, statuses::socket(), columns)
}

fn deferred_resources() -> Value {
    let wait_for = required(
        object(json!({
            "apiVersion": text("API version of the object."),
            "group": text("API group of the object, instead of apiVersion."),
            "version": text("Version of the object, instead of apiVersion."),
            "kind": text("Kind of the object."),
            "name": text("Name of the object."),
            "condition": text("Condition that must be True; without it, the object only needs to exist."),
        })),
        &["kind", "name"],
    );
    let spec = required(
        object(json!({
            "timeout": {"type": "integer", "format": "int64", "minimum": 0, "maximum": u32::MAX,
                "description": "Seconds to wait after the creation of this object."},
            "waitFor": list(wait_for, "Objects to wait for, in the same namespace."),
            "resource": free_object("Object to create, in the same namespace."),
            "serviceAccountName": {"type": "string", "default": "default", "description": "Service account that creates the object."},
        })),
        &["resource"],
    );
    let columns = json!([
        column("Resolved", "string", r#".status.conditions[?(@.type=="Resolved")].status"#),
        column("Reason", "string", r#".status.conditions[?(@.type=="Resolved")].reason"#),
        column("Age", "date", ".metadata.creationTimestamp"),
    ]);
    definition(&DEFERRED_RESOURCES, "deferredresource", "defer", spec, statuses::deferred(), columns)
}

fn required(mut schema: Value, names: &[&str]) -> Value {
    schema["required"] = json!(names);
    schema
}

fn bounded(mut schema: Value, items: u32) -> Value {
    schema["maxItems"] = items.into();
    schema
}

fn definition(kind: &Resource, singular: &str, short: &str, spec: Value, status: Value, columns: Value) -> Value {
    let required: &[&str] = if *kind == DEFERRED_RESOURCES { &["spec"] } else { &[] };
    let schema = json!({"type": "object", "required": required, "properties": {
        "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
        "spec": spec, "status": status,
    }});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{GROUP}", kind.plural)},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind.kind, "listKind": format!("{}List", kind.kind), "plural": kind.plural,
                "singular": singular, "shortNames": [short], "categories": ["integrations"],
            },
            "versions": [{
                "name": VERSION, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns,
            }],
        },
    })
}

/// Returns the schema of a string map.
fn texts(description: &str) -> Value {
    map_of(json!({"type": "string"}), description)
}
