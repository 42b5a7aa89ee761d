//! Flows of environments, with a provided account and with one that the service creates.

use serde_json::{Value, json};
use switchboard_gitops::rows::tenant_clusters::ServiceAccount;

use super::{CrashCase, StepFuture, crash_tests, is_synced, nothing, synced};
use crate::fixture::{
    ENVIRONMENT_SECRET, ENVIRONMENTS, GROUP, ServiceFixture, TARGET, decoded, kubeconfig, kubeconfig_of, plain, send,
};

crash_tests! {
    an_environment_is_created
    an_environment_is_rotated
    an_environment_changes_its_target
    an_environment_is_removed
    an_environment_with_a_created_account_is_created
    an_environment_with_a_created_account_is_rotated
    an_environment_with_a_created_account_is_removed
    a_created_account_is_no_longer_wanted
}

async fn deploy_to_environment(fixture: &ServiceFixture) {
    let mut spec = plain();
    spec["destination"] = json!({"environment": "stage", "namespace": "web"});
    fixture.deploy("shop", "web", spec).await;
}

fn given(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        fixture.environment("shop", "stage", "token-one").await;
        deploy_to_environment(fixture).await;
    })
}

pub fn own(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        let config = json!({"kubeconfig": kubeconfig("admin-token")});
        fixture.secret("shop", "stage-secret", ENVIRONMENT_SECRET, config).await;
        let spec = json!({"apiURL": TARGET, "credentialsSecret": "stage-secret", "allowInsecureSkipTLSVerify": false,
            "createNewServiceAccount": true});
        fixture.create_resource("shop", ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", "stage", spec).await;
        deploy_to_environment(fixture).await;
    })
}

fn with_provided_account(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        given(fixture).await;
        synced(fixture).await;
        fixture.wait_until_settled().await;
    })
}

pub fn with_created_account(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        own(fixture).await;
        synced(fixture).await;
        fixture.wait_until_settled().await;
    })
}

async fn rotate(fixture: &ServiceFixture, config: String) {
    let path = "/api/v1/namespaces/shop/secrets/stage-secret";
    send(&fixture.tenants, "PATCH", path, json!({"stringData": {"kubeconfig": config}})).await.unwrap();
}

fn rotated(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(rotate(fixture, kubeconfig("token-two")))
}

fn removed(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(fixture.delete("shop", ENVIRONMENTS, "stage"))
}

/// Waits until the Secret of Argo CD holds an expected value.
async fn argocd_secret_has(fixture: &ServiceFixture, key: &str, verify: impl Fn(&str) -> bool) {
    fixture
        .wait_for("the Secret", async || {
            let secrets = fixture.argocd_secrets().await;
            (secrets.len() == 1 && verify(&decoded(&secrets[0], key))).then_some(())
        })
        .await;
}

async fn no_account(fixture: &ServiceFixture) {
    let left = async || fixture.all::<ServiceAccount>().await.is_empty().then_some(());
    fixture.wait_for("no account", left).await;
}

fn deletion_reported(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        fixture.wait_for("no Secrets", async || fixture.argocd_secrets().await.is_empty().then_some(())).await;
        no_account(fixture).await;
        fixture
            .wait_for("an error", async || {
                let found: Value = fixture.deployment("shop", "web").await?;
                let conditions = found["status"]["conditions"].as_array()?.clone();
                conditions.into_iter().find(|one| one["type"] == "ErrorOccurred" && one["status"] == "True")
            })
            .await;
    })
}

fn an_environment_is_created() -> CrashCase {
    CrashCase { before: nothing, change: given, verify: is_synced }
}

fn an_environment_is_rotated() -> CrashCase {
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(argocd_secret_has(fixture, "config", |config| config.contains("token-two")))
    }
    CrashCase { before: with_provided_account, change: rotated, verify }
}

fn an_environment_changes_its_target() -> CrashCase {
    const OTHER: &str = "https://other.example:6443";
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            rotate(fixture, kubeconfig_of(OTHER, "token-two")).await;
            let path = format!("{GROUP}/namespaces/shop/{ENVIRONMENTS}/stage");
            let other = json!({"spec": {"apiURL": OTHER, "namespaces": ["web"]}});
            send(&fixture.target, "POST", "/api/v1/namespaces", json!({"metadata": {"name": "web"}})).await.unwrap();
            send(&fixture.tenants, "PATCH", &path, other).await.unwrap();
        })
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            argocd_secret_has(fixture, "server", |server| server.starts_with(OTHER)).await;
            argocd_secret_has(fixture, "namespaces", |namespaces| namespaces == "web").await;
            argocd_secret_has(fixture, "config", |config| config.contains("token-two")).await;
            // The test created this namespace by hand.
            send(&fixture.target, "DELETE", "/api/v1/namespaces/web", Value::Null).await.unwrap();
        })
    }
    CrashCase { before: with_provided_account, change, verify }
}

fn an_environment_is_removed() -> CrashCase {
    CrashCase { before: with_provided_account, change: removed, verify: deletion_reported }
}

fn an_environment_with_a_created_account_is_created() -> CrashCase {
    CrashCase { before: nothing, change: own, verify: is_synced }
}

/// The token that creates the account changes; the token of the account stays.
fn an_environment_with_a_created_account_is_rotated() -> CrashCase {
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            fixture
                .wait_for("the other kubeconfig", async || {
                    let rows: Vec<ServiceAccount> = fixture.all().await;
                    let is_kept = |row: &ServiceAccount| {
                        row.kube_config.as_ref().is_some_and(|config| config.expose().contains("token-two"))
                    };
                    (rows.len() == 1 && rows.iter().all(is_kept)).then_some(())
                })
                .await;
            argocd_secret_has(fixture, "config", |config| !config.contains("token-two")).await;
        })
    }
    CrashCase { before: with_created_account, change: rotated, verify }
}

fn an_environment_with_a_created_account_is_removed() -> CrashCase {
    CrashCase { before: with_created_account, change: removed, verify: deletion_reported }
}

fn a_created_account_is_no_longer_wanted() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            let path = format!("{GROUP}/namespaces/shop/{ENVIRONMENTS}/stage");
            send(&fixture.tenants, "PATCH", &path, json!({"spec": {"createNewServiceAccount": false}})).await.unwrap();
        })
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            no_account(fixture).await;
            argocd_secret_has(fixture, "config", |config| config.contains("admin-token")).await;
        })
    }
    CrashCase { before: with_created_account, change, verify }
}
