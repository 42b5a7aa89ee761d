//! From a GitOpsDeployment to an Application and back.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_ledger::ids::OperationState;
use switchboard_ledger::rows::*;
use switchboard_ledger::{Change, Moment};

use crate::base::{Base, on_both};
use crate::stage::{ARGO, ARGOCD, DEPLOYMENTS, GROUP, Stage, create, plain, send, uid};

on_both! {
    a_deployment_becomes_an_application_and_is_told_of
    a_change_of_the_deployment_reaches_the_application
    what_is_wrong_is_told_and_stays_told
    a_url_that_no_row_holds_is_told_and_keeps_nobody_waiting
    an_edit_of_the_application_is_undone_and_a_deleted_one_comes_back
    a_deployment_with_a_finalizer_goes_when_argo_cd_is_done
    a_deployment_made_anew_is_another
    an_operation_that_nobody_rings_for_is_rung_for
    what_went_while_nobody_looked_is_removed
    a_tenant_whose_namespace_goes_leaves_nothing
    an_idle_deployment_costs_nothing
}

async fn synced(stage: &Stage, namespace: &str, name: &str) -> Value {
    stage
        .until("a status", async || {
            stage.deployment(namespace, name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await
}

async fn a_deployment_becomes_an_application_and_is_told_of(base: Base) {
    let stage = Stage::new(base).await;
    let web = uid(&stage.deploy("shop", "web", plain()).await);
    let application = stage.until("an Application", async || stage.application(&web).await).await;
    let row: Application = stage.all().await.remove(0);
    let user: ClusterUser = stage.all().await.remove(0);
    assert_eq!(application["metadata"]["labels"]["databaseID"], row.id.as_str());
    assert_eq!(application["spec"]["project"], format!("app-project-{}", user.id));
    assert_eq!(application["spec"]["destination"], json!({"name": "in-cluster", "namespace": "shop"}));
    let told = synced(&stage, "shop", "web").await;
    assert_eq!(told["status"]["health"]["status"], "Healthy");
    assert_eq!(told["status"]["reconciledState"]["source"]["repoURL"], "https://git.example/Shop/web.git");
    let projects = stage.listed(&format!("{ARGO}/namespaces/{ARGOCD}/appprojects")).await;
    assert_eq!(projects[0]["spec"]["sourceRepos"], json!(["https://git.example/Shop/web"]));
    assert_eq!(projects[0]["spec"]["destinations"], json!([{"name": "in-cluster", "namespace": "shop"}]));
    stage.settled().await;
    stage.delete("shop", DEPLOYMENTS, "web").await;
    stage.until("no Application", async || stage.application(&web).await.is_none().then_some(())).await;
    stage.until("no rows", async || stage.all::<Application>().await.is_empty().then_some(())).await;
    let projects = format!("{ARGO}/namespaces/{ARGOCD}/appprojects");
    stage.until("no project", async || stage.listed(&projects).await.is_empty().then_some(())).await;
}

async fn a_change_of_the_deployment_reaches_the_application(base: Base) {
    let stage = Stage::new(base).await;
    let web = uid(&stage.deploy("shop", "web", plain()).await);
    synced(&stage, "shop", "web").await;
    let path = format!("{GROUP}/namespaces/shop/gitopsdeployments/web");
    let moved = json!({"spec": {"source": {"repoURL": "https://git.example/Shop/other", "path": "elsewhere"}}});
    send(&stage.tenants, "PATCH", &path, moved).await.unwrap();
    stage
        .until("the other path", async || {
            // Compared, too: what Argo CD says of the health then is what it goes on saying.
            let there = |at: &str, found: &Value| found.pointer(at).is_some_and(|path| path == "elsewhere");
            stage.application(&web).await.filter(|found| {
                there("/spec/source/path", found) && there("/status/sync/comparedTo/source/path", found)
            })
        })
        .await;
    // What is no longer named may no longer be used.
    let projects = format!("{ARGO}/namespaces/{ARGOCD}/appprojects");
    stage
        .until("the other repository alone", async || {
            let project = stage.listed(&projects).await.remove(0);
            (project["spec"]["sourceRepos"] == json!(["https://git.example/Shop/other"])).then_some(())
        })
        .await;
    let from = Instant::now();
    send(
        &stage.engine,
        "PATCH",
        &format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}"),
        json!({"status": {"health": {"status": "Degraded", "message": "it fell over"}}}),
    )
    .await
    .unwrap();
    let told = stage
        .until("the new health", async || {
            stage.deployment("shop", "web").await.filter(|web| web["status"]["health"]["status"] == "Degraded")
        })
        .await;
    assert_eq!(told["status"]["health"]["message"], "it fell over");
    assert!(from.elapsed() < Duration::from_secs(2), "told after {:?}", from.elapsed());
}

async fn what_is_wrong_is_told_and_stays_told(base: Base) {
    let stage = Stage::new(base).await;
    let mut spec = plain();
    spec["source"]["path"] = "/".into();
    stage.deploy("shop", "web", spec).await;
    let error = async || {
        let found = stage.deployment("shop", "web").await?;
        let conditions = found["status"]["conditions"].as_array()?.clone();
        conditions.into_iter().find(|one| one["type"] == "ErrorOccurred")
    };
    let said = stage.until("a condition", async || error().await).await;
    assert_eq!((&said["status"], &said["message"]), (&json!("True"), &json!("spec.source.path cannot be '/'")));
    assert!(stage.all::<Application>().await.is_empty());
    let path = format!("{GROUP}/namespaces/shop/gitopsdeployments/web");
    send(&stage.tenants, "PATCH", &path, json!({"spec": {"source": {"path": "deploy"}}})).await.unwrap();
    let said = stage.until("no error", async || error().await.filter(|one| one["status"] == "False")).await;
    assert_eq!(said["reason"], "ErrorOccurredResolved");
}

async fn a_url_that_no_row_holds_is_told_and_keeps_nobody_waiting(base: Base) {
    let stage = Stage::new(base).await;
    stage.deploy("shop", "web", plain()).await;
    synced(&stage, "shop", "web").await;
    let mut spec = plain();
    spec["source"]["repoURL"] = format!("https://git.example/{}", "x".repeat(3000)).into();
    stage.deploy("shop", "long", spec).await;
    let said = stage
        .until("a condition", async || {
            let found = stage.deployment("shop", "long").await?;
            found["status"]["conditions"].as_array()?.first().cloned()
        })
        .await;
    assert_eq!(said["message"], "spec.source.repoURL has 3020 characters, and at most 2048 are supported");
    // What the tenant names beside it is written down as ever.
    let mut spec = plain();
    spec["source"]["repoURL"] = "https://git.example/Shop/other.git".into();
    stage.deploy("shop", "other", spec).await;
    synced(&stage, "shop", "other").await;
    stage.until("both", async || (stage.all::<AppProjectRepository>().await.len() == 2).then_some(())).await;
    stage.settled().await;
    let told = stage.told().await;
    assert!(!told.lines().any(|line| line.contains("Failing")), "{told}");
}

async fn an_edit_of_the_application_is_undone_and_a_deleted_one_comes_back(base: Base) {
    let stage = Stage::new(base).await;
    let web = uid(&stage.deploy("shop", "web", plain()).await);
    synced(&stage, "shop", "web").await;
    stage.settled().await;
    let path = format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}");
    let edit = json!({"spec": {"source": {"path": "stolen"}, "destination": {"namespace": "kube-system"}}});
    send(&stage.engine, "PATCH", &path, edit).await.unwrap();
    stage
        .until("what the tenant wants", async || {
            let found = stage.application(&web).await?;
            (found["spec"]["source"]["path"] == "deploy" && found["spec"]["destination"]["namespace"] == "shop")
                .then_some(())
        })
        .await;
    stage.settled().await;
    let before = stage.application(&web).await.unwrap();
    send(&stage.engine, "DELETE", &path, Value::Null).await.unwrap();
    stage.until("another one", async || stage.application(&web).await.filter(|found| uid(found) != uid(&before))).await;
}

async fn a_deployment_with_a_finalizer_goes_when_argo_cd_is_done(base: Base) {
    let stage = Stage::new(base).await;
    let made = create(
        &stage.tenants,
        &format!("{GROUP}/namespaces/shop/gitopsdeployments"),
        json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment", "spec": plain(),
            "metadata": {"name": "web", "finalizers": ["resources-finalizer.managed-gitops.redhat.com"]}}),
    )
    .await;
    let web = uid(&made);
    synced(&stage, "shop", "web").await;
    stage.argo.stuck(true);
    stage.delete("shop", DEPLOYMENTS, "web").await;
    let application = stage
        .until("an Application that is to go", async || {
            stage.application(&web).await.filter(|found| !found["metadata"]["deletionTimestamp"].is_null())
        })
        .await;
    assert_eq!(application["metadata"]["finalizers"], json!(["resources-finalizer.argocd.argoproj.io/background"]));
    assert!(stage.deployment("shop", "web").await.is_some(), "it stays until what was deployed is gone");
    // Another tenant is not held up by it.
    stage.deploy("bank", "vault", plain()).await;
    synced(&stage, "bank", "vault").await;
    assert!(stage.deployment("shop", "web").await.is_some());
    stage.argo.stuck(false);
    stage.until("no deployment", async || stage.deployment("shop", "web").await.is_none().then_some(())).await;
}

async fn a_deployment_made_anew_is_another(base: Base) {
    let mut stage = Stage::new(base).await;
    let first = uid(&stage.deploy("shop", "web", plain()).await);
    synced(&stage, "shop", "web").await;
    stage.settled().await;
    stage.kill().await;
    stage.delete("shop", DEPLOYMENTS, "web").await;
    let second = uid(&stage.deploy("shop", "web", plain()).await);
    stage.start().await;
    stage.until("the new Application", async || stage.application(&second).await).await;
    stage.until("the old one gone", async || stage.application(&first).await.is_none().then_some(())).await;
    assert_eq!(stage.all::<Application>().await.len(), 1);
}

/// Its unit was killed, or had to wait, between the row and the ring; and others are over, and go in an hour.
async fn an_operation_that_nobody_rings_for_is_rung_for(base: Base) {
    let stage = Stage::new(base).await;
    stage.deploy("shop", "web", plain()).await;
    synced(&stage, "shop", "web").await;
    stage.settled().await;
    let over: Operation = stage.all().await.pop().unwrap();
    assert_eq!(over.state, OperationState::Completed);
    // Whoever has keys of his own is given an hour to ring.
    let then = Moment::from_unix_us(jiff::Timestamp::now().as_microsecond()).plus_ms(-61 * 60 * 1000);
    let lost = Operation {
        id: "lost".into(),
        state: OperationState::Waiting,
        created_on: then,
        last_state_update: then,
        ..over
    };
    stage.ledger.commit(&[Change::insert(&lost)]).await.unwrap();
    let is_over = |row: &Operation| row.id == lost.id && row.state == OperationState::Completed;
    stage.until("its end", async || stage.all::<Operation>().await.into_iter().find(is_over)).await;
}

async fn what_went_while_nobody_looked_is_removed(base: Base) {
    let mut stage = Stage::new(base).await;
    let web = uid(&stage.deploy("shop", "web", plain()).await);
    synced(&stage, "shop", "web").await;
    stage.settled().await;
    stage.kill().await;
    stage.delete("shop", DEPLOYMENTS, "web").await;
    stage.start().await;
    stage.until("no Application", async || stage.application(&web).await.is_none().then_some(())).await;
    stage.settled().await;
    assert!(stage.all::<Application>().await.is_empty());
    assert!(stage.all::<DeploymentToApplication>().await.is_empty());
    assert!(stage.all::<ApplicationState>().await.is_empty());
}

async fn a_tenant_whose_namespace_goes_leaves_nothing(base: Base) {
    let stage = Stage::new(base).await;
    stage.deploy("shop", "web", plain()).await;
    synced(&stage, "shop", "web").await;
    stage.settled().await;
    stage.delete("shop", DEPLOYMENTS, "web").await;
    send(&stage.tenants, "DELETE", "/api/v1/namespaces/shop", Value::Null).await.unwrap();
    stage.until("no tenant", async || stage.all::<ClusterUser>().await.is_empty().then_some(())).await;
    assert!(stage.all::<ManagedEnvironment>().await.is_empty());
    assert!(stage.all::<ClusterAccess>().await.is_empty());
    assert!(stage.all::<AppProjectRepository>().await.is_empty());
    // Those of the engine cluster stay.
    assert_eq!(stage.all::<ClusterCredentials>().await.len(), 1);
}

async fn an_idle_deployment_costs_nothing(base: Base) {
    let stage = Stage::new(base).await;
    stage.deploy("shop", "web", plain()).await;
    synced(&stage, "shop", "web").await;
    stage.settled().await;
    let mut last = (stage.runs().await, Instant::now());
    stage
        .until("rest", async || {
            let now = stage.runs().await;
            if now != last.0 {
                last = (now, Instant::now());
            }
            (last.1.elapsed() > Duration::from_millis(800)).then_some(())
        })
        .await;
    let (runs, from) = (stage.runs().await, Instant::now());
    stage.until("a while", async || (from.elapsed() > Duration::from_millis(1500)).then_some(())).await;
    assert_eq!(stage.runs().await, runs, "no unit runs, so nothing is asked");
}
