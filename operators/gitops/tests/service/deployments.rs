//! From a GitOpsDeployment to an Application and back.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_gitops::ids::OperationState;
use switchboard_gitops::rows::*;
use switchboard_sql::{DbTimestamp, RowChange};

use crate::database::{TestDatabase, on_both};
use crate::fixture::{ARGO, ARGOCD, DEPLOYMENTS, GROUP, RoleSet, ServiceFixture, create, plain, send, uid};

on_both! {
    a_deployment_becomes_an_application_and_reports_its_status
    a_change_of_the_deployment_reaches_the_application
    an_invalid_deployment_reports_its_error
    every_deployment_has_a_tenant_at_once
    a_url_that_is_too_long_is_reported_and_delays_no_other
    an_edited_or_deleted_application_is_restored
    a_deployment_with_a_finalizer_waits_for_argo_cd
    a_recreated_deployment_is_another
    an_operation_without_notification_is_notified
    a_deletion_during_a_restart_is_applied
    a_deleted_deployment_leaves_no_waiting_unit
    a_deleted_deployment_leaves_no_waiting_unit_of_a_separate_backend
    a_deleted_namespace_leaves_nothing
    an_idle_deployment_costs_nothing
}

async fn synced(fixture: &ServiceFixture, namespace: &str, name: &str) -> Value {
    fixture
        .wait_for("a status", async || {
            fixture.deployment(namespace, name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await
}

async fn a_deployment_becomes_an_application_and_reports_its_status(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let web = uid(&fixture.deploy("shop", "web", plain()).await);
    let application = fixture.wait_for("an Application", async || fixture.application(&web).await).await;
    let row: Application = fixture.all().await.remove(0);
    let user: ClusterUser = fixture.all().await.remove(0);
    assert_eq!(application["metadata"]["labels"]["databaseID"], row.id.as_str());
    assert_eq!(application["spec"]["project"], format!("app-project-{}", user.id));
    assert_eq!(application["spec"]["destination"], json!({"name": "in-cluster", "namespace": "shop"}));
    let reported = synced(&fixture, "shop", "web").await;
    assert_eq!(reported["status"]["health"]["status"], "Healthy");
    assert_eq!(reported["status"]["reconciledState"]["source"]["repoURL"], "https://git.example/Shop/web.git");
    let projects = fixture.list_objects(&format!("{ARGO}/namespaces/{ARGOCD}/appprojects")).await;
    assert_eq!(projects[0]["spec"]["sourceRepos"], json!(["https://git.example/Shop/web"]));
    assert_eq!(projects[0]["spec"]["destinations"], json!([{"name": "in-cluster", "namespace": "shop"}]));
    fixture.wait_until_settled().await;
    fixture.delete("shop", DEPLOYMENTS, "web").await;
    fixture.wait_for("no Application", async || fixture.application(&web).await.is_none().then_some(())).await;
    fixture.wait_for("no rows", async || fixture.all::<Application>().await.is_empty().then_some(())).await;
    let projects = format!("{ARGO}/namespaces/{ARGOCD}/appprojects");
    fixture.wait_for("no project", async || fixture.list_objects(&projects).await.is_empty().then_some(())).await;
}

async fn a_change_of_the_deployment_reaches_the_application(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let web = uid(&fixture.deploy("shop", "web", plain()).await);
    synced(&fixture, "shop", "web").await;
    let path = format!("{GROUP}/namespaces/shop/gitopsdeployments/web");
    let moved = json!({"spec": {"source": {"repoURL": "https://git.example/Shop/other", "path": "elsewhere"}}});
    send(&fixture.tenants, "PATCH", &path, moved).await.unwrap();
    fixture
        .wait_for("the other path", async || {
            // After the comparison, the reported health no longer changes.
            let there = |at: &str, found: &Value| found.pointer(at).is_some_and(|path| path == "elsewhere");
            fixture.application(&web).await.filter(|found| {
                there("/spec/source/path", found) && there("/status/sync/comparedTo/source/path", found)
            })
        })
        .await;
    // Repositories that are no longer referenced are removed from the project.
    let projects = format!("{ARGO}/namespaces/{ARGOCD}/appprojects");
    fixture
        .wait_for("the other repository alone", async || {
            let project = fixture.list_objects(&projects).await.remove(0);
            (project["spec"]["sourceRepos"] == json!(["https://git.example/Shop/other"])).then_some(())
        })
        .await;
    let from = Instant::now();
    send(
        &fixture.engine,
        "PATCH",
        &format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}"),
        json!({"status": {"health": {"status": "Degraded", "message": "it fell over"}}}),
    )
    .await
    .unwrap();
    let reported = fixture
        .wait_for("the new health", async || {
            fixture.deployment("shop", "web").await.filter(|web| web["status"]["health"]["status"] == "Degraded")
        })
        .await;
    assert_eq!(reported["status"]["health"]["message"], "it fell over");
    assert!(from.elapsed() < Duration::from_secs(2), "told after {:?}", from.elapsed());
}

async fn an_invalid_deployment_reports_its_error(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let mut spec = plain();
    spec["source"]["path"] = "/".into();
    fixture.deploy("shop", "web", spec).await;
    let error = async || {
        let found = fixture.deployment("shop", "web").await?;
        let conditions = found["status"]["conditions"].as_array()?.clone();
        conditions.into_iter().find(|one| one["type"] == "ErrorOccurred")
    };
    let said = fixture.wait_for("a condition", async || error().await).await;
    assert_eq!((&said["status"], &said["message"]), (&json!("True"), &json!("spec.source.path cannot be '/'")));
    assert!(fixture.all::<Application>().await.is_empty());
    let path = format!("{GROUP}/namespaces/shop/gitopsdeployments/web");
    send(&fixture.tenants, "PATCH", &path, json!({"spec": {"source": {"path": "deploy"}}})).await.unwrap();
    let said = fixture.wait_for("no error", async || error().await.filter(|one| one["status"] == "False")).await;
    assert_eq!(said["reason"], "ErrorOccurredResolved");
}

/// managed-gitops writes the tenant first, and its own tests read the row right after they create a deployment.
async fn every_deployment_has_a_tenant_at_once(database: TestDatabase) {
    // No Argo CD is registered, so that no deployment gets an Application.
    let mut fixture = ServiceFixture::with_database(database, false, async |_, _| {}).await;
    fixture.start().await;
    fixture.deploy("shop", "web", plain()).await;
    let mut invalid = plain();
    invalid["source"]["path"] = "/".into();
    fixture.deploy("bank", "vault", invalid).await;
    for namespace in ["shop", "bank"] {
        let path = format!("/api/v1/namespaces/{namespace}");
        let uid = uid(&send(&fixture.tenants, "GET", &path, Value::Null).await.unwrap());
        let has_row = async || fixture.all::<ClusterUser>().await.into_iter().find(|user| user.user_name == uid);
        let user = fixture.wait_for("a tenant", has_row).await;
        assert_eq!(user.display_name.as_deref(), Some(namespace));
    }
    assert!(fixture.all::<Application>().await.is_empty());
    assert!(fixture.all::<ManagedEnvironment>().await.is_empty(), "nothing refers to other new rows");
}

async fn a_url_that_is_too_long_is_reported_and_delays_no_other(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.deploy("shop", "web", plain()).await;
    synced(&fixture, "shop", "web").await;
    let mut spec = plain();
    spec["source"]["repoURL"] = format!("https://git.example/{}", "x".repeat(3000)).into();
    fixture.deploy("shop", "long", spec).await;
    let said = fixture
        .wait_for("a condition", async || {
            let found = fixture.deployment("shop", "long").await?;
            found["status"]["conditions"].as_array()?.first().cloned()
        })
        .await;
    assert_eq!(said["message"], "spec.source.repoURL has 3020 characters, and at most 2048 are supported");
    // The tenant's other repositories are still recorded.
    let mut spec = plain();
    spec["source"]["repoURL"] = "https://git.example/Shop/other.git".into();
    fixture.deploy("shop", "other", spec).await;
    synced(&fixture, "shop", "other").await;
    fixture.wait_for("both", async || (fixture.all::<AppProjectRepository>().await.len() == 2).then_some(())).await;
    fixture.wait_until_settled().await;
    let reported = fixture.unit_states().await;
    assert!(!reported.lines().any(|line| line.contains("Failing")), "{reported}");
}

async fn an_edited_or_deleted_application_is_restored(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let web = uid(&fixture.deploy("shop", "web", plain()).await);
    synced(&fixture, "shop", "web").await;
    fixture.wait_until_settled().await;
    let path = format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}");
    let edit = json!({"spec": {"source": {"path": "stolen"}, "destination": {"namespace": "kube-system"}}});
    send(&fixture.engine, "PATCH", &path, edit).await.unwrap();
    fixture
        .wait_for("what the tenant wants", async || {
            let found = fixture.application(&web).await?;
            (found["spec"]["source"]["path"] == "deploy" && found["spec"]["destination"]["namespace"] == "shop")
                .then_some(())
        })
        .await;
    fixture.wait_until_settled().await;
    let before = fixture.application(&web).await.unwrap();
    send(&fixture.engine, "DELETE", &path, Value::Null).await.unwrap();
    fixture
        .wait_for("another one", async || fixture.application(&web).await.filter(|found| uid(found) != uid(&before)))
        .await;
}

async fn a_deployment_with_a_finalizer_waits_for_argo_cd(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let made = create(
        &fixture.tenants,
        &format!("{GROUP}/namespaces/shop/gitopsdeployments"),
        json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment", "spec": plain(),
            "metadata": {"name": "web", "finalizers": ["resources-finalizer.managed-gitops.redhat.com"]}}),
    )
    .await;
    let web = uid(&made);
    synced(&fixture, "shop", "web").await;
    fixture.fake_argocd.stuck(true);
    fixture.delete("shop", DEPLOYMENTS, "web").await;
    let application = fixture
        .wait_for("an Application that is to go", async || {
            fixture.application(&web).await.filter(|found| !found["metadata"]["deletionTimestamp"].is_null())
        })
        .await;
    assert_eq!(application["metadata"]["finalizers"], json!(["resources-finalizer.argocd.argoproj.io/background"]));
    assert!(fixture.deployment("shop", "web").await.is_some(), "it stays until its resources are deleted");
    // Another tenant is not delayed.
    fixture.deploy("bank", "vault", plain()).await;
    synced(&fixture, "bank", "vault").await;
    assert!(fixture.deployment("shop", "web").await.is_some());
    fixture.fake_argocd.stuck(false);
    fixture.wait_for("no deployment", async || fixture.deployment("shop", "web").await.is_none().then_some(())).await;
}

async fn a_recreated_deployment_is_another(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    let first = uid(&fixture.deploy("shop", "web", plain()).await);
    synced(&fixture, "shop", "web").await;
    fixture.wait_until_settled().await;
    fixture.kill().await;
    fixture.delete("shop", DEPLOYMENTS, "web").await;
    let second = uid(&fixture.deploy("shop", "web", plain()).await);
    fixture.start().await;
    fixture.wait_for("the new Application", async || fixture.application(&second).await).await;
    fixture.wait_for("the old one gone", async || fixture.application(&first).await.is_none().then_some(())).await;
    assert_eq!(fixture.all::<Application>().await.len(), 1);
}

/// An Operation whose unit was killed, or had to wait, between the row and its notification; completed operations
/// expire after an hour.
async fn an_operation_without_notification_is_notified(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.deploy("shop", "web", plain()).await;
    synced(&fixture, "shop", "web").await;
    fixture.wait_until_settled().await;
    let over: Operation = fixture.all().await.pop().unwrap();
    assert_eq!(over.state, OperationState::Completed);
    // A client with its own credentials has an hour to create the notification.
    let then = DbTimestamp::from_unix_us(jiff::Timestamp::now().as_microsecond()).plus_ms(-61 * 60 * 1000);
    let lost = Operation {
        id: "lost".into(),
        state: OperationState::Waiting,
        created_on: then,
        last_state_update: then,
        ..over
    };
    fixture.ledger.commit(&[RowChange::insert(&lost)]).await.unwrap();
    let is_over = |row: &Operation| row.id == lost.id && row.state == OperationState::Completed;
    fixture.wait_for("its end", async || fixture.all::<Operation>().await.into_iter().find(is_over)).await;
}

async fn a_deletion_during_a_restart_is_applied(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    let web = uid(&fixture.deploy("shop", "web", plain()).await);
    synced(&fixture, "shop", "web").await;
    fixture.wait_until_settled().await;
    fixture.kill().await;
    fixture.delete("shop", DEPLOYMENTS, "web").await;
    fixture.start().await;
    fixture.wait_for("no Application", async || fixture.application(&web).await.is_none().then_some(())).await;
    fixture.wait_until_settled().await;
    assert!(fixture.all::<Application>().await.is_empty());
    assert!(fixture.all::<DeploymentToApplication>().await.is_empty());
    assert!(fixture.all::<ApplicationState>().await.is_empty());
}

async fn a_deleted_deployment_leaves_no_waiting_unit(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    no_unit_waits_after_a_deletion(&fixture).await;
}

async fn a_deleted_deployment_leaves_no_waiting_unit_of_a_separate_backend(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.start_roles(RoleSet::Backend, None, fixture.clients()).await;
    fixture.start_roles(RoleSet::Agent, None, fixture.clients()).await;
    no_unit_waits_after_a_deletion(&fixture).await;
}

async fn no_unit_waits_after_a_deletion(fixture: &ServiceFixture) {
    for name in ["web", "api"] {
        let uid = uid(&fixture.deploy("shop", name, plain()).await);
        synced(fixture, "shop", name).await;
        fixture.wait_until_settled().await;
        fixture.delete("shop", DEPLOYMENTS, name).await;
        fixture.wait_for("no Application", async || fixture.application(&uid).await.is_none().then_some(())).await;
    }
    fixture.wait_until_settled().await;
    fixture
        .wait_for("no unit that waits", async || (!fixture.unit_states().await.contains("Waiting")).then_some(()))
        .await;
}

async fn a_deleted_namespace_leaves_nothing(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.deploy("shop", "web", plain()).await;
    synced(&fixture, "shop", "web").await;
    fixture.wait_until_settled().await;
    fixture.delete("shop", DEPLOYMENTS, "web").await;
    send(&fixture.tenants, "DELETE", "/api/v1/namespaces/shop", Value::Null).await.unwrap();
    fixture.wait_for("no tenant", async || fixture.all::<ClusterUser>().await.is_empty().then_some(())).await;
    assert!(fixture.all::<ManagedEnvironment>().await.is_empty());
    assert!(fixture.all::<ClusterAccess>().await.is_empty());
    assert!(fixture.all::<AppProjectRepository>().await.is_empty());
    assert!(fixture.all::<Operation>().await.iter().all(|row| row.owner.is_some()), "managed-gitops requires an owner");
    // The credentials of the engine cluster stay.
    assert_eq!(fixture.all::<ClusterCredentials>().await.len(), 1);
}

async fn an_idle_deployment_costs_nothing(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.deploy("shop", "web", plain()).await;
    synced(&fixture, "shop", "web").await;
    fixture.wait_until_settled().await;
    let mut last = (fixture.runs().await, Instant::now());
    fixture
        .wait_for("rest", async || {
            let now = fixture.runs().await;
            if now != last.0 {
                last = (now, Instant::now());
            }
            (last.1.elapsed() > Duration::from_millis(800)).then_some(())
        })
        .await;
    let (runs, from) = (fixture.runs().await, Instant::now());
    fixture.wait_for("a while", async || (from.elapsed() > Duration::from_millis(1500)).then_some(())).await;
    assert_eq!(fixture.runs().await, runs, "no unit runs, so no request is sent");
}
