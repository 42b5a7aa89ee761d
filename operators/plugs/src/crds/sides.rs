//! Schemas of the fields that plugs and sockets share, and of the interface.

use serde_json::{Value, json};

use super::parts::{flag, free_object, list, map_of, object, rule, text};
use super::{required, texts};
use crate::model::{CouplingEvent, DEFAULT_IDLE_TIMEOUT_S};

pub(super) fn side(what: &str) -> Value {
    let sources = |name: &str, of: &str| {
        let plain = of.to_lowercase();
        json!({
            name: texts(&format!("{of}, as literal values.")),
            format!("{name}ConfigMapName"): text(&format!("ConfigMap with {plain}.")),
            format!("{name}SecretName"): text(&format!("Secret with {plain}; the service account needs permission to get it.")),
        })
    };
    let mut fields = json!({
        "vars": list(var(), "Fields of other objects, for configTemplate."),
        "resultVars": list(var(), "Fields of other objects, for resultTemplate."),
        "configTemplate": texts("Configuration, one template for each key."),
        "resultTemplate": texts("Result, one template for each key."),
        "serviceAccountName": {"type": "string", "default": "default", "description": format!("Service account of the {what}.")},
        "apparatus": described(apparatus(), "Program that takes part in the coupling."),
        "resources": list(resource(), "Objects to apply, delete or recreate."),
        "resultResources": list(resource(), "Objects to apply, delete or recreate as soon as the results exist."),
        "epoch": text("Arbitrary text; a change is an update."),
    });
    let all = [("data", "Preliminary values"), ("config", "Configuration"), ("result", "Result")];
    for (name, of) in all {
        let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), sources(name, of)) else { continue };
        fields.extend(more);
    }
    object(fields)
}

fn var() -> Value {
    let objref = object(json!({
        "apiVersion": text("API version of the object."), "group": text("API group of the object, instead of apiVersion."),
        "version": text("Version of the object, instead of apiVersion."),
        "kind": text("Kind of the object."), "name": text("Name of the object."),
        "namespace": text("Namespace of the object: empty, or the namespace of the plug or socket."),
        "templateName": text("Template for the name."),
        "templateNamespace": text("Template for the namespace."),
    }));
    let fieldref = object(json!({"fieldPath": text("Path of the field; the default is metadata.name.")}));
    required(
        object(json!({
            "name": text("Name of the value in templates."),
            "objref": required(objref, &["kind"]),
            "fieldref": fieldref,
            "default": text("Value for a missing field; without it, a missing field is an error."),
        })),
        &["name", "objref"],
    )
}

fn apparatus() -> Value {
    let mut schema = object(json!({
        "endpoint": text("URL, or path in the pod."),
        "idleTimeout": {"type": "integer", "format": "int32", "minimum": 0, "default": DEFAULT_IDLE_TIMEOUT_S,
            "description": "Seconds without calls until the pod is deleted."},
        "timeout": {"type": "integer", "format": "int32", "minimum": 1, "description": "Timeout of a call in seconds."},
        "startupTimeout": {"type": "integer", "format": "int32", "minimum": 1,
            "description": "Timeout of the pod's start in seconds."},
        "port": {"x-kubernetes-int-or-string": true, "description": "Port of the API, by number or by name."},
        "containers": list(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            "Containers of the pod; empty for a program at an external URL."),
        "template": free_object("Pod template, instead of fields of a pod's spec."),
    }));
    schema["x-kubernetes-preserve-unknown-fields"] = true.into();
    schema
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

fn resource() -> Value {
    let tree = || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let events: Vec<&str> = CouplingEvent::ALL.iter().map(|event| event.as_str()).collect();
    let schema = object(json!({
        "do": {"type": "string", "enum": ["apply", "delete", "recreate"], "default": "apply", "description": "Operation on the object."},
        "when": {"type": "array", "items": {"type": "string", "enum": events}, "default": ["coupled", "updated"],
            "x-kubernetes-list-type": "set", "description": "Events at which the operation is done."},
        "preserveWhenDecoupled": flag("Whether the object is kept after decoupling."),
        "retainWhenDecoupled": flag("Another name of preserveWhenDecoupled."),
        "force": flag("Whether to take over fields of other managers."),
        "template": described(tree(), "Template of one object."),
        "templates": list(tree(), "Templates of objects."),
        "stringTemplate": text("YAML with templates; the result may have no documents or several."),
        "stringTemplates": list(json!({"type": "string"}), "YAML texts with templates."),
    }));
    rule(
        schema,
        "has(self.template) || has(self.templates) || has(self.stringTemplate) || has(self.stringTemplates)",
        "has no template: set one of template, templates, stringTemplate and stringTemplates",
    )
}

pub(super) fn interface() -> Value {
    let property = object(json!({
        "default": text("Value if none is given."),
        "description": text("Description for readers."),
        "required": flag("Whether the coupling fails without a value."),
        "type": {"type": "string", "enum": ["string", "integer", "number", "boolean"], "description": "Type of the value."},
        "enum": list(json!({"type": "string"}), "Permitted values."),
        "pattern": text("Regular expression for the whole value."),
        "secret": flag("Whether the value appears only in Secrets."),
    }));
    let both = |what: &str| {
        object(json!({
            "plug": map_of(property.clone(), &format!("{what} of the plug.")),
            "socket": map_of(property.clone(), &format!("{what} of the socket.")),
        }))
    };
    object(json!({
        "name": text("Name of the interface; plugs with another interface are refused."),
        "version": text("Version of the interface; the default is any version."),
        "config": both("Properties of the configuration"),
        "result": both("Properties of the result"),
    }))
}
