//! Immediate syncs.

use serde_json::{Value, json};
use switchboard_gitops::backend;
use switchboard_gitops::ids::OperationResource;
use switchboard_gitops::rows::*;
use switchboard_sql::RowChange;

use crate::database::{TestDatabase, on_both};
use crate::fixture::{DEPLOYMENTS, GROUP, SYNC_RUNS, ServiceFixture, plain, send, uid};

on_both! {
    a_sync_run_waits_for_the_previous_one
    a_sync_run_waits_for_its_deployment
    a_sync_run_of_an_automated_deployment_is_rejected
    a_deleted_sync_run_is_stopped
    sync_runs_are_deleted_with_their_deployment
    a_sync_continues_after_a_restart
    a_changed_sync_run_keeps_its_result
    a_reserved_name_is_rejected_at_admission
}

fn manual() -> Value {
    let mut spec = plain();
    spec["type"] = "manual".into();
    spec
}

async fn run(fixture: &ServiceFixture, name: &str, revision: Option<&str>) {
    let mut spec = json!({"gitopsDeploymentName": "web"});
    if let Some(revision) = revision {
        spec["revisionID"] = revision.into();
    }
    fixture.create_resource("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", name, spec).await;
}

async fn condition(fixture: &ServiceFixture, name: &str) -> Option<Value> {
    let run = fixture.resource("shop", SYNC_RUNS, name).await?;
    run["status"]["conditions"].as_array()?.first().cloned()
}

async fn a_sync_run_waits_for_the_previous_one(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let web = uid(&fixture.deploy("shop", "web", manual()).await);
    fixture.wait_for("an Application", async || fixture.application(&web).await).await;
    fixture.wait_until_settled().await;
    fixture.fake_argocd.stuck(true);
    run(&fixture, "first", Some("4403172")).await;
    let asked = fixture
        .wait_for("a sync", async || fixture.application(&web).await.filter(|found| found["operation"].is_object()))
        .await;
    assert_eq!(asked["operation"]["sync"]["revision"], "4403172");
    assert_eq!(asked["operation"]["initiatedBy"]["username"], "switchboard");
    run(&fixture, "second", None).await;
    fixture.wait_for("one sync", async || (fixture.all::<SyncOperation>().await.len() == 1).then_some(())).await;
    fixture.fake_argocd.stuck(false);
    for name in ["first", "second"] {
        let said = fixture.wait_for("an end", async || condition(&fixture, name).await).await;
        assert_eq!((&said["status"], &said["message"]), (&json!("False"), &json!("")));
    }
    let rows: Vec<SyncOperation> = fixture.all().await;
    assert_eq!(rows.len(), 2);
    let last = fixture.application(&web).await.unwrap();
    assert_eq!(last["status"]["operationState"]["operation"]["sync"].get("revision"), None, "the deployment's own");
}

async fn a_sync_run_waits_for_its_deployment(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    run(&fixture, "early", None).await;
    // A restart does not lose the sync.
    fixture.kill().await;
    fixture.start().await;
    fixture.deploy("shop", "web", manual()).await;
    let said = fixture.wait_for("an end", async || condition(&fixture, "early").await).await;
    assert_eq!(said["status"], "False", "{said}");
}

async fn a_sync_run_of_an_automated_deployment_is_rejected(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.deploy("shop", "web", plain()).await;
    run(&fixture, "now", None).await;
    let said = fixture.wait_for("a refusal", async || condition(&fixture, "now").await).await;
    assert_eq!(
        said["message"],
        "invalid GitOpsDeploymentSyncRun 'now'. Syncing a GitOpsDeployment with Automated sync policy is not allowed"
    );
    assert!(fixture.all::<SyncOperation>().await.is_empty());
}

async fn a_deleted_sync_run_is_stopped(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    // The sync needs no notification, which would come a minute later.
    fixture.settings.notify_after = backend::NOTIFY_AFTER;
    fixture.start().await;
    let web = uid(&fixture.deploy("shop", "web", manual()).await);
    fixture.wait_for("an Application", async || fixture.application(&web).await).await;
    fixture.fake_argocd.stuck(true);
    run(&fixture, "now", None).await;
    let phase = async |wanted: &str| {
        fixture.application(&web).await.filter(|found| found["status"]["operationState"]["phase"] == wanted)
    };
    fixture.wait_for("a sync", async || phase("Running").await).await;
    // The unit that carries out the sync has observed it and has no reason to requeue.
    assert!(fixture.wait_until_crashed(|| false).await);
    fixture.delete("shop", SYNC_RUNS, "now").await;
    let asked = std::time::Instant::now();
    fixture.wait_for("its end", async || phase("Failed").await).await;
    assert!(asked.elapsed() < backend::NOTIFY_AFTER / 2, "it ended by chance");
    fixture.wait_for("no rows", async || fixture.all::<SyncOperation>().await.is_empty().then_some(())).await;
    let mappings: Vec<ApiToDatabase> = fixture.all().await;
    assert!(mappings.is_empty(), "{mappings:?}");
    fixture.fake_argocd.stuck(false);
    fixture.wait_until_settled().await;
    fixture.delete("shop", DEPLOYMENTS, "web").await;
    fixture.wait_for("no rows", async || fixture.all::<Application>().await.is_empty().then_some(())).await;
}

/// Runs are owned by their deployment: without it, they record nothing that a user could look up.
async fn sync_runs_are_deleted_with_their_deployment(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let web = uid(&fixture.deploy("shop", "web", manual()).await);
    fixture.wait_for("an Application", async || fixture.application(&web).await).await;
    for name in ["first", "second"] {
        run(&fixture, name, None).await;
        let said = fixture.wait_for("an end", async || condition(&fixture, name).await).await;
        assert_eq!(said["status"], "False", "{said}");
    }
    // Another deployment's run stays, and so does one that still waits for its deployment.
    let other = json!({"gitopsDeploymentName": "other"});
    fixture.create_resource("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", "early", other).await;
    let owned = fixture
        .wait_for("an owner", async || {
            let run = fixture.resource("shop", SYNC_RUNS, "second").await?;
            run["metadata"]["ownerReferences"].is_array().then_some(run)
        })
        .await;
    assert_eq!(
        owned["metadata"]["ownerReferences"],
        json!([{"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment", "name": "web", "uid": web}])
    );
    fixture
        .wait_for("an owner of the first", async || {
            let run = fixture.resource("shop", SYNC_RUNS, "first").await?;
            run["metadata"]["ownerReferences"].is_array().then_some(())
        })
        .await;
    fixture.delete("shop", DEPLOYMENTS, "web").await;
    for name in ["first", "second"] {
        fixture
            .wait_for("no run", async || fixture.resource("shop", SYNC_RUNS, name).await.is_none().then_some(()))
            .await;
    }
    assert!(fixture.resource("shop", SYNC_RUNS, "early").await.is_some());
    fixture.wait_for("no rows", async || fixture.all::<SyncOperation>().await.is_empty().then_some(())).await;
    assert!(fixture.all::<ApiToDatabase>().await.is_empty());
}

async fn a_sync_continues_after_a_restart(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    let web = uid(&fixture.deploy("shop", "web", manual()).await);
    fixture.wait_for("an Application", async || fixture.application(&web).await).await;
    fixture.fake_argocd.stuck(true);
    run(&fixture, "now", None).await;
    fixture
        .wait_for("a sync", async || fixture.application(&web).await.filter(|found| found["operation"].is_object()))
        .await;
    fixture.kill().await;
    fixture.fake_argocd.stuck(false);
    fixture.start().await;
    let said = fixture.wait_for("an end", async || condition(&fixture, "now").await).await;
    assert_eq!(said["status"], "False");
    assert_eq!(fixture.all::<SyncOperation>().await.len(), 1);
}

/// The condition of the change replaces that of the result, and the result returns with the spec.
async fn a_changed_sync_run_keeps_its_result(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    let web = uid(&fixture.deploy("shop", "web", manual()).await);
    fixture.wait_for("an Application", async || fixture.application(&web).await).await;
    run(&fixture, "now", Some("4403172")).await;
    let succeeded =
        async || condition(&fixture, "now").await.filter(|said| said["status"] == "False" && said["reason"] == "");
    fixture.wait_for("an end", succeeded).await;
    let path = format!("{GROUP}/namespaces/shop/{SYNC_RUNS}/now");
    let revision = |text: &str| json!({"spec": {"revisionID": text}});
    send(&fixture.tenants, "PATCH", &path, revision("d390b22")).await.unwrap();
    let said = async || condition(&fixture, "now").await.filter(|said| said["status"] == "True");
    assert_eq!(fixture.wait_for("an error", said).await["reason"], "ErrorOccurred");
    fixture.wait_until_settled().await;
    // After their retention, the Operations are deleted.
    fixture.kill().await;
    for row in fixture.all::<Operation>().await {
        fixture.ledger.commit(&[RowChange::delete(&row)]).await.unwrap();
    }
    send(&fixture.tenants, "PATCH", &path, revision("4403172")).await.unwrap();
    fixture.start().await;
    let succeeded =
        async || condition(&fixture, "now").await.filter(|said| said["status"] == "False" && said["reason"] == "");
    fixture.wait_for("the result", succeeded).await;
    let syncs = |row: &Operation| row.resource == OperationResource::SyncOperation;
    assert!(!fixture.all::<Operation>().await.iter().any(syncs), "it is not repeated");
    fixture.delete("shop", SYNC_RUNS, "now").await;
    fixture.wait_for("no rows", async || fixture.all::<SyncOperation>().await.is_empty().then_some(())).await;
}

/// Mirrors managed-gitops' webhook, with its message.
async fn a_reserved_name_is_rejected_at_admission(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let name = "zyxwvutsrqponmlkjihgfedcba-abcdefghijklmnoqrstuvwxyz";
    let body = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeploymentSyncRun",
        "metadata": {"name": name}, "spec": {"gitopsDeploymentName": "web"}});
    let path = format!("{GROUP}/namespaces/shop/{SYNC_RUNS}");
    let said = send(&fixture.tenants, "POST", &path, body).await.unwrap_err();
    assert!(said.contains(&format!("name should not be {name}")), "{said}");
}
