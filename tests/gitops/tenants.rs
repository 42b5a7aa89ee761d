//! Deletion of a whole tenant.

use serde_json::json;
use switchboard_gitops::rows::ClusterUser;

use super::fixture::GitopsFixture;
use super::flows::{CREDENTIAL, GITOPS, commit, credential, deployment, has_colour, secret};
use super::roles::{KillTarget, RoleProcesses};

/// Deletes a tenant's namespace. Everything of the tenant is deleted, even if backend and agent are killed meanwhile.
pub async fn check_deleted_namespace(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    for whom in [KillTarget::Backend, KillTarget::Agent] {
        stage.namespace("brief").await;
        commit(stage, "private-brief", "beige", "web").await;
        let url = format!("{}/private-brief", stage.git.https);
        stage.git.set_password("bob", "brief");
        secret(stage, "brief", "login", "repository-credential", json!({ "username": "bob", "password": "brief" }))
            .await;
        credential(stage, "brief", "login", &url).await;
        stage
            .until((GITOPS, CREDENTIAL, "brief", "login"), "told", |object| {
                object.is_some_and(|object| object["status"]["conditions"][2]["status"] == "True")
            })
            .await;
        stage.create(deployment("brief", "web", &url, "automated", json!({}))).await;
        stage.until(("v1", "ConfigMap", "brief", "settings"), "beige", has_colour("beige")).await;
        stage.delete("v1", "Namespace", "", "brief").await;
        roles.kill_and_restart(stage, whom);
        stage.until(("v1", "Namespace", "", "brief"), "gone", |object| object.is_none()).await;
        stage.until_no_row::<ClusterUser>(|user| user.display_name.as_deref() == Some("brief")).await;
    }
}

/// After the deletion of all tenants, no row and no object of any kind is left.
pub async fn check_nothing_left(stage: &GitopsFixture) {
    let tenants = stage.tenants.lock().unwrap().clone();
    for namespace in tenants {
        // Some namespaces are already deleted.
        let _ = stage.api("v1", "Namespace", "").delete(&namespace, &Default::default()).await;
    }
    stage.until_initial().await;
}
