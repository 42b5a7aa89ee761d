//! Flows of whole namespaces.

use serde_json::{Value, json};
use switchboard_gitops::rows::ClusterUser;

use super::{CrashCase, StepFuture, crash_tests, credentials, environments};
use crate::fixture::{SYNC_RUNS, ServiceFixture, create, plain, send};

crash_tests! {
    a_namespace_is_deleted
    a_namespace_is_recreated
}

/// Creates one resource of each kind.
fn everything(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        let mut own = plain();
        own["type"] = "manual".into();
        fixture.deploy("shop", "own", own).await;
        fixture
            .secret("shop", "login", crate::fixture::CREDENTIAL_SECRET, json!({"username": "u", "password": "p"}))
            .await;
        let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
        fixture
            .create_resource("shop", crate::fixture::CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec)
            .await;
        let spec = json!({"gitopsDeploymentName": "own"});
        fixture.create_resource("shop", SYNC_RUNS, "GitOpsDeploymentSyncRun", "now", spec).await;
        environments::own(fixture).await;
        super::synced(fixture).await;
        fixture
            .wait_for("a sync", async || {
                let run = fixture.resource("shop", SYNC_RUNS, "now").await?;
                (run["status"]["conditions"][0]["status"] == "False").then_some(())
            })
            .await;
        fixture.wait_for("two Secrets", async || (fixture.argocd_secrets().await.len() == 2).then_some(())).await;
        fixture.wait_until_settled().await;
    })
}

async fn remove(fixture: &ServiceFixture) {
    send(&fixture.tenants, "DELETE", "/api/v1/namespaces/shop", Value::Null).await.unwrap();
    let there = async || send(&fixture.tenants, "GET", "/api/v1/namespaces/shop", Value::Null).await;
    fixture.wait_for("no namespace", async || there().await.is_err().then_some(())).await;
}

fn a_namespace_is_deleted() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(remove(fixture))
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            fixture.wait_for("no tenant", async || fixture.all::<ClusterUser>().await.is_empty().then_some(())).await;
            fixture.wait_for("no Secrets", async || fixture.argocd_secrets().await.is_empty().then_some(())).await;
        })
    }
    CrashCase { before: everything, change, verify }
}

/// The recreated namespace is another tenant, which owns none of the first one's resources.
fn a_namespace_is_recreated() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            remove(fixture).await;
            create(&fixture.tenants, "/api/v1/namespaces", json!({"metadata": {"name": "shop"}})).await;
            credentials::create(fixture).await;
            fixture.deploy("shop", "web", plain()).await;
        })
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            super::synced(fixture).await;
            credentials::is_reported(fixture).await;
            fixture
                .wait_for("one tenant", async || (fixture.all::<ClusterUser>().await.len() == 1).then_some(()))
                .await;
        })
    }
    CrashCase { before: everything, change, verify }
}
