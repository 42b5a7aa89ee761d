//! Environments, with an account that is given and with one of ours.

use serde_json::{Value, json};
use switchboard_ledger::rows::left::ServiceAccount;

use super::{Flow, Later, is_synced, killed, nothing, synced};
use crate::stage::{
    ENVIRONMENT_SECRET, ENVIRONMENTS, GROUP, Stage, TARGET, decoded, kubeconfig, kubeconfig_of, plain, send,
};

killed! {
    an_environment_is_created
    an_environment_is_rotated
    an_environment_gets_another_target
    an_environment_is_removed
    an_environment_with_an_account_of_ours_is_created
    an_environment_with_an_account_of_ours_is_rotated
    an_environment_with_an_account_of_ours_is_removed
    an_account_of_ours_is_not_wanted_any_more
}

async fn deploy_there(stage: &Stage) {
    let mut spec = plain();
    spec["destination"] = json!({"environment": "stage", "namespace": "web"});
    stage.deploy("shop", "web", spec).await;
}

fn given(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        stage.environment("shop", "stage", "token-one").await;
        deploy_there(stage).await;
    })
}

pub fn own(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        let config = json!({"kubeconfig": kubeconfig("admin-token")});
        stage.secret("shop", "stage-secret", ENVIRONMENT_SECRET, config).await;
        let spec = json!({"apiURL": TARGET, "credentialsSecret": "stage-secret", "allowInsecureSkipTLSVerify": false,
            "createNewServiceAccount": true});
        stage.make("shop", ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", "stage", spec).await;
        deploy_there(stage).await;
    })
}

fn with_given(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        given(stage).await;
        synced(stage).await;
        stage.settled().await;
    })
}

pub fn with_own(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        own(stage).await;
        synced(stage).await;
        stage.settled().await;
    })
}

async fn rotate(stage: &Stage, config: String) {
    let path = "/api/v1/namespaces/shop/secrets/stage-secret";
    send(&stage.tenants, "PATCH", path, json!({"stringData": {"kubeconfig": config}})).await.unwrap();
}

fn rotated(stage: &Stage) -> Later<'_> {
    Box::pin(rotate(stage, kubeconfig("token-two")))
}

fn removed(stage: &Stage) -> Later<'_> {
    Box::pin(stage.delete("shop", ENVIRONMENTS, "stage"))
}

/// Waits until Argo CD's Secret holds something.
async fn said_to_argo(stage: &Stage, key: &str, holds: impl Fn(&str) -> bool) {
    stage
        .until("the Secret", async || {
            let secrets = stage.secrets_of_argo().await;
            (secrets.len() == 1 && holds(&decoded(&secrets[0], key))).then_some(())
        })
        .await;
}

async fn no_account(stage: &Stage) {
    let left = async || stage.all::<ServiceAccount>().await.is_empty().then_some(());
    stage.until("no account", left).await;
}

fn told_of_its_end(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        stage.until("no Secrets", async || stage.secrets_of_argo().await.is_empty().then_some(())).await;
        no_account(stage).await;
        stage
            .until("an error", async || {
                let found: Value = stage.deployment("shop", "web").await?;
                let conditions = found["status"]["conditions"].as_array()?.clone();
                conditions.into_iter().find(|one| one["type"] == "ErrorOccurred" && one["status"] == "True")
            })
            .await;
    })
}

fn an_environment_is_created() -> Flow {
    Flow { before: nothing, change: given, holds: is_synced }
}

fn an_environment_is_rotated() -> Flow {
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(said_to_argo(stage, "config", |config| config.contains("token-two")))
    }
    Flow { before: with_given, change: rotated, holds }
}

fn an_environment_gets_another_target() -> Flow {
    const OTHER: &str = "https://other.example:6443";
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            rotate(stage, kubeconfig_of(OTHER, "token-two")).await;
            let path = format!("{GROUP}/namespaces/shop/{ENVIRONMENTS}/stage");
            let other = json!({"spec": {"apiURL": OTHER, "namespaces": ["web"]}});
            send(&stage.target, "POST", "/api/v1/namespaces", json!({"metadata": {"name": "web"}})).await.unwrap();
            send(&stage.tenants, "PATCH", &path, other).await.unwrap();
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            said_to_argo(stage, "server", |server| server.starts_with(OTHER)).await;
            said_to_argo(stage, "namespaces", |namespaces| namespaces == "web").await;
            said_to_argo(stage, "config", |config| config.contains("token-two")).await;
            // It was made by hand.
            send(&stage.target, "DELETE", "/api/v1/namespaces/web", Value::Null).await.unwrap();
        })
    }
    Flow { before: with_given, change, holds }
}

fn an_environment_is_removed() -> Flow {
    Flow { before: with_given, change: removed, holds: told_of_its_end }
}

fn an_environment_with_an_account_of_ours_is_created() -> Flow {
    Flow { before: nothing, change: own, holds: is_synced }
}

/// Another token for who makes the account; the account's own stays.
fn an_environment_with_an_account_of_ours_is_rotated() -> Flow {
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage
                .until("the other kubeconfig", async || {
                    let rows: Vec<ServiceAccount> = stage.all().await;
                    let is_kept = |row: &ServiceAccount| {
                        row.kube_config.as_ref().is_some_and(|config| config.expose().contains("token-two"))
                    };
                    (rows.len() == 1 && rows.iter().all(is_kept)).then_some(())
                })
                .await;
            said_to_argo(stage, "config", |config| !config.contains("token-two")).await;
        })
    }
    Flow { before: with_own, change: rotated, holds }
}

fn an_environment_with_an_account_of_ours_is_removed() -> Flow {
    Flow { before: with_own, change: removed, holds: told_of_its_end }
}

fn an_account_of_ours_is_not_wanted_any_more() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let path = format!("{GROUP}/namespaces/shop/{ENVIRONMENTS}/stage");
            send(&stage.tenants, "PATCH", &path, json!({"spec": {"createNewServiceAccount": false}})).await.unwrap();
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            no_account(stage).await;
            said_to_argo(stage, "config", |config| config.contains("admin-token")).await;
        })
    }
    Flow { before: with_own, change, holds }
}
