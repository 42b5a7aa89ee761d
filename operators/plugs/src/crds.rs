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
        "name": {"type": "string", "minLength": 1, "description": "the socket to couple to"},
        "namespace": text("its namespace; that of the plug when left out"),
    }));
    let mut spec = sides::side("plug");
    spec["properties"]["socket"] = required(socket, &["name"]);
    spec["properties"]["interface"] = object(json!({
        "name": text("the interface the plug was written for; a socket of another does not take it"),
        "version": text("its version; any when left out"),
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
    fields["limit"] = count("how many plugs may be coupled at a time; any number when left out");
    let pattern = rule(
        json!({"type": "string", "maxLength": 253}),
        "'x'.matches(self) || !'x'.matches(self)",
        "must be a regular expression; it is compared with the whole name of a namespace",
    );
    fields["validation"] = object(json!({
        "namespaceWhitelist": bounded(list(pattern.clone(), "namespaces that may use the socket"), 256),
        "namespaceBlacklist": bounded(list(pattern, "namespaces that may not use the socket"), 256),
    }));
    fields["consent"] = object(json!({
        "namespaces": list(json!({"type": "string"}), "namespaces that may use the socket, by name"),
        "namespaceSelector": free_object("namespaces that may use the socket, by label: matchLabels, matchExpressions"),
    }));
    fields["deletionPolicy"] =
        string_enum(&["KeepPlugs", "DeletePlugs"], "KeepPlugs", "what becomes of plugs when the socket is deleted");
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
            "apiVersion": text("of what is waited for"),
            "group": text("instead of apiVersion"),
            "version": text("instead of apiVersion"),
            "kind": text("of what is waited for"),
            "name": text("of what is waited for"),
            "condition": text("a condition that must be True of it; its existence is enough when left out"),
        })),
        &["kind", "name"],
    );
    let spec = required(
        object(json!({
            "timeout": {"type": "integer", "format": "int64", "minimum": 0, "maximum": u32::MAX,
                "description": "seconds that must have passed since this object was made"},
            "waitFor": list(wait_for, "what must be there first, in the same namespace"),
            "resource": free_object("what is made then, in the same namespace"),
            "serviceAccountName": {"type": "string", "default": "default", "description": "whom it is made as"},
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
