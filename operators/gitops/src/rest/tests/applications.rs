use serde_json::{Value, json};
use switchboard_http::limit::Rate;

use crate::rest::tests::testing::{TestClient, TestCluster};

pub fn web() -> Value {
    json!({
        "tenant": "shop", "name": "web", "gitRepositoryURL": "https://git.example/shop/web", "gitPath": "deploy",
        "syncPolicyAutomatic": true,
    })
}

/// Application with a manual sync policy.
pub fn manual_application() -> Value {
    let mut wanted = web();
    wanted["syncPolicyAutomatic"] = json!(false);
    wanted
}

const OBJECT: &str = "/apis/managed-gitops.redhat.com/v1alpha1/namespaces/shop/gitopsdeployments/web";

#[tokio::test]
async fn an_application_is_stored_as_its_deployment() {
    let cluster_fixture = TestCluster::build().await;
    let ci = cluster_fixture.api_client("shop", "ci").await;
    let made = ci.post("/api/v1/application", &web()).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(made.headers["location"], "/api/v1/application/shop.web");
    assert_eq!((&made.body["id"], &made.body["engineInstance"]), (&json!("shop.web"), &Value::Null));
    let object = cluster_fixture.get(OBJECT).await.unwrap();
    assert_eq!(object["spec"]["source"]["repoURL"], "https://git.example/shop/web");
    assert_eq!(object["spec"]["type"], "automated");
    let again = ci.post("/api/v1/application", &web()).await;
    assert_eq!(again.status, 409);

    let condition = json!([{ "type": "ErrorOccurred", "status": "True", "reason": "ErrorOccurred", "message": "no", "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
    let status = json!({
        "sync": { "status": "Synced", "revision": "abc" }, "health": { "status": "Healthy" }, "conditions": condition,
        "reconciledState": { "source": { "path": "", "repoURL": "", "branch": "" }, "destination": { "name": "", "namespace": "" } },
    });
    cluster_fixture.status(OBJECT, status).await;
    let read = ci.get("/api/v1/application/shop.web").await;
    assert_eq!((&read.body["syncStatus"], &read.body["health"]), (&json!("Synced"), &json!("Healthy")));
    assert_eq!((&read.body["revision"], &read.body["conditions"][0]["message"]), (&json!("abc"), &json!("no")));
    let list = ci.get("/api/v1/application?tenant=shop").await;
    assert_eq!(list.body["entries"][0]["syncStatus"], "Synced");

    let deleted = ci.delete("/api/v1/application/shop.web").await;
    assert_eq!(deleted.status, 204);
    assert!(cluster_fixture.get(OBJECT).await.is_none());
    assert_eq!(ci.get("/api/v1/application/shop.web").await.status, 404);
    assert_eq!(ci.delete("/api/v1/application/shop.web").await.status, 404);
}

/// Tenants can write the status of their own deployments, and lists cover all tenants.
#[tokio::test]
async fn an_invalid_status_hides_no_list() {
    let cluster_fixture = TestCluster::build().await;
    let ci = cluster_fixture.api_client("shop", "ci").await;
    ci.post("/api/v1/application", &web()).await;
    let status = json!({
        "conditions": [{ "type": "X", "status": "Maybe" }],
        "reconciledState": { "source": { "path": "", "repoURL": "", "branch": "" }, "destination": { "name": "", "namespace": "" } },
    });
    cluster_fixture.status(OBJECT, status).await;
    let list = ci.get("/api/v1/application?tenant=shop").await;
    assert_eq!((list.status.as_u16(), &list.body["entries"][0]["id"]), (200, &json!("shop.web")));
    let read = ci.get("/api/v1/application/shop.web").await;
    assert_eq!((read.status.as_u16(), &read.body["conditions"][0]["status"]), (200, &json!("Unknown")));
}

#[test]
fn an_unreadable_object_is_left_out_of_a_list() {
    let items = [json!(1), json!("x"), json!(2)];
    let read = |item: &Value| item.as_i64().ok_or_else(|| crate::rest::unreadable_object(&crate::rest::APPLICATIONS));
    assert_eq!(crate::rest::readable_objects(&crate::rest::APPLICATIONS, &items, read), [1, 2]);
}

#[tokio::test]
async fn if_match_requires_the_current_version() {
    let cluster_fixture = TestCluster::build().await;
    let ci = cluster_fixture.api_client("shop", "ci").await;
    let made = ci.post("/api/v1/application", &web()).await;
    let first = made.headers["etag"].to_str().unwrap().to_string();
    let mut wanted = web();
    wanted["gitRevision"] = json!("stage");
    wanted["waitForRemoval"] = json!(true);
    let changed = ci.put("/api/v1/application/shop.web", &first, &wanted).await;
    assert_eq!((changed.status.as_u16(), &changed.body["gitRevision"]), (200, &json!("stage")));
    assert_eq!(changed.body["waitForRemoval"], true);
    assert_ne!(changed.headers["etag"], first.as_str());
    assert_eq!(ci.put("/api/v1/application/shop.web", &first, &web()).await.status, 412);
    let deletion = ci.request("DELETE", "/api/v1/application/shop.web", &[("if-match", &first)], Vec::new()).await;
    assert_eq!(deletion.status, 412);
    assert_eq!(ci.put("/api/v1/application/shop.web", "nonsense", &web()).await.status, 400);
    let back = ci.put("/api/v1/application/shop.web", "", &web()).await;
    assert_eq!((back.status.as_u16(), &back.body["waitForRemoval"]), (200, &json!(false)));
    wanted["name"] = json!("other");
    assert_eq!(ci.put("/api/v1/application/shop.web", "", &wanted).await.status, 422);
    assert_eq!(ci.put("/api/v1/application/shop.gone", "", &json!({ "tenant": "shop", "name": "gone", "gitRepositoryURL": "https://x", "gitPath": "x", "syncPolicyAutomatic": true })).await.status, 404);
}

#[tokio::test]
async fn a_long_list_is_paged() {
    let cluster_fixture = TestCluster::build().await;
    let ci = cluster_fixture.api_client("shop", "ci").await;
    for number in 0..7 {
        let mut wanted = web();
        wanted["name"] = json!(format!("web-{number}"));
        assert_eq!(ci.post("/api/v1/application", &wanted).await.status, 201);
    }
    let (mut names, mut from, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = ci.get(&format!("/api/v1/application?tenant=shop&limit=3{from}")).await;
        assert_eq!(page.status, 200, "{}", page.body);
        let entries = page.body["entries"].as_array().unwrap();
        names.extend(entries.iter().map(|entry| entry["name"].as_str().unwrap().to_string()));
        pages += 1;
        match page.body["continue"].as_str() {
            Some(token) => from = format!("&continue={token}"),
            None => break,
        }
    }
    assert_eq!((names.len(), pages), (7, 3));
    assert!(names.is_sorted());
    for bad in [
        "limit=0",
        "limit=501",
        "limit=x",
        "limit=-1",
        "continue=",
        "continue=a%20b",
        "continue=nonsense",
        "what=1",
        "limit=1&limit=2",
        "tenant=A",
    ] {
        let answer = ci.get(&format!("/api/v1/application?tenant=shop&{bad}")).await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.body);
    }
}

#[tokio::test]
async fn invalid_bodies_are_rejected() {
    let cluster_fixture = TestCluster::build().await;
    let ci = cluster_fixture.api_client("shop", "ci").await;
    let json = [("content-type", "application/json")];
    let ask = |headers: &'static [(&'static str, &'static str)], body: Vec<u8>| {
        let ci = ci.clone();
        async move { ci.request("POST", "/api/v1/application", headers, body).await.status.as_u16() }
    };
    assert_eq!(ask(&[], b"{}".to_vec()).await, 415);
    assert_eq!(ask(&[("content-type", "text/yaml")], b"{}".to_vec()).await, 415);
    assert_eq!(ci.request("POST", "/api/v1/application", &json, b"{".to_vec()).await.status, 400);
    assert_eq!(ci.request("POST", "/api/v1/application", &json, b"[]".to_vec()).await.status, 422);
    assert_eq!(ci.request("POST", "/api/v1/application", &json, vec![b' '; 2 << 20]).await.status, 413);
    let mut extra = web();
    extra["spec"] = json!({});
    assert_eq!(ci.post("/api/v1/application", &extra).await.status, 422);
    let mut option = web();
    option["syncOptions"] = json!(["Prune=true"]);
    let refused = ci.post("/api/v1/application", &option).await;
    assert_eq!(refused.status, 422);
    assert!(refused.body["detail"].as_str().unwrap().contains("mispelled"), "{}", refused.body);
}

#[tokio::test]
async fn a_tenant_over_its_rate_does_not_delay_others() {
    let cluster_fixture = TestCluster::build().await;
    let router = cluster_fixture.router(Rate { per_s: 0.01, burst: 3.0 });
    let ci = TestClient { router: router.clone(), token: cluster_fixture.token("shop", "ci").await };
    for _ in 0..3 {
        assert_eq!(ci.get("/api/v1/application?tenant=shop").await.status, 200);
    }
    let refused = ci.get("/api/v1/application?tenant=shop").await;
    assert_eq!(refused.status, 429);
    assert!(refused.headers["retry-after"].to_str().unwrap().parse::<u64>().unwrap() > 1);
    let same_tenant = TestClient { router: router.clone(), token: cluster_fixture.token("shop", "no-access").await };
    assert_eq!(same_tenant.get("/api/v1/application?tenant=shop").await.status, 429);
    let other = TestClient { router, token: cluster_fixture.token("bank", "ci").await };
    assert_eq!(other.get("/api/v1/application?tenant=bank").await.status, 200);
}
