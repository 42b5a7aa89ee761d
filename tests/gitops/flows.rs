//! Flows of the service, from a tenant's resource to the deployed objects, and back.
//!
//! All flows share one fixture and run one after the other, because the setup takes longer than most of them.

use serde_json::{Value, json};

use super::environments::check_environments;
use super::faults::{check_cluster_outage, check_database_outage, check_deleted_deployments};
use super::fixture::GitopsFixture;
use super::isolation::check_isolation;
use super::kubelet::BROKEN;
use super::moves::move_placements;
use super::roles::{KillTarget, RoleProcesses};
use super::tenants::{check_deleted_namespace, check_nothing_left};
use switchboard_gitops::rows::{Application, RepositoryCredentials, SyncOperation};

pub const GITOPS: &str = "managed-gitops.redhat.com/v1alpha1";
pub const DEPLOYMENT: &str = "GitOpsDeployment";
pub const CREDENTIAL: &str = "GitOpsDeploymentRepositoryCredential";
pub const ENVIRONMENT: &str = "GitOpsDeploymentManagedEnvironment";
pub const SYNC_RUN: &str = "GitOpsDeploymentSyncRun";
pub const ARGO: &str = "argoproj.io/v1alpha1";

fn manifests(colour: &str, image: &str) -> [(&'static str, String); 2] {
    let settings =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata: {{colour: {colour}}}\n");
    let web = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 1\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec: {{containers: [{{name: web, image: {image}}}]}}\n"
    );
    [("deploy/settings.yaml", settings), ("deploy/web.yaml", web)]
}

pub async fn commit(stage: &GitopsFixture, repository: &str, colour: &str, image: &str) -> String {
    let files = manifests(colour, image);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let revision = stage.git.commit(repository, &files);
    stage.refresh_applications().await;
    revision
}

pub fn deployment(namespace: &str, name: &str, url: &str, kind: &str, destination: Value) -> Value {
    json!({
        "apiVersion": GITOPS, "kind": DEPLOYMENT, "metadata": { "name": name, "namespace": namespace },
        "spec": {
            "source": { "repoURL": url, "path": "deploy", "targetRevision": "main" },
            "destination": destination,
            "type": kind,
        },
    })
}

pub fn has_status(sync: &'static str, health: &'static str) -> impl Fn(Option<&Value>) -> bool {
    move |object| {
        object.is_some_and(|object| {
            object["status"]["sync"]["status"] == sync && object["status"]["health"]["status"] == health
        })
    }
}

pub fn has_colour(wanted: &'static str) -> impl Fn(Option<&Value>) -> bool {
    move |object| object.is_some_and(|object| object["data"]["colour"] == wanted)
}

pub fn has_condition(kind: &'static str, reason: &'static str) -> impl Fn(Option<&Value>) -> bool {
    move |object| {
        let all = object.and_then(|object| object["status"]["conditions"].as_array());
        all.is_some_and(|all| all.iter().any(|one| one["type"] == kind && one["reason"] == reason))
    }
}

pub fn is_deleted(object: Option<&Value>) -> bool {
    object.is_none()
}

#[tokio::test(flavor = "multi_thread")]
async fn flows_of_the_service() {
    let mut stage = GitopsFixture::start().await;
    let mut roles = RoleProcesses::start(&stage);
    check_automated_sync(&stage, &mut roles).await;
    check_manual_sync(&stage, &mut roles).await;
    check_terminated_sync(&stage, &mut roles).await;
    check_https_repository(&stage, &mut roles).await;
    check_ssh_repository(&stage, &mut roles).await;
    check_environments(&stage, &mut roles).await;
    check_isolation(&stage, &mut roles).await;
    check_finalizer(&stage, &mut roles).await;
    move_placements(&stage, &mut roles).await;
    check_database_outage(&mut stage).await;
    check_cluster_outage(&stage).await;
    check_deleted_namespace(&stage, &mut roles).await;
    check_deleted_deployments(&stage, &mut roles).await;
    check_nothing_left(&stage).await;
}

/// An automated deployment applies the content of git, reports its status, and reverts changes by other writers.
async fn check_automated_sync(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    stage.namespace("shop").await;
    commit(stage, "shop", "blue", "web").await;
    let url = format!("{}/shop", stage.git.https);
    let made = stage.create(deployment("shop", "web", &url, "automated", json!({}))).await;
    roles.kill_and_restart(stage, KillTarget::Backend);
    stage.until_rows::<Application>(1).await;
    roles.kill_and_restart(stage, KillTarget::Agent);
    let told = (GITOPS, DEPLOYMENT, "shop", "web");
    let status = stage.until(told, "synced and healthy", has_status("Synced", "Healthy")).await.unwrap();
    assert_eq!(status["status"]["resources"].as_array().map(Vec::len), Some(2), "{status:#}");
    stage.until(("v1", "ConfigMap", "shop", "settings"), "blue", has_colour("blue")).await;

    commit(stage, "shop", "blue", BROKEN).await;
    stage.until(told, "degraded", has_status("Synced", "Degraded")).await;
    commit(stage, "shop", "green", "web").await;
    stage.until(("v1", "ConfigMap", "shop", "settings"), "green", has_colour("green")).await;
    stage.until(told, "healthy again", has_status("Synced", "Healthy")).await;

    let name = format!("gitopsdepl-{}", made["metadata"]["uid"].as_str().unwrap());
    let edit = json!({ "spec": { "source": { "path": "elsewhere" } } });
    let instance = stage.instance_namespace(&name).await;
    stage.patch(ARGO, "Application", &instance, &name, edit).await;
    roles.kill_and_restart(stage, KillTarget::Agent);
    let undone = |object: Option<&Value>| object.is_some_and(|object| object["spec"]["source"]["path"] == "deploy");
    stage.until((ARGO, "Application", &instance, &name), "as it was", undone).await;
    // Changes to the deployment itself are applied.
    let other = [(
        "other/settings.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: teal}\n",
    )];
    let files = manifests("green", "web");
    let all: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).chain(other).collect();
    stage.git.commit("shop", &all);
    stage.refresh_applications().await;
    stage.patch(GITOPS, DEPLOYMENT, "shop", "web", json!({ "spec": { "source": { "path": "other" } } })).await;
    roles.kill_and_restart(stage, KillTarget::Both);
    stage.until(("v1", "ConfigMap", "shop", "settings"), "teal", has_colour("teal")).await;
    stage.patch(GITOPS, DEPLOYMENT, "shop", "web", json!({ "spec": { "source": { "path": "deploy" } } })).await;
    stage.until(("v1", "ConfigMap", "shop", "settings"), "green again", has_colour("green")).await;
}

fn sync_run(namespace: &str, name: &str, revision: Option<&str>) -> Value {
    let mut run = json!({
        "apiVersion": GITOPS, "kind": SYNC_RUN, "metadata": { "name": name, "namespace": namespace },
        "spec": { "gitopsDeploymentName": "web" },
    });
    if let Some(revision) = revision {
        run["spec"]["revisionID"] = json!(revision);
    }
    run
}

/// A manual deployment waits for a sync run, of a given revision or of its own.
async fn check_manual_sync(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    stage.namespace("slow").await;
    let revision = commit(stage, "slow", "red", "web").await;
    let url = format!("{}/slow", stage.git.https);
    stage.create(deployment("slow", "web", &url, "manual", json!({}))).await;
    stage.until((GITOPS, DEPLOYMENT, "slow", "web"), "out of sync", has_status("OutOfSync", "Missing")).await;
    assert!(stage.get("v1", "ConfigMap", "slow", "settings").await.is_none());
    stage.create(sync_run("slow", "now", Some(&revision))).await;
    stage.until_rows::<SyncOperation>(1).await;
    roles.kill_and_restart(stage, KillTarget::Agent);
    stage.until(("v1", "ConfigMap", "slow", "settings"), "red", has_colour("red")).await;
    stage.until((GITOPS, DEPLOYMENT, "slow", "web"), "synced", has_status("Synced", "Healthy")).await;
    let over =
        |object: Option<&Value>| object.is_some_and(|object| object["status"]["conditions"][0]["status"] == "False");
    stage.until((GITOPS, SYNC_RUN, "slow", "now"), "over", over).await;
    commit(stage, "slow", "orange", "web").await;
    stage.create(sync_run("slow", "again", None)).await;
    roles.kill_and_restart(stage, KillTarget::Backend);
    stage.until(("v1", "ConfigMap", "slow", "settings"), "orange", has_colour("orange")).await;
}

/// Deleting a sync run terminates an endless sync.
async fn check_terminated_sync(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    stage.namespace("stuck").await;
    let hook = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: before\n  annotations: {argocd.argoproj.io/hook: PreSync}\nspec:\n  template:\n    spec: {restartPolicy: Never, containers: [{name: c, image: c}]}\n";
    stage.git.commit("stuck", &[("deploy/before.yaml", hook)]);
    let url = format!("{}/stuck", stage.git.https);
    let made = stage.create(deployment("stuck", "web", &url, "manual", json!({}))).await;
    let name = format!("gitopsdepl-{}", made["metadata"]["uid"].as_str().unwrap());
    let phase = |wanted: &'static str| {
        move |object: Option<&Value>| object.is_some_and(|object| object["status"]["operationState"]["phase"] == wanted)
    };
    stage.create(sync_run("stuck", "now", None)).await;
    let told = (GITOPS, DEPLOYMENT, "stuck", "web");
    stage.until(told, "syncing", phase("Running")).await;
    stage.delete(GITOPS, SYNC_RUN, "stuck", "now").await;
    roles.kill_and_restart(stage, KillTarget::Backend);
    roles.kill_and_restart(stage, KillTarget::Agent);
    stage.until(told, "stopped", phase("Failed")).await;
    let instance = stage.instance_namespace(&name).await;
    let idle = |object: Option<&Value>| object.is_some_and(|object| object.get("operation").is_none());
    stage.until((ARGO, "Application", &instance, &name), "idle", idle).await;
    stage.delete(GITOPS, DEPLOYMENT, "stuck", "web").await;
    stage.until(told, "gone", is_deleted).await;
}

pub async fn secret(stage: &GitopsFixture, namespace: &str, name: &str, kind: &str, data: Value) {
    let kind = format!("managed-gitops.redhat.com/{kind}");
    stage
        .create(json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind, "stringData": data,
            "metadata": { "name": name, "namespace": namespace },
        }))
        .await;
}

pub async fn credential(stage: &GitopsFixture, namespace: &str, name: &str, url: &str) {
    stage
        .create(json!({
            "apiVersion": GITOPS, "kind": CREDENTIAL, "metadata": { "name": name, "namespace": namespace },
            "spec": { "repository": url, "secret": name },
        }))
        .await;
}

/// A private repository over HTTPS: refused without a credential, then accepted, and accepted again with a new
/// password.
async fn check_https_repository(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    stage.namespace("closed").await;
    commit(stage, "private-web", "black", "web").await;
    stage.git.set_password("bob", "first");
    let url = format!("{}/private-web", stage.git.https);
    secret(stage, "closed", "login", "repository-credential", json!({ "username": "bob", "password": "wrong" })).await;
    credential(stage, "closed", "login", &url).await;
    let told = (GITOPS, CREDENTIAL, "closed", "login");
    stage.until(told, "refused", has_condition("ValidRepositoryCredential", "InvalidCredentials")).await;
    stage.patch("v1", "Secret", "closed", "login", json!({ "stringData": { "password": "first" } })).await;
    roles.kill_and_restart(stage, KillTarget::Backend);
    stage.until_rows::<RepositoryCredentials>(1).await;
    roles.kill_and_restart(stage, KillTarget::Agent);
    stage.until(told, "let in", has_condition("ErrorOccurred", "RepositoryCredentialUpToDate")).await;
    stage.create(deployment("closed", "web", &url, "automated", json!({}))).await;
    stage.until(("v1", "ConfigMap", "closed", "settings"), "black", has_colour("black")).await;

    stage.git.set_password("bob", "second");
    stage.patch("v1", "Secret", "closed", "login", json!({ "stringData": { "password": "second" } })).await;
    roles.kill_and_restart(stage, KillTarget::Both);
    commit(stage, "private-web", "white", "web").await;
    stage.until(("v1", "ConfigMap", "closed", "settings"), "white", has_colour("white")).await;
}

/// A private repository over SSH.
async fn check_ssh_repository(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    stage.namespace("keyed").await;
    commit(stage, "private-keyed", "grey", "web").await;
    let key = stage.git.set_key();
    let url = format!("{}/private-keyed", stage.git.ssh);
    secret(stage, "keyed", "key", "repository-credential", json!({ "sshPrivateKey": key })).await;
    credential(stage, "keyed", "key", &url).await;
    stage.until_rows::<RepositoryCredentials>(2).await;
    roles.kill_and_restart(stage, KillTarget::Agent);
    let told = (GITOPS, CREDENTIAL, "keyed", "key");
    stage.until(told, "let in", has_condition("ErrorOccurred", "RepositoryCredentialUpToDate")).await;
    stage.create(deployment("keyed", "web", &url, "automated", json!({}))).await;
    stage.until(("v1", "ConfigMap", "keyed", "settings"), "grey", has_colour("grey")).await;
}

/// A deployment with a finalizer exists until its objects are deleted.
async fn check_finalizer(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    stage.namespace("held").await;
    let child = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, finalizers: [test.example/hold]}\ndata: {colour: plum}\n";
    stage.git.commit("held", &[("deploy/settings.yaml", child)]);
    let mut made = deployment("held", "web", &format!("{}/held", stage.git.https), "automated", json!({}));
    made["metadata"]["finalizers"] = json!(["resources-finalizer.managed-gitops.redhat.com"]);
    stage.create(made).await;
    stage.until(("v1", "ConfigMap", "held", "settings"), "plum", has_colour("plum")).await;
    stage.delete(GITOPS, DEPLOYMENT, "held", "web").await;
    let going =
        |object: Option<&Value>| object.is_some_and(|object| object["metadata"]["deletionTimestamp"].is_string());
    stage.until(("v1", "ConfigMap", "held", "settings"), "going", going).await;
    roles.kill_and_restart(stage, KillTarget::Backend);
    roles.kill_and_restart(stage, KillTarget::Agent);
    assert!(stage.get(GITOPS, DEPLOYMENT, "held", "web").await.is_some(), "it stays as long as its child does");
    let free = json!({ "metadata": { "finalizers": null } });
    stage.patch("v1", "ConfigMap", "held", "settings", free).await;
    stage.until((GITOPS, DEPLOYMENT, "held", "web"), "gone", is_deleted).await;
}
