//! Definitions of custom resources, from their CRDs.

use serde_json::json;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::{Map, Value};

use crate::resource::ServedResource;

use super::definitions::{V3_PREFIX, meta};

/// Returns `com.example.shop.v1.Widget` for the kind `Widget` of `shop.example.com/v1`.
pub(super) fn definition_name(kind: &GroupVersionKind) -> String {
    let mut parts: Vec<&str> = kind.group.split('.').rev().collect();
    parts.extend([kind.version.as_str(), kind.kind.as_str()]);
    parts.join(".")
}

/// Returns the definitions of a custom resource and of its list, with the CRD's descriptions.
pub(super) fn v3_definitions(resource: &ServedResource, schema: Option<Value>) -> [(String, Value); 2] {
    let name = definition_name(&resource.kind);
    let mut own = schema.unwrap_or_else(|| json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
    embed_metadata(&mut own, "Standard object's metadata.", "ObjectMeta");
    mark(&mut own, &resource.kind, &resource.kind.kind);
    if let Some(custom) = resource.custom.as_ref().filter(|c| !c.selectable_fields.is_empty()) {
        let fields = custom.selectable_fields.iter().map(|path| json!({"fieldPath": path.trim_start_matches('.')}));
        own["x-kubernetes-selectable-fields"] = fields.collect();
    }
    int_or_string(&mut own);
    let list_kind = &*resource.list_kind;
    let mut list = json!({
        "description": format!("{list_kind} is a list of {}", resource.kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {"items": {
            "description": format!("List of {}.", resource.plural),
            "type": "array",
            "items": {"$ref": format!("{V3_PREFIX}{name}")},
        }},
    });
    embed_metadata(&mut list, "Standard list metadata.", "ListMeta");
    mark(&mut list, &resource.kind, list_kind);
    [(name.clone(), own), (format!("{name}List"), list)]
}

fn embed_metadata(schema: &mut Value, words: &str, definition: &str) {
    let Some(fields) = schema.as_object_mut() else { return };
    let properties = fields.entry("properties").or_insert_with(|| json!({}));
    properties["apiVersion"] = json!({"description": "The group and version of this object.", "type": "string"});
    properties["kind"] = json!({"description": "The kind of this object.", "type": "string"});
    let reference = format!("{V3_PREFIX}{}", meta(definition));
    properties["metadata"] = json!({"description": words, "allOf": [{"$ref": reference}]});
}

fn mark(schema: &mut Value, kind: &GroupVersionKind, name: &str) {
    schema["x-kubernetes-group-version-kind"] = json!([{"group": kind.group, "kind": name, "version": kind.version}]);
}

/// Adds both types for clients that do not know the extension.
fn int_or_string(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) && !fields.contains_key("anyOf") {
                fields.insert("anyOf".into(), json!([{"type": "integer"}, {"type": "string"}]));
            }
            fields.values_mut().for_each(int_or_string);
        }
        Value::Array(items) => items.iter_mut().for_each(int_or_string),
        _ => {}
    }
}

/// Converts a definition to v2: other references, no defaults, no alternatives, no nullable.
pub(super) fn to_v2(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    let is = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    // Schemas that v2 cannot express become unrestricted.
    let open = is("nullable") || is("x-kubernetes-preserve-unknown-fields") || is("x-kubernetes-int-or-string");
    let mut out = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            "default" | "anyOf" | "oneOf" | "not" | "nullable" => {}
            "type" | "properties" | "items" | "additionalProperties" if open => {}
            "allOf" => copy_reference(&mut out, value),
            "$ref" => {
                out.insert(key.clone(), v2_reference(value));
            }
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                out.insert(key.clone(), Value::Object(properties.map(|(n, s)| (n.clone(), to_v2(s))).collect()));
            }
            "items" | "additionalProperties" => {
                out.insert(key.clone(), to_v2(value));
            }
            _ => {
                out.insert(key.clone(), value.clone());
            }
        }
    }
    let scalar = matches!(fields.get("format"), Some(f) if f == "int-or-string") || is_quantity(fields);
    if scalar {
        out.insert("type".into(), "string".into());
    }
    Value::Object(out)
}

/// Whether the definition is the quantity: `{oneOf: [string, number]}` and nothing else.
fn is_quantity(fields: &Map) -> bool {
    fields.len() == 1 && fields.contains_key("oneOf")
}

fn copy_reference(out: &mut Map, all: &Value) {
    if let Some([one]) = all.as_array().map(Vec::as_slice)
        && let Some(reference) = one.get("$ref")
    {
        out.insert("$ref".into(), v2_reference(reference));
    }
}

fn v2_reference(reference: &Value) -> Value {
    reference.as_str().unwrap_or_default().replace(V3_PREFIX, "#/definitions/").into()
}
