//! Whole namespaces.

use serde_json::{Value, json};
use switchboard_ledger::rows::ClusterUser;

use super::{Flow, Later, credentials, environments, killed};
use crate::stage::{SYNC_RUNS, Stage, create, plain, send};

killed! {
    a_namespace_goes
    a_namespace_goes_and_another_of_its_name_comes
}

/// One of each kind.
fn everything(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        let mut own = plain();
        own["type"] = "manual".into();
        stage.deploy("shop", "own", own).await;
        stage.secret("shop", "login", crate::stage::CREDENTIAL_SECRET, json!({"username": "u", "password": "p"})).await;
        let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
        stage.make("shop", crate::stage::CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
        let spec = json!({"gitopsDeploymentName": "own"});
        stage.make("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", "now", spec).await;
        environments::own(stage).await;
        super::synced(stage).await;
        stage
            .until("a sync", async || {
                let run = stage.resource("shop", SYNC_RUNS, "now").await?;
                (run["status"]["conditions"][0]["status"] == "False").then_some(())
            })
            .await;
        stage.until("two Secrets", async || (stage.secrets_of_argo().await.len() == 2).then_some(())).await;
        stage.settled().await;
    })
}

async fn remove(stage: &Stage) {
    send(&stage.tenants, "DELETE", "/api/v1/namespaces/shop", Value::Null).await.unwrap();
    let there = async || send(&stage.tenants, "GET", "/api/v1/namespaces/shop", Value::Null).await;
    stage.until("no namespace", async || there().await.is_err().then_some(())).await;
}

fn a_namespace_goes() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(remove(stage))
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage.until("no tenant", async || stage.all::<ClusterUser>().await.is_empty().then_some(())).await;
            stage.until("no Secrets", async || stage.secrets_of_argo().await.is_empty().then_some(())).await;
        })
    }
    Flow { before: everything, change, holds }
}

/// It is another tenant, which has nothing of the first one.
fn a_namespace_goes_and_another_of_its_name_comes() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            remove(stage).await;
            create(&stage.tenants, "/api/v1/namespaces", json!({"metadata": {"name": "shop"}})).await;
            credentials::create(stage).await;
            stage.deploy("shop", "web", plain()).await;
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            super::synced(stage).await;
            credentials::is_told(stage).await;
            stage.until("one tenant", async || (stage.all::<ClusterUser>().await.len() == 1).then_some(())).await;
        })
    }
    Flow { before: everything, change, holds }
}
