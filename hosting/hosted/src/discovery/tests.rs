#![allow(clippy::unwrap_used)]

use kube::client::Body;
use serde_json::json;
use switchboard_gather::contract::ResourceType;

use super::*;

/// Returns a discovery document with one custom resource.
fn lamps(version: &str) -> Value {
    let resource = json!({"resource": "lamps", "scope": "Namespaced", "verbs": ["list"],
        "responseKind": {"group": "", "version": "", "kind": "Lamp"}, "shortNames": ["la"]});
    let version_of = json!({"version": "v1", "freshness": "Current", "resources": [resource]});
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "items": [{"metadata": {"name": "config.openshift.io"}, "versions": [version_of]}]})
}

/// Returns a client of a cluster that knows one version of the documents, or none. The cluster answers with the first
/// accepted version that it knows.
fn knowing(version: Option<&'static str>) -> kube::Client {
    let service = tower::service_fn(move |request: http::Request<Body>| async move {
        let accept = request.headers()[http::header::ACCEPT].to_str().unwrap();
        let known = |clause: &&str| version.is_some_and(|v| clause.split(';').any(|part| part == format!("v={v}")));
        let (code, answer) = match (accept.split(',').find(known), accept.split(',').any(|c| c == "application/json")) {
            (Some(_), _) => (200, lamps(version.unwrap())),
            (None, true) => (200, json!({"kind": "APIVersions", "versions": ["v1"]})),
            (None, false) => (406, json!({"kind": "Status", "status": "Failure", "code": 406})),
        };
        let response = http::Response::builder().status(code).body(Body::from(answer.to_string().into_bytes()));
        Ok::<_, kube::Error>(response.unwrap())
    });
    kube::Client::new(service, "default")
}

#[tokio::test]
async fn a_cluster_is_asked_for_either_version_of_its_documents() {
    for version in ["v2", "v2beta1"] {
        let served = discover(&knowing(Some(version))).await.unwrap();
        assert!(served.served(&ResourceType::new("config.openshift.io", "v1", "lamps")).is_some(), "{version}");
    }
    let old = discover(&knowing(None)).await.unwrap_err();
    assert!(matches!(old, DiscoveryError::NotAggregated), "{old:?}");
}

/// A list request of a type that is missing in the program's discovery would never complete.
#[test]
fn a_program_is_told_of_what_is_usual_beside_what_the_cluster_has_of_a_group() {
    let advertised_documents = advertised(&Discovery::new(Value::Null, lamps("v2")));
    for resource in ["lamps", "ingresses"] {
        assert!(
            advertised_documents.served(&ResourceType::new("config.openshift.io", "v1", resource)).is_some(),
            "{resource}"
        );
    }
    assert!(!advertised_documents.apis().to_string().contains("shortNames"), "no client reads those");
}
