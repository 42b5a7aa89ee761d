#![allow(clippy::unwrap_used)]

use kube::client::Body;
use serde_json::json;
use switchboard_gather::contract::ExactResource;

use super::*;

/// Returns a client for a cluster that serves only Secrets, with one or no version of discovery, and answers every
/// other request with the list of all Secrets.
fn client_with_discovery(version: Option<&'static str>) -> kube::Client {
    let service = tower::service_fn(move |request: http::Request<Body>| async move {
        let accept = request.headers()[ACCEPT].to_str().unwrap().to_string();
        let requested = version.filter(|v| accept.split([',', ';']).any(|part| part == format!("v={v}")));
        let secrets = json!({"resource": "secrets", "scope": "Namespaced", "responseKind": {"kind": "Secret"}});
        let groups = json!([{"metadata": {}, "versions": [{"version": "v1", "resources": [secrets]}]}]);
        let answer = match (request.uri().path(), requested) {
            ("/api", Some(_)) => json!({"kind": "APIGroupDiscoveryList", "items": groups}),
            ("/apis", Some(_)) => json!({"kind": "APIGroupDiscoveryList", "items": []}),
            ("/api" | "/apis", None) => json!({"kind": "APIVersions"}),
            _ => {
                json!({"apiVersion": "v1", "kind": "SecretList", "items": [{"metadata": {"name": "tok"}, "data": {"key": "aHVzaA=="}}]})
            }
        };
        Ok::<_, kube::Error>(http::Response::new(Body::from(answer.to_string().into_bytes())))
    });
    kube::Client::new(service, "default")
}

fn secret(name: &str) -> InputQuery {
    let of = ResourceType::new("", "v1", "secrets");
    InputQuery::Get(ExactResource { of, namespace: "shop".into(), name: name.into() })
}

#[tokio::test]
async fn discovery_works_with_both_versions() {
    for version in ["v2", "v2beta1"] {
        assert!(LiveCluster::with_client(client_with_discovery(Some(version))).await.is_ok(), "{version}");
    }
    let none = LiveCluster::with_client(client_with_discovery(None)).await.err().unwrap();
    assert!(matches!(none, LiveClusterError::NoDiscovery), "{none}");
}

#[tokio::test]
async fn only_the_requested_object_is_read() {
    let live = LiveCluster::with_client(client_with_discovery(Some("v2"))).await.unwrap();
    for name in ["", ".", ".."] {
        let refused = live.answer(&secret(name)).await.unwrap_err();
        assert_eq!(refused, format!("`{name}` is not a valid object name"));
    }
    let odd = live.answer(&secret("tok")).await.unwrap_err();
    assert_eq!(odd, "the cluster returned another kind: SecretList");
}
