//! OpenAPI v3 documents, one per group and version.

use serde_json::json;
use switchboard_object::{Map, Value};

use crate::registry::GroupVersionResources;

use super::custom;
use super::definitions::{V3_PREFIX, add_with_references, meta, references};
use super::operations::{PathItem, PathOperation, paths};

/// Builds the document of one version of a group on each call.
pub fn document(version: &GroupVersionResources) -> Value {
    let mut described = Map::new();
    let mut schemas = Map::new();
    let mut wanted: Vec<String> = ["DeleteOptions", "Patch", "Status"].map(meta).to_vec();
    for resource in &version.resources {
        for path in paths(resource) {
            wanted.extend(path.operations.iter().flat_map(|o| o.body.iter().chain([&o.answer]).cloned()));
            described.insert(path.path.clone(), path_item(&path));
        }
        if resource.custom.is_some() {
            for (name, schema) in custom::v3_definitions(resource, resource.schema.published_schema()) {
                wanted.extend(references(&schema.to_string()));
                schemas.insert(name, schema);
            }
        }
    }
    add_with_references(&mut schemas, wanted);
    let custom_only = version.resources.iter().all(|r| r.custom.is_some());
    json!({
        "openapi": "3.0.0",
        "info": info(custom_only),
        "paths": described,
        "components": {"schemas": schemas},
    })
}

fn info(custom_only: bool) -> Value {
    if custom_only {
        json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"})
    } else {
        json!({"title": "Kubernetes", "version": crate::version::MAJOR_MINOR})
    }
}

fn path_item(path: &PathItem) -> Value {
    let mut item: Map = path.operations.iter().map(|o| (o.method.to_string(), operation(o))).collect();
    let mut parameters = Vec::new();
    if path.named {
        parameters.push(parameter("name", "path", "string", true));
    }
    if path.namespaced {
        parameters.push(parameter("namespace", "path", "string", true));
    }
    parameters.push(parameter("pretty", "query", "string", false));
    item.insert("parameters".into(), parameters.into());
    Value::Object(item)
}

fn operation(operation: &PathOperation) -> Value {
    let query: Vec<Value> = operation.query.iter().map(|(name, kind)| parameter(name, "query", kind, false)).collect();
    let mut answers: Map = operation.codes.iter().map(|c| (c.to_string(), answer(&operation.answer))).collect();
    answers.insert("401".into(), json!({"description": "Unauthorized"}));
    let mut described = json!({
        "operationId": operation.id,
        "parameters": query,
        "responses": answers,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {
            "group": operation.kind.group, "kind": operation.kind.kind, "version": operation.kind.version,
        },
    });
    if let Some(body) = &operation.body {
        let content: Map =
            body_types(operation).iter().map(|t| (t.to_string(), json!({"schema": reference(body)}))).collect();
        described["requestBody"] = json!({"content": content});
        if operation.method != "delete" {
            described["requestBody"]["required"] = true.into();
        }
    }
    described
}

/// Returns the media types of a request's body.
pub(super) fn body_types(operation: &PathOperation) -> &'static [&'static str] {
    match (operation.method, operation.custom) {
        ("patch", true) => {
            &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"]
        }
        ("patch", false) => &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
        ],
        (_, true) => &["application/json", "application/yaml"],
        (_, false) => &["*/*"],
    }
}

fn answer(definition: &str) -> Value {
    let schema = json!({"schema": reference(definition)});
    json!({"description": "OK", "content": {"application/json": schema.clone(), "application/yaml": schema}})
}

fn reference(definition: &str) -> Value {
    json!({"$ref": format!("{V3_PREFIX}{definition}")})
}

fn parameter(name: &str, place: &str, kind: &str, required: bool) -> Value {
    let mut parameter = json!({"name": name, "in": place, "schema": {"type": kind, "uniqueItems": true}});
    if required {
        parameter["required"] = true.into();
    }
    parameter
}
