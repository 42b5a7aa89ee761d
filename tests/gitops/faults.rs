//! Outages of PostgreSQL and the API server, and deletion without leftovers.

use serde_json::json;

use super::fixture::GitopsFixture;
use super::flows::{CREDENTIAL, DEPLOYMENT, GITOPS, SYNC_RUN, commit, deployment, has_colour, has_status, is_deleted};
use super::roles::{KillTarget, RoleProcesses};

/// Restarts PostgreSQL while a deployment is created.
pub async fn check_database_outage(stage: &mut GitopsFixture) {
    stage.postgres.stop("QUIT");
    stage.namespace("late").await;
    commit(stage, "late", "pink", "web").await;
    commit(stage, "shop", "mauve", "web").await;
    let url = format!("{}/late", stage.git.https);
    stage.create(deployment("late", "web", &url, "automated", json!({}))).await;
    stage.until(("v1", "ConfigMap", "shop", "settings"), "mauve", has_colour("mauve")).await;
    stage.postgres.restart().unwrap();
    stage.until(("v1", "ConfigMap", "late", "settings"), "pink", has_colour("pink")).await;
    stage.until((GITOPS, DEPLOYMENT, "late", "web"), "synced", has_status("Synced", "Healthy")).await;
    stage.until((GITOPS, DEPLOYMENT, "shop", "web"), "synced", has_status("Synced", "Healthy")).await;
}

/// Crashes the API server while a deployment is created.
pub async fn check_cluster_outage(stage: &GitopsFixture) {
    stage.namespace("later").await;
    commit(stage, "later", "navy", "web").await;
    let url = format!("{}/later", stage.git.https);
    stage.create(deployment("later", "web", &url, "automated", json!({}))).await;
    stage.real.restart("kube-apiserver").unwrap();
    stage.until(("v1", "ConfigMap", "later", "settings"), "navy", has_colour("navy")).await;
    stage.until((GITOPS, DEPLOYMENT, "later", "web"), "synced", has_status("Synced", "Healthy")).await;
}

/// Deletes deployments: the deployed objects are deleted too, and nothing else is left.
pub async fn check_deleted_deployments(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    let all = ["shop", "slow", "closed", "keyed", "late", "later"];
    for namespace in all {
        stage.delete(GITOPS, DEPLOYMENT, namespace, "web").await;
    }
    stage.until(("v1", "ConfigMap", all[0], "settings"), "going", |object| object.is_none()).await;
    roles.kill_and_restart(stage, KillTarget::Both);
    for namespace in all {
        stage.until(("v1", "ConfigMap", namespace, "settings"), "gone", is_deleted).await;
        stage.until((GITOPS, DEPLOYMENT, namespace, "web"), "gone", is_deleted).await;
    }
    for name in ["now", "again"] {
        stage.until((GITOPS, SYNC_RUN, "slow", name), "deleted with its deployment", is_deleted).await;
    }
    for (namespace, name) in [("closed", "login"), ("keyed", "key")] {
        stage.delete(GITOPS, CREDENTIAL, namespace, name).await;
    }
    stage.until_empty().await;
}
