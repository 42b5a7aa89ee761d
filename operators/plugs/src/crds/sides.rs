//! Schemas of the fields that plugs and sockets share, and of the interface.

use serde_json::{Value, json};

use super::parts::{flag, free_object, list, map_of, object, rule, text};
use super::{required, texts};
use crate::model::{CouplingEvent, DEFAULT_IDLE_TIMEOUT_S};

pub(super) fn side(what: &str) -> Value {
    let sources = |name: &str, of: &str| {
        json!({
            name: texts(&format!("{of}, written down")),
            format!("{name}ConfigMapName"): text(&format!("a ConfigMap with {of}")),
            format!("{name}SecretName"): text(&format!("a Secret with {of}; the service account must be allowed to get it")),
        })
    };
    let mut fields = json!({
        "vars": list(var(), "fields of other objects, for configTemplate"),
        "resultVars": list(var(), "fields of other objects, for resultTemplate"),
        "configTemplate": texts("the configuration, one template for each name"),
        "resultTemplate": texts("the result, one template for each name"),
        "serviceAccountName": {"type": "string", "default": "default", "description": format!("whom the {what} acts as")},
        "apparatus": apparatus(),
        "resources": list(resource(), "objects to make, change or remove"),
        "resultResources": list(resource(), "objects to make once there are results"),
        "epoch": text("any change of it is an update"),
    });
    let all = [("data", "preliminary values"), ("config", "the configuration"), ("result", "the result")];
    for (name, of) in all {
        let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), sources(name, of)) else { continue };
        fields.extend(more);
    }
    object(fields)
}

fn var() -> Value {
    let objref = object(json!({
        "apiVersion": text("of the object"), "group": text("instead of apiVersion"), "version": text("instead of apiVersion"),
        "kind": text("of the object"), "name": text("of the object"), "namespace": text("the owner's own, or left out"),
        "templateName": text("a template that gives the name"),
        "templateNamespace": text("a template that gives the namespace"),
    }));
    let fieldref = object(json!({"fieldPath": text("which field; metadata.name when left out")}));
    required(
        object(json!({
            "name": text("how templates name the value"),
            "objref": required(objref, &["kind"]),
            "fieldref": fieldref,
            "default": text("what it is when the field is absent; an error when left out"),
        })),
        &["name", "objref"],
    )
}

fn apparatus() -> Value {
    let mut schema = object(json!({
        "endpoint": text("a URL, or the path under which its pod serves"),
        "idleTimeout": {"type": "integer", "format": "int32", "minimum": 0, "default": DEFAULT_IDLE_TIMEOUT_S,
            "description": "seconds without work after which its pod is stopped"},
        "timeout": {"type": "integer", "format": "int32", "minimum": 1, "description": "seconds an answer is waited for"},
        "startupTimeout": {"type": "integer", "format": "int32", "minimum": 1,
            "description": "seconds its pod may take until it answers"},
        "port": {"x-kubernetes-int-or-string": true, "description": "of its API, by number or by name"},
        "containers": list(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            "of its pod; none for a program that runs elsewhere"),
        "template": free_object("a pod template, instead of the fields of a pod's spec"),
    }));
    schema["x-kubernetes-preserve-unknown-fields"] = true.into();
    schema
}

fn resource() -> Value {
    let tree = || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let events: Vec<&str> = CouplingEvent::ALL.iter().map(|event| event.as_str()).collect();
    let schema = object(json!({
        "do": {"type": "string", "enum": ["apply", "delete", "recreate"], "default": "apply", "description": "what to do"},
        "when": {"type": "array", "items": {"type": "string", "enum": events}, "default": ["coupled", "updated"],
            "x-kubernetes-list-type": "set", "description": "at which events"},
        "preserveWhenDecoupled": flag("it stays when plug and socket are taken apart"),
        "retainWhenDecoupled": flag("the same as preserveWhenDecoupled"),
        "force": flag("take fields from others who manage them"),
        "template": tree(),
        "templates": list(tree(), "several of them"),
        "stringTemplate": text("YAML with templates; may render to nothing, or to several documents"),
        "stringTemplates": list(json!({"type": "string"}), "several of them"),
    }));
    rule(
        schema,
        "has(self.template) || has(self.templates) || has(self.stringTemplate) || has(self.stringTemplates)",
        "holds no template: give one of template, templates, stringTemplate and stringTemplates",
    )
}

pub(super) fn interface() -> Value {
    let property = object(json!({
        "default": text("what it is when nobody gives it"),
        "description": text("for people"),
        "required": flag("without it there is no integration"),
        "type": {"type": "string", "enum": ["string", "integer", "number", "boolean"], "description": "what it must read as"},
        "enum": list(json!({"type": "string"}), "what it may be"),
        "pattern": text("a regular expression for the whole of it"),
        "secret": flag("it goes into Secrets only"),
    }));
    let both = |what: &str| {
        object(json!({
            "plug": map_of(property.clone(), &format!("{what} of the plug")),
            "socket": map_of(property.clone(), &format!("{what} of the socket")),
        }))
    };
    object(json!({
        "name": text("what the interface is called; plugs of another are not taken"),
        "version": text("its version; any when left out"),
        "config": both("the configuration"),
        "result": both("the result"),
    }))
}
