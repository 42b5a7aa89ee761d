use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::rest::tests::testing::TestCluster;

const CONFIG: &str = "apiVersion: v1\nkind: Config\nusers: [{name: u, user: {token: canary}}]\n";
const SECRET: &str = "/api/v1/namespaces/shop/secrets/prod-kubeconfig";
const OBJECT: &str =
    "/apis/managed-gitops.redhat.com/v1alpha1/namespaces/shop/gitopsdeploymentmanagedenvironments/prod";

fn prod() -> Value {
    json!({ "tenant": "shop", "name": "prod", "url": "https://one.example", "config": CONFIG })
}

fn kubeconfig(secret: &Value) -> String {
    String::from_utf8(STANDARD.decode(secret["data"]["kubeconfig"].as_str().unwrap()).unwrap()).unwrap()
}

#[tokio::test]
async fn a_response_never_contains_the_kubeconfig() {
    let cluster_fixture = TestCluster::build().await;
    let ci = cluster_fixture.api_client("shop", "ci").await;
    let made = ci.post("/api/v1/managedenvironment", &prod()).await;
    assert_eq!((made.status.as_u16(), &made.body["connectionStatus"]), (201, &json!("Unknown")), "{}", made.body);
    assert!(!made.body.to_string().contains("canary"));
    let (object, secret) = (cluster_fixture.get(OBJECT).await.unwrap(), cluster_fixture.get(SECRET).await.unwrap());
    assert_eq!(secret["metadata"]["ownerReferences"][0]["uid"], object["metadata"]["uid"]);
    assert_eq!(
        (kubeconfig(&secret).as_str(), &secret["type"]),
        (CONFIG, &json!("managed-gitops.redhat.com/managed-environment"))
    );
    let condition = json!({ "type": "ConnectionInitializationSucceeded", "status": "False", "reason": "UnableToCreateClient", "message": "no such host", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    cluster_fixture.status(OBJECT, json!({ "conditions": [condition] })).await;
    let read = ci.get("/api/v1/managedenvironment/shop.prod").await;
    assert_eq!(
        (&read.body["connectionStatus"], &read.body["connectionMessage"]),
        (&json!("Failed"), &json!("no such host"))
    );
    let list = ci.get("/api/v1/managedenvironment?tenant=shop").await;
    assert_eq!(list.body["entries"][0]["connectionReason"], "UnableToCreateClient");

    let mut rotated = prod();
    rotated["config"] = json!(CONFIG.replace("canary", "canary-2"));
    let etag = read.headers["etag"].to_str().unwrap();
    assert_eq!(ci.put("/api/v1/managedenvironment/shop.prod", etag, &rotated).await.status, 200);
    assert!(kubeconfig(&cluster_fixture.get(SECRET).await.unwrap()).contains("canary-2"));
    assert_eq!(ci.put("/api/v1/managedenvironment/shop.prod", "\"1\"", &rotated).await.status, 412);

    assert_eq!(ci.delete("/api/v1/managedenvironment/shop.prod").await.status, 204);
    assert_eq!(ci.get("/api/v1/managedenvironment/shop.prod").await.status, 404);
    for _ in 0..10_000 {
        if cluster_fixture.get(SECRET).await.is_none() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("the Secret outlives its environment");
}

#[tokio::test]
async fn a_secret_with_another_owner_is_not_changed() {
    let cluster_fixture = TestCluster::build().await;
    let ci = cluster_fixture.api_client("shop", "ci").await;
    cluster_fixture.post("/api/v1/namespaces/shop/secrets", json!({ "metadata": { "name": "prod-kubeconfig" } })).await;
    assert_eq!(ci.post("/api/v1/managedenvironment", &prod()).await.status, 409);
    assert!(cluster_fixture.get(OBJECT).await.is_none(), "a failed creation leaves no environment");
    let mut named = prod();
    named.as_object_mut().unwrap().remove("config");
    named["credentialsSecret"] = json!("prod-kubeconfig");
    assert_eq!(ci.post("/api/v1/managedenvironment", &named).await.status, 201);
    assert_eq!(ci.put("/api/v1/managedenvironment/shop.prod", "", &prod()).await.status, 409);
    assert!(cluster_fixture.get(SECRET).await.unwrap()["data"].is_null());
}
