//! Tenants on several clusters, an engine on another, and one database: a backend each, and one agent. Or engines on several: an agent each.

use serde_json::{Value, json};
use switchboard_ledger::rows::fleet::Placement;
use switchboard_ledger::rows::left::Home;
use switchboard_ledger::rows::*;
use switchboard_service::fleet::FleetError;

use crate::base::{Base, on_both};
use crate::stage::{ARGO, ARGOCD, DEPLOYMENTS, Stage, plain, send, uid};

on_both! {
    tenants_of_several_clusters_share_a_database_and_nothing_else
    agents_of_several_clusters_leave_each_other_alone
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

/// Applications, projects and Secrets of ours on the cluster of an engine, by name.
async fn deployed(stage: &Stage) -> Vec<String> {
    let mut objects = stage.listed(&format!("{ARGO}/applications")).await;
    objects.extend(stage.listed(&format!("{ARGO}/appprojects")).await);
    objects.extend(stage.secrets_of_argo().await);
    objects.iter().map(|one| one["metadata"]["name"].as_str().unwrap().to_string()).collect()
}

/// A unit each, on clusters whose Argo CDs are in namespaces of the same name.
async fn agents_of_several_clusters_leave_each_other_alone(base: Base) {
    let mut first = Stage::set(base, true).await;
    first.start().await;
    let second = first.engine_beside().await;
    let mut uids = Vec::new();
    for (count, tenant) in [(1, "shop"), (2, "bank")] {
        first.environment(tenant, "prod", "token").await;
        first.deploy(tenant, "web", spec()).await;
        let found = first
            .until("a status", async || {
                first.deployment(tenant, "web").await.filter(|web| web["status"]["sync"]["status"] == "Synced")
            })
            .await;
        uids.push(uid(&found));
        // The next goes to the other one.
        assert_eq!(first.all::<Placement>().await.len(), count);
    }
    first.settled().await;
    second.settled().await;
    let rows: Vec<Application> = first.all().await;
    let instances: Vec<EngineInstance> = first.all().await;
    assert!(instances.len() == 2 && instances.iter().all(|one| one.namespace == ARGOCD), "{instances:?}");
    assert_ne!(rows[0].instance, rows[1].instance, "each has one");
    let there = [deployed(&first).await, deployed(&second).await];
    assert!(there.iter().all(|names| names.len() == 3), "an Application, its project, its cluster: {there:?}");
    // Which of both has the first is said by the row, and nobody else has it.
    let is_first = there[0].contains(&format!("gitopsdepl-{}", uids[0]));
    let (one, other, mine, theirs) = match is_first {
        true => (&first, &second, &uids[0], "bank"),
        false => (&first, &second, &uids[1], "shop"),
    };
    // What goes on one cluster comes again there, and there alone.
    let path = format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{mine}");
    let before = send(&one.engine, "GET", &path, Value::Null).await.unwrap();
    let bare = json!({"metadata": {"finalizers": []}});
    send(&one.engine, "PATCH", &path, bare).await.unwrap();
    send(&one.engine, "DELETE", &path, Value::Null).await.unwrap();
    one.until("it is made again", async || {
        let found = send(&one.engine, "GET", &path, Value::Null).await.ok()?;
        (uid(&found) != uid(&before)).then_some(())
    })
    .await;
    assert!(send(&other.engine, "GET", &path, Value::Null).await.is_err());
    // No move leads from one cluster to another: nobody sees both ends of it.
    let fleet = first.fleet();
    let (unit, _) = fleet.unit(theirs, Some("prod")).await.unwrap();
    let told = fleet.begin(&unit, &fleet.instance(ARGOCD).await.unwrap()).await.unwrap_err();
    assert!(matches!(&told, FleetError::NotTaken { .. }), "{told}");
    for tenant in ["shop", "bank"] {
        first.delete(tenant, DEPLOYMENTS, "web").await;
    }
    first.until("no rows", async || first.all::<Application>().await.is_empty().then_some(())).await;
    for stage in [&first, &second] {
        stage
            .until("no Applications", async || {
                stage.listed(&format!("{ARGO}/applications")).await.is_empty().then_some(())
            })
            .await;
        stage.settled().await;
    }
}
