//! Moves of placements between Argo CD instances, without an effect on the deployed objects.

use serde_json::Value;

use super::fixture::{GitopsFixture, INSTANCES};
use super::flows::{ARGO, DEPLOYMENT, GITOPS, commit, has_colour, has_status};
use super::roles::{KillTarget, RoleProcesses};

/// A placement with one deployment.
pub struct MovedPlacement {
    /// Namespace of the tenant.
    pub tenant: &'static str,
    /// Environment, or `None` for the tenant's own namespace.
    pub environment: Option<&'static str>,
    /// Name of the deployment.
    pub deployment: &'static str,
    /// Namespace of the deployed objects.
    pub children: &'static str,
    /// Repository of the deployment.
    pub repository: &'static str,
}

/// Moves a tenant with a public repository, and a tenant whose repository credential must move too.
pub async fn move_placements(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    let own = |tenant, repository| MovedPlacement {
        tenant,
        environment: None,
        deployment: "web",
        children: tenant,
        repository,
    };
    move_placement(stage, roles, &own("shop", "shop"), "violet").await;
    move_placement(stage, roles, &own("closed", "private-web"), "amber").await;
}

/// Moves a placement and deploys through the new instance, which requires its project and Secrets.
pub async fn move_placement(
    stage: &GitopsFixture,
    roles: &mut RoleProcesses,
    unit: &MovedPlacement,
    new: &'static str,
) {
    let children = async || {
        let mut found = Vec::new();
        for (version, kind, name) in [("v1", "ConfigMap", "settings"), ("apps/v1", "Deployment", "web")] {
            let object = stage.get(version, kind, unit.children, name).await.unwrap();
            found.push((object["metadata"]["uid"].clone(), object["metadata"]["resourceVersion"].clone()));
        }
        found
    };
    let told = (GITOPS, DEPLOYMENT, unit.tenant, unit.deployment);
    let live = stage.until(told, "synced", has_status("Synced", "Healthy")).await.unwrap();
    let name = format!("gitopsdepl-{}", live["metadata"]["uid"].as_str().unwrap());
    let source = stage.instance_namespace(&name).await;
    let target = INSTANCES.into_iter().find(|one| *one != source).unwrap();
    let before = children().await;
    let mut command = vec!["fleet", "move", unit.tenant, "--to", target];
    command.extend(unit.environment.iter().flat_map(|name| ["--environment", name]));
    // One agent carries out the move; after it is killed, another one continues.
    let mut unattended = command.clone();
    unattended.push("--no-wait");
    stage.switchboard(&unattended, true);
    stage.until((ARGO, "Application", target, &name), "copied", |object| object.is_some()).await;
    roles.kill_and_restart(stage, KillTarget::Agent);
    // A second request for the same move waits for its end.
    stage.switchboard(&command, true);
    assert_eq!(stage.instance_namespace(&name).await, target);
    let there = stage.until(told, "still synced", has_status("Synced", "Healthy")).await;
    assert!(there.is_some());
    let moved = stage.get(ARGO, "Application", target, &name).await.unwrap();
    assert_eq!(moved["metadata"].get("annotations"), None, "it is awake: {moved:#}");
    assert!(moved["status"].get("operationState").is_none(), "nothing was synced, for nothing differed: {moved:#}");
    assert_eq!(children().await, before, "uids and versions of children");
    let listed: Value = serde_json::from_str(&stage.switchboard(&["fleet", "list", "-o", "json"], true)).unwrap();
    assert!(listed.as_array().unwrap().iter().all(|one| one["moving"] == 0), "{}: {listed:#}", unit.tenant);
    commit(stage, unit.repository, new, "web").await;
    stage.until(("v1", "ConfigMap", unit.children, "settings"), new, has_colour(new)).await;
}
