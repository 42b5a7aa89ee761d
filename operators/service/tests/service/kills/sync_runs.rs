//! Sync runs.

use serde_json::json;
use switchboard_ledger::rows::SyncOperation;

use super::{Flow, Later, killed, synced};
use crate::stage::{SYNC_RUNS, Stage, plain, uid};

killed! {
    a_sync_runs
    a_sync_is_stopped
    a_run_that_is_over_is_removed
}

fn manual(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        let mut spec = plain();
        spec["type"] = "manual".into();
        let web = uid(&stage.deploy("shop", "web", spec).await);
        stage.until("an Application", async || stage.application(&web).await).await;
        synced(stage).await;
        stage.settled().await;
    })
}

fn run(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        let spec = json!({"gitopsDeploymentName": "web"});
        stage.make("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", "now", spec).await;
    })
}

fn over(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        stage
            .until("an end", async || {
                let run = stage.resource("shop", SYNC_RUNS, "now").await?;
                Some(run).filter(|run| run["status"]["conditions"][0]["status"] == "False")
            })
            .await;
    })
}

fn delete(stage: &Stage) -> Later<'_> {
    Box::pin(stage.delete("shop", SYNC_RUNS, "now"))
}

fn no_run(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        stage.until("no rows", async || stage.all::<SyncOperation>().await.is_empty().then_some(())).await;
    })
}

fn a_sync_runs() -> Flow {
    Flow { before: manual, change: run, holds: over }
}

/// Argo CD would never come to an end by itself.
fn a_sync_is_stopped() -> Flow {
    async fn phase(stage: &Stage, wanted: &str) {
        stage
            .until(wanted, async || {
                let web = uid(&stage.deployment("shop", "web").await?);
                let found = stage.application(&web).await?;
                (found["status"]["operationState"]["phase"] == wanted).then_some(())
            })
            .await;
    }
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            manual(stage).await;
            stage.argo.stuck(true);
            run(stage).await;
            phase(stage, "Running").await;
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            phase(stage, "Failed").await;
            no_run(stage).await;
            stage.argo.stuck(false);
        })
    }
    Flow { before, change: delete, holds }
}

fn a_run_that_is_over_is_removed() -> Flow {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            manual(stage).await;
            run(stage).await;
            over(stage).await;
            stage.settled().await;
        })
    }
    Flow { before, change: delete, holds: no_run }
}
