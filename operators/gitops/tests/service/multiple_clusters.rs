//! Several tenant clusters with one engine cluster and one database: a backend for each, and one agent. Also several
//! engine clusters with an agent for each.

use serde_json::{Value, json};
use switchboard_gitops::instance::fleet::FleetError;
use switchboard_gitops::rows::fleet::Placement;
use switchboard_gitops::rows::tenant_clusters::TenantCluster;
use switchboard_gitops::rows::*;

use crate::database::{TestDatabase, on_both};
use crate::fixture::{ARGO, ARGOCD, DEPLOYMENTS, ServiceFixture, plain, send, uid};

on_both! {
    tenants_of_several_clusters_share_only_the_database
    agents_of_several_clusters_do_not_interfere
}

fn spec() -> serde_json::Value {
    let mut spec = plain();
    spec["destination"] = json!({"environment": "prod", "namespace": "web"});
    spec
}

async fn synced(fixture: &ServiceFixture) -> String {
    let found = fixture
        .wait_for("a status", async || {
            fixture.deployment("shop", "web").await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
    uid(&found)
}

async fn tenants_of_several_clusters_share_only_the_database(database: TestDatabase) {
    let mut first = ServiceFixture::without_roles(database, true).await;
    first.settings.shared_database = true;
    first.start().await;
    let second = first.second_backend().await;
    // Deployments with the same names, each on its own cluster.
    let mut uids = Vec::new();
    for fixture in [&first, &second] {
        fixture.environment("shop", "prod", "token").await;
        fixture.deploy("shop", "web", spec()).await;
        uids.push(synced(fixture).await);
    }
    let users: Vec<ClusterUser> = first.all().await;
    assert_eq!(users.len(), 2, "two tenants: {users:?}");
    let projects = first.list_objects(&format!("{ARGO}/appprojects")).await;
    assert_eq!(projects.len(), 2);
    for project in &projects {
        assert_eq!(project["spec"]["destinations"].as_array().map(Vec::len), Some(1), "its own environment alone");
    }
    assert_eq!(first.argocd_secrets().await.len(), 2, "a cluster Secret each");
    // A deletion on one cluster affects that cluster alone.
    second.delete("shop", DEPLOYMENTS, "web").await;
    first.wait_for("one row", async || (first.all::<Application>().await.len() == 1).then_some(())).await;
    first.wait_until_settled().await;
    assert!(first.find_application(&uids[0]).await.is_some() && first.find_application(&uids[1]).await.is_none());
    assert_eq!(synced(&first).await, uids[0]);
    let reported = first.deployment("shop", "web").await.unwrap();
    assert_eq!(reported["status"]["reconciledState"]["destination"]["name"], "prod");
    // Deleting the namespace deletes everything of the tenant, and nothing of the tenant with the same name.
    send(&second.tenants, "DELETE", "/api/v1/namespaces/shop", Value::Null).await.unwrap();
    first.wait_for("one tenant", async || (first.all::<ClusterUser>().await.len() == 1).then_some(())).await;
    first
        .wait_for("the row of its cluster", async || (first.all::<TenantCluster>().await.len() == 1).then_some(()))
        .await;
    let left = first.list_objects(&format!("{ARGO}/appprojects")).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(first.all::<ClusterAccess>().await.len(), 1);
    assert_eq!(first.argocd_secrets().await.len(), 1);
    assert_eq!(synced(&first).await, uids[0]);
}

/// Names of the service's Applications, projects and Secrets on an engine cluster.
async fn deployed(fixture: &ServiceFixture) -> Vec<String> {
    let mut objects = fixture.list_objects(&format!("{ARGO}/applications")).await;
    objects.extend(fixture.list_objects(&format!("{ARGO}/appprojects")).await);
    objects.extend(fixture.argocd_secrets().await);
    objects.iter().map(|one| one["metadata"]["name"].as_str().unwrap().to_string()).collect()
}

/// One placement each, on clusters whose Argo CD instances have the same namespace.
async fn agents_of_several_clusters_do_not_interfere(database: TestDatabase) {
    let mut first = ServiceFixture::without_roles(database, true).await;
    first.start().await;
    let second = first.second_engine().await;
    let mut uids = Vec::new();
    for (count, tenant) in [(1, "shop"), (2, "bank")] {
        first.environment(tenant, "prod", "token").await;
        first.deploy(tenant, "web", spec()).await;
        let found = first
            .wait_for("a status", async || {
                first.deployment(tenant, "web").await.filter(|web| web["status"]["sync"]["status"] == "Synced")
            })
            .await;
        uids.push(uid(&found));
        // The next placement is put on the other instance.
        assert_eq!(first.all::<Placement>().await.len(), count);
    }
    first.wait_until_settled().await;
    second.wait_until_settled().await;
    let rows: Vec<Application> = first.all().await;
    let instances: Vec<EngineInstance> = first.all().await;
    assert!(instances.len() == 2 && instances.iter().all(|one| one.namespace == ARGOCD), "{instances:?}");
    assert_ne!(rows[0].instance, rows[1].instance, "each has one");
    let there = [deployed(&first).await, deployed(&second).await];
    assert!(there.iter().all(|names| names.len() == 3), "an Application, its project, its cluster: {there:?}");
    // The row determines the instance of the first deployment, and no other instance has it.
    let is_first = there[0].contains(&format!("gitopsdepl-{}", uids[0]));
    let (one, other, mine, theirs) = match is_first {
        true => (&first, &second, &uids[0], "bank"),
        false => (&first, &second, &uids[1], "shop"),
    };
    // An object deleted on one cluster is recreated there, and there alone.
    let path = format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{mine}");
    let before = send(&one.engine, "GET", &path, Value::Null).await.unwrap();
    let bare = json!({"metadata": {"finalizers": []}});
    send(&one.engine, "PATCH", &path, bare).await.unwrap();
    send(&one.engine, "DELETE", &path, Value::Null).await.unwrap();
    one.wait_for("it is recreated", async || {
        let found = send(&one.engine, "GET", &path, Value::Null).await.ok()?;
        (uid(&found) != uid(&before)).then_some(())
    })
    .await;
    assert!(send(&other.engine, "GET", &path, Value::Null).await.is_err());
    // A move between clusters is rejected: no agent can access both.
    let fleet = first.fleet();
    let (unit, _) = fleet.find_placement(theirs, Some("prod")).await.unwrap();
    let reported = fleet.begin_move(&unit, &fleet.instance(ARGOCD).await.unwrap()).await.unwrap_err();
    assert!(matches!(&reported, FleetError::TargetRefused { .. }), "{reported}");
    for tenant in ["shop", "bank"] {
        first.delete(tenant, DEPLOYMENTS, "web").await;
    }
    first.wait_for("no rows", async || first.all::<Application>().await.is_empty().then_some(())).await;
    for fixture in [&first, &second] {
        fixture
            .wait_for("no Applications", async || {
                fixture.list_objects(&format!("{ARGO}/applications")).await.is_empty().then_some(())
            })
            .await;
        fixture.wait_until_settled().await;
    }
}
