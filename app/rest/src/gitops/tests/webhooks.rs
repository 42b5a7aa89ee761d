use ring::hmac;
use serde_json::{Value, json};
use switchboard_ledger::Change;
use switchboard_ledger::rows::{Application, DeploymentToApplication};

use super::applications::web;
use super::operations::instance;
use crate::testing::{Answer, Asker, HOOK_SECRET, Town};

pub fn signed(secret: &str, body: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body);
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

async fn send(asker: &Asker, query: &str, secret: &str, event: &Value) -> Answer {
    let body = event.to_string().into_bytes();
    let signature = signed(secret, &body);
    let headers =
        [("content-type", "application/json"), ("x-github-event", "push"), ("x-hub-signature-256", signature.as_str())];
    asker.ask("POST", &format!("/api/v1/webhookevent{query}"), &headers, body).await
}

/// An application that is on an Argo CD.
pub async fn deployed(town: &Town, tenant: &str) -> String {
    let ci = town.asker(tenant, "ci").await;
    let mut wanted = web();
    wanted["tenant"] = json!(tenant);
    assert_eq!(ci.post("/api/v1/application", &wanted).await.status, 201);
    let path = format!("/apis/managed-gitops.redhat.com/v1alpha1/namespaces/{tenant}/gitopsdeployments/web");
    let uid = town.get(&path).await.unwrap()["metadata"]["uid"].as_str().unwrap().to_string();
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
    town.ledger.commit(&[Change::insert(&row), Change::insert(&mapping)]).await.unwrap();
    let object = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": { "name": name, "labels": { "databaseID": id } },
    });
    town.post("/apis/argoproj.io/v1alpha1/namespaces/argocd/applications", object).await;
    format!("/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/{name}")
}

fn push() -> Value {
    json!({ "ref": "refs/heads/main", "repository": { "clone_url": "https://git.example/shop/web.git", "default_branch": "main" } })
}

async fn is_refreshed(town: &Town, path: &str) -> bool {
    town.get(path).await.unwrap()["metadata"]["annotations"]["argocd.argoproj.io/refresh"] == "normal"
}

#[tokio::test]
async fn a_push_refreshes_what_deploys_it() {
    let town = Town::build().await;
    town.ledger.commit(&instance("i-1")).await.unwrap();
    let (shop, bank) = (deployed(&town, "shop").await, deployed(&town, "bank").await);
    let sender = Asker { token: String::new(), ..town.asker("shop", "ci").await };
    let other = json!({ "ref": "refs/heads/main", "repository": "https://git.example/other" });
    assert_eq!(send(&sender, "", HOOK_SECRET, &other).await.body, json!({ "matched": 0, "refreshed": 0 }));
    assert!(!is_refreshed(&town, &shop).await);
    let own = json!({
        "metadata": { "name": "gitops-webhook" }, "type": "managed-gitops.redhat.com/webhook", "stringData": { "secret": "of-shop" },
    });
    town.post("/api/v1/namespaces/shop/secrets", own).await;
    let answer = send(&sender, "?tenant=shop", "of-shop", &push()).await;
    assert_eq!((answer.status.as_u16(), answer.body), (202, json!({ "matched": 1, "refreshed": 1 })));
    assert!(
        is_refreshed(&town, &shop).await && !is_refreshed(&town, &bank).await,
        "a tenant's event is for the tenant alone"
    );
    assert_eq!(send(&sender, "", HOOK_SECRET, &push()).await.body, json!({ "matched": 2, "refreshed": 2 }));
    assert!(is_refreshed(&town, &bank).await);
    let read = town.asker("shop", "ci").await.get("/api/v1/application/shop.web").await;
    assert_eq!(read.body["engineInstance"], "i-1");
}

#[tokio::test]
async fn an_event_that_is_not_signed_is_not_believed() {
    let town = Town::build().await;
    let sender = Asker { token: String::new(), ..town.asker("shop", "ci").await };
    let wrong_type = json!({ "metadata": { "name": "gitops-webhook" }, "stringData": { "secret": "s" } });
    town.post("/api/v1/namespaces/bank/secrets", wrong_type).await;
    for (query, secret) in
        [("", "wrong"), ("", ""), ("?tenant=shop", HOOK_SECRET), ("?tenant=none", "s"), ("?tenant=bank", "s")]
    {
        let refused = send(&sender, query, secret, &push()).await;
        assert_eq!(refused.status, 403, "{query}");
        assert_eq!(refused.body["detail"], "the event is not signed as it should be");
    }
    let unsigned = sender.post("/api/v1/webhookevent", &push()).await;
    assert_eq!(unsigned.status, 403);
    assert_eq!(send(&sender, "", HOOK_SECRET, &json!({})).await.status, 422);
    assert_eq!(sender.ask("POST", "/api/v1/webhookevent", &[], Vec::new()).await.status, 415);
    assert_eq!(send(&sender, "?tenant=A", HOOK_SECRET, &push()).await.status, 400);
}
