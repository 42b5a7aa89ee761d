//! Tenants on several clusters, an engine on another, and one database: a backend each, and one agent.

use serde_json::{Value, json};
use switchboard_ledger::rows::left::Home;
use switchboard_ledger::rows::*;

use crate::base::{Base, on_both};
use crate::stage::{ARGO, DEPLOYMENTS, Stage, plain, send, uid};

on_both! {
    tenants_of_several_clusters_share_a_database_and_nothing_else
}

fn spec() -> serde_json::Value {
    let mut spec = plain();
    spec["destination"] = json!({"environment": "prod", "namespace": "web"});
    spec
}

async fn synced(stage: &Stage) -> String {
    let found = stage
        .until("a status", async || {
            stage.deployment("shop", "web").await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
    uid(&found)
}

async fn tenants_of_several_clusters_share_a_database_and_nothing_else(base: Base) {
    let mut first = Stage::set(base, true).await;
    first.settings.shared = true;
    first.start().await;
    let second = first.beside().await;
    // Of the same names, each on its own cluster.
    let mut uids = Vec::new();
    for stage in [&first, &second] {
        stage.environment("shop", "prod", "token").await;
        stage.deploy("shop", "web", spec()).await;
        uids.push(synced(stage).await);
    }
    let users: Vec<ClusterUser> = first.all().await;
    assert_eq!(users.len(), 2, "two tenants: {users:?}");
    let projects = first.listed(&format!("{ARGO}/appprojects")).await;
    assert_eq!(projects.len(), 2);
    for project in &projects {
        assert_eq!(project["spec"]["destinations"].as_array().map(Vec::len), Some(1), "its own environment alone");
    }
    assert_eq!(first.secrets_of_argo().await.len(), 2, "a cluster Secret each");
    // What goes on one cluster goes for that one alone.
    second.delete("shop", DEPLOYMENTS, "web").await;
    first.until("one row", async || (first.all::<Application>().await.len() == 1).then_some(())).await;
    first.settled().await;
    assert!(first.anywhere(&uids[0]).await.is_some() && first.anywhere(&uids[1]).await.is_none());
    assert_eq!(synced(&first).await, uids[0]);
    let told = first.deployment("shop", "web").await.unwrap();
    assert_eq!(told["status"]["reconciledState"]["destination"]["name"], "prod");
    // With its namespace goes all of a tenant, and nothing of the other one of that name.
    send(&second.tenants, "DELETE", "/api/v1/namespaces/shop", Value::Null).await.unwrap();
    first.until("one tenant", async || (first.all::<ClusterUser>().await.len() == 1).then_some(())).await;
    first.until("its row of a home", async || (first.all::<Home>().await.len() == 1).then_some(())).await;
    let left = first.listed(&format!("{ARGO}/appprojects")).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(first.all::<ClusterAccess>().await.len(), 1);
    assert_eq!(first.secrets_of_argo().await.len(), 1);
    assert_eq!(synced(&first).await, uids[0]);
}
