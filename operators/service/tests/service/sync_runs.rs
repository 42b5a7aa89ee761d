//! Deploy now.

use serde_json::{Value, json};
use switchboard_ledger::rows::*;
use switchboard_service::backend;

use crate::base::{Base, on_both};
use crate::stage::{DEPLOYMENTS, GROUP, SYNC_RUNS, Stage, plain, send, uid};

on_both! {
    a_run_syncs_and_the_next_one_waits_for_it
    a_run_waits_for_its_deployment
    a_run_of_an_automated_deployment_is_refused
    a_run_that_is_deleted_is_stopped
    a_sync_goes_on_after_a_restart
    a_name_that_is_refused_is_refused_at_once
}

fn manual() -> Value {
    let mut spec = plain();
    spec["type"] = "manual".into();
    spec
}

async fn run(stage: &Stage, name: &str, revision: Option<&str>) {
    let mut spec = json!({"gitopsDeploymentName": "web"});
    if let Some(revision) = revision {
        spec["revisionID"] = revision.into();
    }
    stage.make("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", name, spec).await;
}

async fn told(stage: &Stage, name: &str) -> Option<Value> {
    let run = stage.resource("shop", SYNC_RUNS, name).await?;
    run["status"]["conditions"].as_array()?.first().cloned()
}

async fn a_run_syncs_and_the_next_one_waits_for_it(base: Base) {
    let stage = Stage::new(base).await;
    let web = uid(&stage.deploy("shop", "web", manual()).await);
    stage.until("an Application", async || stage.application(&web).await).await;
    stage.settled().await;
    stage.argo.stuck(true);
    run(&stage, "first", Some("4403172")).await;
    let asked = stage
        .until("a sync", async || stage.application(&web).await.filter(|found| found["operation"].is_object()))
        .await;
    assert_eq!(asked["operation"]["sync"]["revision"], "4403172");
    assert_eq!(asked["operation"]["initiatedBy"]["username"], "switchboard");
    run(&stage, "second", None).await;
    stage.until("one sync", async || (stage.all::<SyncOperation>().await.len() == 1).then_some(())).await;
    stage.argo.stuck(false);
    for name in ["first", "second"] {
        let said = stage.until("an end", async || told(&stage, name).await).await;
        assert_eq!((&said["status"], &said["message"]), (&json!("False"), &json!("")));
    }
    let rows: Vec<SyncOperation> = stage.all().await;
    assert_eq!(rows.len(), 2);
    let last = stage.application(&web).await.unwrap();
    assert_eq!(last["status"]["operationState"]["operation"]["sync"].get("revision"), None, "the deployment's own");
}

async fn a_run_waits_for_its_deployment(base: Base) {
    let mut stage = Stage::new(base).await;
    run(&stage, "early", None).await;
    // Nothing of it is lost with the process.
    stage.kill().await;
    stage.start().await;
    stage.deploy("shop", "web", manual()).await;
    let said = stage.until("an end", async || told(&stage, "early").await).await;
    assert_eq!(said["status"], "False", "{said}");
}

async fn a_run_of_an_automated_deployment_is_refused(base: Base) {
    let stage = Stage::new(base).await;
    stage.deploy("shop", "web", plain()).await;
    run(&stage, "now", None).await;
    let said = stage.until("a refusal", async || told(&stage, "now").await).await;
    assert_eq!(
        said["message"],
        "invalid GitOpsDeploymentSyncRun 'now'. Syncing a GitOpsDeployment with Automated sync policy is not allowed"
    );
    assert!(stage.all::<SyncOperation>().await.is_empty());
}

async fn a_run_that_is_deleted_is_stopped(base: Base) {
    let mut stage = Stage::set(base, false).await;
    // Nobody has to ring for it: that would be a minute later.
    stage.settings.ring_after = backend::RING_AFTER;
    stage.start().await;
    let web = uid(&stage.deploy("shop", "web", manual()).await);
    stage.until("an Application", async || stage.application(&web).await).await;
    stage.argo.stuck(true);
    run(&stage, "now", None).await;
    let phase = async |wanted: &str| {
        stage.application(&web).await.filter(|found| found["status"]["operationState"]["phase"] == wanted)
    };
    stage.until("a sync", async || phase("Running").await).await;
    // Whoever works on the sync has looked at it, and has no reason to look again.
    assert!(stage.until_burnt(|| false).await);
    stage.delete("shop", SYNC_RUNS, "now").await;
    let asked = std::time::Instant::now();
    stage.until("its end", async || phase("Failed").await).await;
    assert!(asked.elapsed() < backend::RING_AFTER / 2, "it ended by chance");
    stage.until("no rows", async || stage.all::<SyncOperation>().await.is_empty().then_some(())).await;
    let mappings: Vec<ApiToDatabase> = stage.all().await;
    assert!(mappings.is_empty(), "{mappings:?}");
    stage.argo.stuck(false);
    stage.settled().await;
    stage.delete("shop", DEPLOYMENTS, "web").await;
    stage.until("no rows", async || stage.all::<Application>().await.is_empty().then_some(())).await;
}

async fn a_sync_goes_on_after_a_restart(base: Base) {
    let mut stage = Stage::new(base).await;
    let web = uid(&stage.deploy("shop", "web", manual()).await);
    stage.until("an Application", async || stage.application(&web).await).await;
    stage.argo.stuck(true);
    run(&stage, "now", None).await;
    stage.until("a sync", async || stage.application(&web).await.filter(|found| found["operation"].is_object())).await;
    stage.kill().await;
    stage.argo.stuck(false);
    stage.start().await;
    let said = stage.until("an end", async || told(&stage, "now").await).await;
    assert_eq!(said["status"], "False");
    assert_eq!(stage.all::<SyncOperation>().await.len(), 1);
}

/// As the original's webhook does, in its words.
async fn a_name_that_is_refused_is_refused_at_once(base: Base) {
    let stage = Stage::new(base).await;
    let name = "zyxwvutsrqponmlkjihgfedcba-abcdefghijklmnoqrstuvwxyz";
    let body = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeploymentSyncRun",
        "metadata": {"name": name}, "spec": {"gitopsDeploymentName": "web"}});
    let path = format!("{GROUP}/namespaces/shop/{SYNC_RUNS}");
    let said = send(&stage.tenants, "POST", &path, body).await.unwrap_err();
    assert!(said.contains(&format!("name should not be {name}")), "{said}");
}
