//! Flows of sync runs.

use serde_json::json;
use switchboard_gitops::rows::SyncOperation;

use super::{CrashCase, StepFuture, crash_tests, synced};
use crate::fixture::{SYNC_RUNS, ServiceFixture, plain, uid};

crash_tests! {
    a_sync_runs
    a_sync_is_stopped
    a_finished_sync_run_is_deleted
}

fn manual(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        let mut spec = plain();
        spec["type"] = "manual".into();
        let web = uid(&fixture.deploy("shop", "web", spec).await);
        fixture.wait_for("an Application", async || fixture.application(&web).await).await;
        synced(fixture).await;
        fixture.wait_until_settled().await;
    })
}

fn run(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        let spec = json!({"gitopsDeploymentName": "web"});
        fixture.create_resource("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", "now", spec).await;
    })
}

fn run_ended(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        fixture
            .wait_for("an end", async || {
                let run = fixture.resource("shop", SYNC_RUNS, "now").await?;
                Some(run).filter(|run| run["status"]["conditions"][0]["status"] == "False")
            })
            .await;
    })
}

fn delete(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(fixture.delete("shop", SYNC_RUNS, "now"))
}

fn no_run(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        fixture.wait_for("no rows", async || fixture.all::<SyncOperation>().await.is_empty().then_some(())).await;
    })
}

fn a_sync_runs() -> CrashCase {
    CrashCase { before: manual, change: run, verify: run_ended }
}

/// Argo CD would never finish this sync.
fn a_sync_is_stopped() -> CrashCase {
    async fn phase(fixture: &ServiceFixture, wanted: &str) {
        fixture
            .wait_for(wanted, async || {
                let web = uid(&fixture.deployment("shop", "web").await?);
                let found = fixture.application(&web).await?;
                (found["status"]["operationState"]["phase"] == wanted).then_some(())
            })
            .await;
    }
    fn before(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            manual(fixture).await;
            fixture.fake_argocd.stuck(true);
            run(fixture).await;
            phase(fixture, "Running").await;
        })
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            phase(fixture, "Failed").await;
            no_run(fixture).await;
            fixture.fake_argocd.stuck(false);
        })
    }
    CrashCase { before, change: delete, verify }
}

fn a_finished_sync_run_is_deleted() -> CrashCase {
    fn before(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            manual(fixture).await;
            run(fixture).await;
            run_ended(fixture).await;
            fixture.wait_until_settled().await;
        })
    }
    CrashCase { before, change: delete, verify: no_run }
}
