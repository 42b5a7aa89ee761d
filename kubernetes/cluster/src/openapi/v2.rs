//! The OpenAPI v2 document of all served resources.

use serde_json::json;
use switchboard_object::schema::Descriptions;
use switchboard_object::{Map, Value};

use crate::registry::Registry;

use super::operations::{PathItem, PathOperation, paths};
use super::v3::body_types;
use super::{custom, definitions};

/// Builds the document of all groups and versions on each call.
pub fn document(registry: &Registry) -> Value {
    let mut described = Map::new();
    let mut schemas: Map =
        definitions::built_in_definitions().map(|(name, s)| (name.to_string(), custom::to_v2(&s))).collect();
    Descriptions::decompress().add_to(&mut schemas);
    for resource in registry.groups().flat_map(|g| &g.versions).flat_map(|v| &v.resources) {
        described.extend(paths(resource).iter().map(|p| (p.path.clone(), path_item(p))));
        if resource.custom.is_some() {
            let own = custom::v3_definitions(resource, resource.schema.published_schema());
            schemas.extend(own.into_iter().map(|(name, s)| (name, custom::to_v2(&s))));
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": crate::version::MAJOR_MINOR},
        "paths": described,
        "definitions": schemas,
    })
}

fn path_item(path: &PathItem) -> Value {
    let mut item: Map = path.operations.iter().map(|o| (o.method.to_string(), operation(o))).collect();
    let mut parameters = Vec::new();
    if path.named {
        parameters.push(parameter("name", "path", "string"));
    }
    if path.namespaced {
        parameters.push(parameter("namespace", "path", "string"));
    }
    parameters.push(parameter("pretty", "query", "string"));
    item.insert("parameters".into(), parameters.into());
    Value::Object(item)
}

fn operation(operation: &PathOperation) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    if let Some(body) = &operation.body {
        let required = operation.method != "delete";
        parameters.push(json!({"name": "body", "in": "body", "required": required, "schema": reference(body)}));
    }
    parameters.extend(operation.query.iter().map(|(name, kind)| parameter(name, "query", kind)));
    let ok = json!({"description": "OK", "schema": reference(&operation.answer)});
    let mut answers: Map = operation.codes.iter().map(|code| (code.to_string(), ok.clone())).collect();
    answers.insert("401".into(), json!({"description": "Unauthorized"}));
    json!({
        "consumes": body_types(operation),
        "produces": ["application/json", "application/yaml"],
        "schemes": ["https"],
        "operationId": operation.id,
        "parameters": parameters,
        "responses": answers,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {
            "group": operation.kind.group, "kind": operation.kind.kind, "version": operation.kind.version,
        },
    })
}

fn reference(definition: &str) -> Value {
    json!({"$ref": format!("#/definitions/{definition}")})
}

fn parameter(name: &str, place: &str, kind: &str) -> Value {
    let mut parameter = json!({"name": name, "in": place, "type": kind, "uniqueItems": true});
    if place == "path" {
        parameter["required"] = true.into();
    }
    parameter
}
