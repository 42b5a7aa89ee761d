//! What stands goes on when PostgreSQL or the API server goes away, and leaves nothing behind when it goes itself.

use serde_json::json;

use super::flows::{CREDENTIAL, DEPLOYMENT, GITOPS, SYNC_RUN, colour, commit, deployment, gone, stands};
use super::roles::{Roles, Whom};
use super::stage::Stage;

/// PostgreSQL is restarted while something is asked for.
pub async fn database_away(stage: &mut Stage) {
    stage.postgres.stop("QUIT");
    stage.namespace("late").await;
    commit(stage, "late", "pink", "web").await;
    commit(stage, "shop", "mauve", "web").await;
    let url = format!("{}/late", stage.git.https);
    stage.create(deployment("late", "web", &url, "automated", json!({}))).await;
    stage.until(("v1", "ConfigMap", "shop", "settings"), "mauve", colour("mauve")).await;
    stage.postgres.up().unwrap();
    stage.until(("v1", "ConfigMap", "late", "settings"), "pink", colour("pink")).await;
    stage.until((GITOPS, DEPLOYMENT, "late", "web"), "synced", stands("Synced", "Healthy")).await;
    stage.until((GITOPS, DEPLOYMENT, "shop", "web"), "synced", stands("Synced", "Healthy")).await;
}

/// The API server crashes while something is asked for.
pub async fn cluster_away(stage: &Stage) {
    stage.namespace("later").await;
    commit(stage, "later", "navy", "web").await;
    let url = format!("{}/later", stage.git.https);
    stage.create(deployment("later", "web", &url, "automated", json!({}))).await;
    stage.real.restart("kube-apiserver").unwrap();
    stage.until(("v1", "ConfigMap", "later", "settings"), "navy", colour("navy")).await;
    stage.until((GITOPS, DEPLOYMENT, "later", "web"), "synced", stands("Synced", "Healthy")).await;
}

/// What was deployed goes with its deployment, and nothing is left of it.
pub async fn deleted(stage: &Stage, roles: &mut Roles) {
    let all = ["shop", "slow", "closed", "keyed", "late", "later"];
    for namespace in all {
        stage.delete(GITOPS, DEPLOYMENT, namespace, "web").await;
    }
    stage.until(("v1", "ConfigMap", all[0], "settings"), "going", |object| object.is_none()).await;
    roles.bounce(stage, Whom::Both);
    for namespace in all {
        stage.until(("v1", "ConfigMap", namespace, "settings"), "gone", gone).await;
        stage.until((GITOPS, DEPLOYMENT, namespace, "web"), "gone", gone).await;
    }
    for name in ["now", "again"] {
        stage.delete(GITOPS, SYNC_RUN, "slow", name).await;
    }
    for (namespace, name) in [("closed", "login"), ("keyed", "key")] {
        stage.delete(GITOPS, CREDENTIAL, namespace, name).await;
    }
    stage.emptied().await;
}
