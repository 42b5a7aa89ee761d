#![allow(clippy::unwrap_used)]

use http::HeaderValue;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;

use super::*;

/// Cluster with a service account `ci` in the namespace `shop`, which may list the namespace's GitOpsDeployments.
struct TestCluster {
    cluster: Cluster,
}

impl TestCluster {
    async fn build() -> TestCluster {
        let fixture = TestCluster { cluster: Cluster::ephemeral().await };
        for namespace in ["shop", "bank"] {
            fixture.post("/api/v1/namespaces", json!({ "metadata": { "name": namespace } })).await;
        }
        fixture.post("/api/v1/namespaces/shop/serviceaccounts", json!({ "metadata": { "name": "ci" } })).await;
        let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop";
        let rules = json!([{ "apiGroups": ["managed-gitops.redhat.com"], "resources": ["*"], "verbs": ["*"] }]);
        fixture.post(&format!("{path}/roles"), json!({ "metadata": { "name": "ci" }, "rules": rules })).await;
        let binding = json!({
            "metadata": { "name": "ci" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ci" },
            "subjects": [{ "kind": "ServiceAccount", "name": "ci", "namespace": "shop" }],
        });
        fixture.post(&format!("{path}/rolebindings"), binding).await;
        fixture
    }

    async fn post(&self, path: &str, object: Value) -> Value {
        let request = http::Request::post(path).header("content-type", "application/json");
        self.cluster.client().request(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap()
    }

    async fn token(&self, namespace: &str, name: &str) -> String {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let object = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
        self.post(&path, object).await["status"]["token"].as_str().unwrap().to_string()
    }
}

#[tokio::test]
async fn guarantees_no_token_no_caller() {
    let cluster_fixture = TestCluster::build().await;
    let auth = Auth::new(cluster_fixture.cluster.client());
    let token = cluster_fixture.token("shop", "ci").await;
    let caller = auth.caller(&token).await.unwrap();
    assert_eq!(caller.name, "system:serviceaccount:shop:ci");
    assert_eq!(caller.rate_limit_key(), "tenant shop");
    let (mutated_body, long) = (format!("{token}x"), "x".repeat(MAX_TOKEN_BYTES + 1));
    for wrong in ["", "nonsense", mutated_body.as_str(), long.as_str()] {
        assert_eq!(auth.caller(wrong).await.unwrap_err().kind(), ProblemKind::Unauthenticated);
    }
}

#[tokio::test]
async fn guarantees_no_access_without_permission() {
    let cluster_fixture = TestCluster::build().await;
    let auth = Auth::new(cluster_fixture.cluster.client());
    let caller = auth.caller(&cluster_fixture.token("shop", "ci").await).await.unwrap();
    let list =
        |namespace: &str| ResourceAttributes::new("list", "managed-gitops.redhat.com", "gitopsdeployments", namespace);
    auth.authorize(&caller, &list("shop")).await.unwrap();
    for other in ["bank", ""] {
        let refused = auth.authorize(&caller, &list(other)).await.unwrap_err();
        assert_eq!(refused.kind(), ProblemKind::Forbidden);
    }
    let refused = auth.authorize(&caller, &list("bank")).await.unwrap_err();
    assert_eq!(
        refused.detail(),
        "`system:serviceaccount:shop:ci` is not allowed to list gitopsdeployments.managed-gitops.redhat.com in namespace `bank`"
    );
}

#[tokio::test]
async fn guarantees_tokens_are_not_exposed() {
    let cluster_fixture = TestCluster::build().await;
    let auth = Auth::new(cluster_fixture.cluster.client());
    let token = cluster_fixture.token("shop", "ci").await;
    auth.caller(&token).await.unwrap();
    let refused = auth.caller("hunter2").await.unwrap_err();
    for shown in [format!("{auth:?}"), format!("{:?}", auth.tokens.lock().unwrap()), format!("{refused:?}")] {
        assert!(!shown.contains(&token) && !shown.contains("hunter2"), "{shown}");
    }
}

#[tokio::test]
async fn an_entry_is_returned_until_it_expires() {
    let cluster_fixture = TestCluster::build().await;
    let auth = Auth::new(cluster_fixture.cluster.client());
    let token = cluster_fixture.token("shop", "ci").await;
    assert_eq!(auth.cached(&token), None);
    let caller = auth.caller(&token).await.unwrap();
    assert_eq!(auth.cached(&token), Some(Some(caller)));
    let _ = auth.caller("nonsense").await;
    assert_eq!(auth.cached("nonsense"), Some(None));
}

#[tokio::test]
async fn an_unreachable_cluster_authenticates_no_caller() {
    let broken = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no"))
    });
    let auth = Auth::new(Client::new(broken, "default"));
    assert_eq!(auth.caller("any").await.unwrap_err().kind(), ProblemKind::Unavailable);
    assert_eq!(auth.cached("any"), None);
}

#[test]
fn a_request_has_one_authorization_header() {
    let of = |text: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(text).unwrap());
        bearer(&headers).map(str::to_string)
    };
    assert_eq!(of("Bearer abc").unwrap(), "abc");
    assert_eq!(of("bearer abc").unwrap(), "abc");
    for wrong in ["Basic abc", "Bearer", "abc", ""] {
        assert_eq!(of(wrong).unwrap_err().kind(), ProblemKind::Unauthenticated, "{wrong}");
    }
    assert_eq!(bearer(&HeaderMap::new()).unwrap_err().kind(), ProblemKind::Unauthenticated);
}

#[tokio::test]
async fn permissions_of_groups_apply_to_users() {
    let cluster = Cluster::ephemeral().await;
    let auth = Auth::new(cluster.client());
    let admin = Caller { name: "ann".into(), groups: vec!["system:masters".into()], ..Caller::default() };
    auth.authorize(&admin, &ResourceAttributes::new("delete", "", "secrets", "")).await.unwrap();
    let other = Caller { name: "ann".into(), ..Caller::default() };
    assert!(
        !auth.is_allowed(&other, &ResourceAttributes::new("delete", "", "secrets", "").with_name("x")).await.unwrap()
    );
    assert_eq!(other.rate_limit_key(), "user ann");
    assert_eq!(json!(admin)["username"], "ann");
}
