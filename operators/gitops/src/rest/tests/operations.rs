use serde_json::{Value, json};
use switchboard_sql::RowChange;

use super::applications::{manual_application, web};
use crate::ids::{OperationResource, OperationState};
use crate::rest::tests::testing::TestCluster;
use crate::rows::{
    ClusterAccess, ClusterCredentials, ClusterUser, EngineCluster, EngineInstance, ManagedEnvironment, Operation,
};

/// Rows of an Argo CD instance and its dependencies.
pub fn instance(id: &str) -> Vec<RowChange> {
    let credentials = ClusterCredentials {
        id: "cred".into(),
        host: None,
        kube_config: None,
        kube_config_context: Some("first".into()),
        bearer_token: None,
        service_account_namespace: None,
        allow_insecure: false,
        namespaces: None,
        cluster_resources: false,
        created_on: Default::default(),
        ca_data: None,
        client_certificate: None,
        client_key: None,
        own_service_account: false,
        source_digest: None,
    };
    let cluster = EngineCluster { id: "cluster".into(), credentials: "cred".into() };
    let row = EngineInstance {
        id: id.into(),
        namespace: "argocd".into(),
        namespace_uid: format!("uid-of-{id}").into(),
        cluster: "cluster".into(),
    };
    vec![RowChange::ensure(&credentials), RowChange::ensure(&cluster), RowChange::insert(&row)]
}

pub fn operation(id: &str, instance: &str, owner: &str) -> Operation {
    Operation {
        id: id.into(),
        instance: instance.into(),
        resource_id: "a-1".into(),
        owner: Some(owner.into()),
        resource: OperationResource::Application,
        created_on: Default::default(),
        last_state_update: Default::default(),
        state: OperationState::Failed,
        human_readable_state: Some("no such repository".into()),
        gc_expiration_s: None,
    }
}

pub fn user(id: &str, namespace: &str, uid: &str) -> ClusterUser {
    ClusterUser {
        id: id.into(),
        user_name: uid.to_string(),
        created_on: Default::default(),
        display_name: Some(namespace.into()),
    }
}

#[tokio::test]
async fn a_sync_can_be_started_watched_and_stopped() {
    let cluster_fixture = TestCluster::build().await;
    let ci = cluster_fixture.api_client("shop", "ci").await;
    assert_eq!(ci.post("/api/v1/operation", &json!({ "application": "shop.web" })).await.status, 404);
    ci.post("/api/v1/application", &web()).await;
    let refused = ci.post("/api/v1/operation", &json!({ "application": "shop.web" })).await;
    assert_eq!(refused.status, 409);
    assert_eq!(refused.body["detail"], "application `web` cannot be synced by hand: it is automated");
    let runs = "/apis/managed-gitops.redhat.com/v1alpha1/namespaces/shop/gitopsdeploymentsyncruns";
    assert_eq!(cluster_fixture.get(runs).await.unwrap()["items"], json!([]), "no run is created that can only fail");
    assert_eq!(ci.put("/api/v1/application/shop.web", "", &manual_application()).await.status, 200);
    let asked = ci.post("/api/v1/operation", &json!({ "application": "shop.web", "revision": "abc" })).await;
    assert_eq!((asked.status.as_u16(), &asked.body["state"]), (202, &json!("Waiting")), "{}", asked.body);
    let location = asked.headers["location"].to_str().unwrap().to_string();
    let name = asked.body["id"].as_str().unwrap().strip_prefix("shop.").unwrap().to_string();
    let path = format!("/apis/managed-gitops.redhat.com/v1alpha1/namespaces/shop/gitopsdeploymentsyncruns/{name}");
    let run = cluster_fixture.get(&path).await.unwrap();
    assert_eq!(run["spec"], json!({ "gitopsDeploymentName": "web", "revisionID": "abc" }));
    let condition = json!({ "type": "ErrorOccurred", "status": "False", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    cluster_fixture.status(&path, json!({ "conditions": [condition] })).await;
    assert_eq!(ci.get(&location).await.body["state"], "Completed");
    assert_eq!(ci.delete(&location).await.status, 204);
    assert_eq!(ci.get(&location).await.status, 404);
    assert_eq!(ci.post("/api/v1/operation", &json!({ "application": "web" })).await.status, 422);
    assert_eq!(ci.delete("/api/v1/operation/o-1").await.status, 404);
}

#[tokio::test]
async fn rows_are_paged_and_filtered_by_tenant() {
    let cluster_fixture = TestCluster::build().await;
    let mut changes = instance("i-1");
    changes.push(RowChange::insert(&user("u-shop", "shop", &cluster_fixture.uid("shop").await)));
    changes.push(RowChange::insert(&user("u-bank", "bank", &cluster_fixture.uid("bank").await)));
    for number in 0..5 {
        changes.push(RowChange::insert(&operation(&format!("shop-{number}"), "i-1", "u-shop")));
        changes.push(RowChange::insert(&operation(&format!("bank-{number}"), "i-1", "u-bank")));
    }
    cluster_fixture.ledger.commit(&changes).await.unwrap();
    let ci = cluster_fixture.api_client("shop", "ci").await;
    let (mut ids, mut from) = (Vec::new(), String::new());
    loop {
        let page = ci.get(&format!("/api/v1/operation?tenant=shop&limit=2{from}")).await;
        ids.extend(page.body["entries"].as_array().unwrap().iter().map(|entry| entry["id"].clone()));
        match page.body["continue"].as_str() {
            Some(token) => from = format!("&continue={token}"),
            None => break,
        }
    }
    assert_eq!(json!(ids), json!(["shop-0", "shop-1", "shop-2", "shop-3", "shop-4"]));
    let one = ci.get("/api/v1/operation/shop-0").await.body;
    assert_eq!((&one["state"], &one["humanReadableState"]), (&json!("Failed"), &json!("no such repository")));
    let admin = cluster_fixture.api_client("ops", "admin").await;
    assert_eq!(admin.get("/api/v1/operation").await.body["entries"].as_array().unwrap().len(), 10);
}

/// A caller who sees the operations of all tenants needs to know the tenant of each.
#[tokio::test]
async fn operations_of_all_tenants_have_their_tenant() {
    let cluster_fixture = TestCluster::build().await;
    let mut changes = instance("i-1");
    changes.push(RowChange::insert(&user("u-shop", "shop", &cluster_fixture.uid("shop").await)));
    changes.push(RowChange::insert(&user("u-bank", "bank", &cluster_fixture.uid("bank").await)));
    changes.push(RowChange::insert(&user("u-gone", "shop", "uid-of-an-earlier-shop")));
    for (id, owner) in [("1", "u-shop"), ("2", "u-bank"), ("3", "u-shop"), ("4", "u-gone")] {
        changes.push(RowChange::insert(&operation(id, "i-1", owner)));
    }
    changes.push(RowChange::insert(&Operation { owner: None, ..operation("5", "i-1", "") }));
    cluster_fixture.ledger.commit(&changes).await.unwrap();
    let admin = cluster_fixture.api_client("ops", "admin").await;
    let page = admin.get("/api/v1/operation").await.body;
    let tenants: Vec<Option<&str>> =
        page["entries"].as_array().unwrap().iter().map(|entry| entry.get("tenant").and_then(Value::as_str)).collect();
    assert_eq!(tenants, [Some("shop"), Some("bank"), Some("shop"), None, None]);
}

#[tokio::test]
async fn instances_are_listed_with_their_load_for_administrators() {
    let cluster_fixture = TestCluster::build().await;
    let mut changes = instance("i-1");
    changes.extend(instance("i-2"));
    changes.push(RowChange::insert(&user("u-shop", "shop", "uid")));
    for id in ["e-1", "e-2"] {
        let environment = ManagedEnvironment {
            id: id.into(),
            name: id.into(),
            credentials: "cred".into(),
            created_on: Default::default(),
        };
        let access = ClusterAccess {
            user: "u-shop".into(),
            environment: id.into(),
            instance: "i-1".into(),
            created_on: Default::default(),
        };
        changes.extend([RowChange::insert(&environment), RowChange::insert(&access)]);
    }
    cluster_fixture.ledger.commit(&changes).await.unwrap();
    let admin = cluster_fixture.api_client("ops", "admin").await;
    let one = admin.get("/api/v1/engineinstance/i-1").await;
    assert_eq!(
        one.body,
        json!({
            "id": "i-1", "namespace": "argocd", "cluster": "cluster", "placements": 2, "tenants": 1,
            "state": "unregistered", "applications": 0, "moving": 0,
        })
    );
    let page = admin.get("/api/v1/engineinstance?limit=1").await.body;
    assert_eq!(page["continue"], "i-1");
    let page = admin.get("/api/v1/engineinstance?limit=1&continue=i-1").await.body;
    assert_eq!((&page["entries"][0]["id"], &page["continue"]), (&json!("i-2"), &json!(null)));
    assert_eq!(admin.get("/api/v1/engineinstance/none").await.status, 404);
    assert_eq!(admin.get("/api/v1/engineinstance?tenant=shop").await.status, 400);
}
