//! Reference of the REST API, generated from its OpenAPI document. `UPDATE=1` rewrites it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use switchboard_gitops::rest;
use switchboard_http::openapi;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/REST.md");
const HEAD: &str = "# REST API\n\n\
    Generated from the API's OpenAPI document; `UPDATE=1 cargo test -p switchboard-console reference` rewrites it. The document \
    itself (OpenAPI 3.1, with every field of every body) is served at `/api/v1/openapi.json`, next to the console.\n\n\
    Requests are authenticated by a Kubernetes token in `Authorization: Bearer …` and authorized by its RBAC permissions; requests \
    marked *open* need no token while the console listens on loopback. Errors are returned as `application/problem+json` with \
    `title`, `detail` and `hint`. Lists are paged: set `limit`, and `continue` to the token of the previous page.\n";

fn name(parameter: &Value, document: &Value) -> String {
    let found = match parameter["$ref"].as_str() {
        Some(to) => document.pointer(to.trim_start_matches('#')).unwrap(),
        None => parameter,
    };
    let name = found["name"].as_str().unwrap();
    if found["required"] == true { format!("`{name}`") } else { format!("`{name}`?") }
}

/// Returns the name of the referenced schema.
fn schema(of: &Value) -> Option<&str> {
    let content = of["content"].as_object()?.values().next()?;
    content["schema"]["$ref"].as_str()?.rsplit('/').next()
}

fn row(path: &str, method: &str, operation: &Value, document: &Value) -> String {
    let parameters = operation["parameters"].as_array().into_iter().flatten().map(|one| name(one, document));
    let body = schema(&operation["requestBody"]).map(|schema| format!("body {schema}"));
    let inputs: Vec<String> = parameters.chain(body).collect();
    let good = operation["responses"].as_object().unwrap().iter().filter(|(code, _)| code.starts_with('2'));
    let answers: Vec<String> = good
        .map(|(code, answer)| format!("{code} {}", schema(answer).unwrap_or_default()).trim().to_string())
        .collect();
    let open = if operation["security"] == serde_json::json!([]) { " (*open*)" } else { "" };
    let summary = operation["summary"].as_str().unwrap();
    format!("| {} `{path}` | {summary}{open} | {} | {} |", method.to_uppercase(), inputs.join(", "), answers.join(", "))
}

#[test]
fn reference_matches_the_document() {
    let document = openapi::document(vec![super::part(), rest::document_part()]);
    let mut areas: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let area = operation["tags"][0].as_str().unwrap();
            areas.entry(area).or_default().push(row(path, method, operation, &document));
        }
    }
    let mut text = HEAD.to_string();
    for (area, rows) in areas {
        let _ = write!(
            text,
            "\n## {area}\n\n| request | summary | parameters | response |\n|---|---|---|---|\n{}\n",
            rows.join("\n")
        );
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(FILE, &text).unwrap();
    }
    let written = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        written == text,
        "docs/reference/REST.md is stale\nhint: UPDATE=1 cargo test -p switchboard-console reference"
    );
}
