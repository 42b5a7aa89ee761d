use std::collections::BTreeSet;

use serde_json::Value;

use crate::rest::tests::testing::TestCluster;

async fn document() -> Value {
    let cluster_fixture = TestCluster::build().await;
    let mut client = cluster_fixture.api_client("shop", "ci").await;
    client.token = String::new();
    client.get("/api/v1/openapi.json").await.body
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(pointer) = fields.get("$ref").and_then(Value::as_str) {
                found.insert(pointer.to_string());
            }
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_reference_of_the_document_resolves() {
    let document = document().await;
    assert_eq!(document["openapi"], "3.1.0");
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    for pointer in &found {
        assert!(document.pointer(&pointer[1..]).is_some(), "{pointer} does not resolve");
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(found.contains(&format!("#/components/schemas/{name}")), "{name} is not used");
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(schema["properties"][required.as_str().unwrap()].is_object(), "{name} lacks {required}");
        }
    }
}

#[tokio::test]
async fn every_operation_describes_access_and_problems() {
    let document = document().await;
    let mut ids = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let told = format!("{method} {path}");
            assert!(ids.insert(operation["operationId"].as_str().unwrap().to_string()), "{told} has a duplicate id");
            assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{told}");
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.keys().any(|status| status.starts_with('2')), "{told}");
            if operation["security"] != serde_json::json!([]) {
                for status in ["401", "403", "429"] {
                    assert!(responses.contains_key(status), "{told} does not document {status}");
                }
            }
            for name in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                let mut parameters = operation["parameters"].as_array().unwrap().iter().map(|parameter| {
                    parameter["$ref"].as_str().map_or(parameter, |pointer| document.pointer(&pointer[1..]).unwrap())
                });
                assert!(parameters.any(|parameter| parameter["name"] == name && parameter["in"] == "path"), "{told}");
            }
        }
    }
    assert!(ids.len() >= 18, "{ids:?}");
}

#[tokio::test]
async fn every_operation_of_the_document_is_served_and_no_other_method() {
    let cluster_fixture = TestCluster::build().await;
    let client = cluster_fixture.api_client("ops", "admin").await;
    let document = client.get("/api/v1/openapi.json").await.body;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path.replace("{id}", "shop.none");
        for method in ["GET", "PUT", "POST", "DELETE", "PATCH"] {
            let answer = client.request(method, &path, &[], Vec::new()).await;
            let known = operations.get(method.to_ascii_lowercase()).is_some();
            assert_eq!(answer.status == 405, !known, "{method} {path}: {}", answer.body);
            if !known {
                assert!(answer.headers.contains_key("allow"), "{method} {path}");
            }
        }
    }
    for path in ["/api/v1/nothing", "/api/v1/", "/api/v1/application/", "/api/v1/application/a.b/c"] {
        assert_eq!(client.request("GET", path, &[], Vec::new()).await.status, 404, "{path}");
    }
}
