use ring::hmac;
use serde_json::{Value, json};
use switchboard_sql::RowChange;

use super::applications::web;
use super::operations::instance;
use crate::rest::tests::testing::{TestClient, TestCluster, TestResponse, WEBHOOK_SECRET};
use crate::rows::{Application, DeploymentToApplication};

pub fn signed(secret: &str, body: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body);
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

async fn send(client: &TestClient, query: &str, secret: &str, event: &Value) -> TestResponse {
    let body = event.to_string().into_bytes();
    let signature = signed(secret, &body);
    let headers =
        [("content-type", "application/json"), ("x-github-event", "push"), ("x-hub-signature-256", signature.as_str())];
    client.request("POST", &format!("/api/v1/webhookevent{query}"), &headers, body).await
}

/// Creates an application that is on an Argo CD instance.
pub async fn deployed(cluster_fixture: &TestCluster, tenant: &str) -> String {
    let ci = cluster_fixture.api_client(tenant, "ci").await;
    let mut wanted = web();
    wanted["tenant"] = json!(tenant);
    assert_eq!(ci.post("/api/v1/application", &wanted).await.status, 201);
    let path = format!("/apis/managed-gitops.redhat.com/v1alpha1/namespaces/{tenant}/gitopsdeployments/web");
    let uid = cluster_fixture.get(&path).await.unwrap()["metadata"]["uid"].as_str().unwrap().to_string();
    let (id, name) = (format!("a-{tenant}"), format!("gitopsdepl-{uid}"));
    let row = Application {
        id: id.clone().into(),
        name: name.clone(),
        spec_field: "spec: {}".into(),
        instance: "i-1".into(),
        environment: None,
        created_on: Default::default(),
    };
    let mapping = DeploymentToApplication {
        deployment_uid: uid.into(),
        name: Some("web".into()),
        namespace: Some(tenant.into()),
        namespace_uid: None,
        application: id.clone().into(),
    };
    cluster_fixture.ledger.commit(&[RowChange::insert(&row), RowChange::insert(&mapping)]).await.unwrap();
    let object = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": { "name": name, "labels": { "databaseID": id } },
    });
    cluster_fixture.post("/apis/argoproj.io/v1alpha1/namespaces/argocd/applications", object).await;
    format!("/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/{name}")
}

fn push() -> Value {
    json!({ "ref": "refs/heads/main", "repository": { "clone_url": "https://git.example/shop/web.git", "default_branch": "main" } })
}

async fn is_refreshed(cluster_fixture: &TestCluster, path: &str) -> bool {
    cluster_fixture.get(path).await.unwrap()["metadata"]["annotations"]["argocd.argoproj.io/refresh"] == "normal"
}

#[tokio::test]
async fn a_push_refreshes_the_applications_that_deploy_it() {
    let cluster_fixture = TestCluster::build().await;
    cluster_fixture.ledger.commit(&instance("i-1")).await.unwrap();
    let (shop, bank) = (deployed(&cluster_fixture, "shop").await, deployed(&cluster_fixture, "bank").await);
    let sender = TestClient { token: String::new(), ..cluster_fixture.api_client("shop", "ci").await };
    let other = json!({ "ref": "refs/heads/main", "repository": "https://git.example/other" });
    assert_eq!(send(&sender, "", WEBHOOK_SECRET, &other).await.body, json!({ "matched": 0, "refreshed": 0 }));
    assert!(!is_refreshed(&cluster_fixture, &shop).await);
    let own = json!({
        "metadata": { "name": "gitops-webhook" }, "type": "managed-gitops.redhat.com/webhook", "stringData": { "secret": "of-shop" },
    });
    cluster_fixture.post("/api/v1/namespaces/shop/secrets", own).await;
    let answer = send(&sender, "?tenant=shop", "of-shop", &push()).await;
    assert_eq!((answer.status.as_u16(), answer.body), (202, json!({ "matched": 1, "refreshed": 1 })));
    assert!(
        is_refreshed(&cluster_fixture, &shop).await && !is_refreshed(&cluster_fixture, &bank).await,
        "a tenant's event refreshes only its own applications"
    );
    assert_eq!(send(&sender, "", WEBHOOK_SECRET, &push()).await.body, json!({ "matched": 2, "refreshed": 2 }));
    assert!(is_refreshed(&cluster_fixture, &bank).await);
    let read = cluster_fixture.api_client("shop", "ci").await.get("/api/v1/application/shop.web").await;
    assert_eq!(read.body["engineInstance"], "i-1");
}

#[tokio::test]
async fn an_unsigned_event_is_rejected() {
    let cluster_fixture = TestCluster::build().await;
    let sender = TestClient { token: String::new(), ..cluster_fixture.api_client("shop", "ci").await };
    let wrong_type = json!({ "metadata": { "name": "gitops-webhook" }, "stringData": { "secret": "s" } });
    cluster_fixture.post("/api/v1/namespaces/bank/secrets", wrong_type).await;
    for (query, secret) in
        [("", "wrong"), ("", ""), ("?tenant=shop", WEBHOOK_SECRET), ("?tenant=none", "s"), ("?tenant=bank", "s")]
    {
        let refused = send(&sender, query, secret, &push()).await;
        assert_eq!(refused.status, 403, "{query}");
        assert_eq!(refused.body["detail"], "the event has no valid signature");
    }
    let unsigned = sender.post("/api/v1/webhookevent", &push()).await;
    assert_eq!(unsigned.status, 403);
    assert_eq!(send(&sender, "", WEBHOOK_SECRET, &json!({})).await.status, 422);
    assert_eq!(sender.request("POST", "/api/v1/webhookevent", &[], Vec::new()).await.status, 415);
    assert_eq!(send(&sender, "?tenant=A", WEBHOOK_SECRET, &push()).await.status, 400);
}
