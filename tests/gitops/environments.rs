//! Environments of a tenant: external clusters, specified by kubeconfigs.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::fixture::GitopsFixture;
use super::flows::{
    ARGO, DEPLOYMENT, ENVIRONMENT, GITOPS, commit, deployment, has_colour, has_condition, has_status, is_deleted,
    secret,
};
use super::moves::{MovedPlacement, move_placement};
use super::roles::{KillTarget, RoleProcesses};

const CONNECTION: &str = "ConnectionInitializationSucceeded";
const BINDINGS: &str = "rbac.authorization.k8s.io/v1";

/// Timeout until Argo CD has removed a deleted environment.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// Tests three environments: one by a kubeconfig with a service account that is created on the cluster and deleted with
/// the environment, one by a client certificate with a private CA, limited to one namespace, and one by a service
/// account with few rights.
pub async fn check_environments(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    stage.namespace("far").await;
    let kubeconfig = std::fs::read_to_string(stage.real.kubeconfig()).unwrap();
    secret(stage, "far", "cluster", "managed-environment", json!({ "kubeconfig": kubeconfig })).await;
    commit(stage, "far", "gold", "web").await;
    // Created by Argo CD.
    stage.tenants.lock().unwrap().push("target-prod".to_string());
    let made = environment(stage, "prod", "cluster", json!({ "createNewServiceAccount": true })).await;
    let account = format!("argocd-manager-{}", made["metadata"]["uid"].as_str().unwrap());
    stage.until(("v1", "ServiceAccount", "kube-system", &account), "made", |object| object.is_some()).await;
    roles.kill_and_restart(stage, KillTarget::Backend);
    stage.namespace("target-stage").await;
    environment(stage, "stage", "cluster", json!({ "namespaces": ["target-stage"], "clusterResources": true })).await;
    for name in ["prod", "stage"] {
        let ready = has_condition(CONNECTION, "Succeeded");
        stage.until((GITOPS, ENVIRONMENT, "far", name), "ready", ready).await;
        deploy(stage, name, "far", name, &format!("target-{name}")).await;
    }
    for name in ["prod", "stage"] {
        stage.until(("v1", "ConfigMap", &format!("target-{name}"), "settings"), "gold", has_colour("gold")).await;
        stage.until((GITOPS, DEPLOYMENT, "far", name), "synced", has_status("Synced", "Healthy")).await;
    }
    let told = stage.get(GITOPS, DEPLOYMENT, "far", "prod").await.unwrap();
    assert_eq!(told["status"]["reconciledState"]["destination"], json!({ "name": "prod", "namespace": "target-prod" }));
    let (_, _, login) = placement_of(stage, "stage").await;
    assert_eq!(
        (secret_value(&login, "namespaces").as_str(), secret_value(&login, "clusterResources").as_str()),
        ("target-stage", "true")
    );
    check_rotated_credentials(stage, roles).await;
    check_limited_tokens(stage, roles).await;
    check_permitted_namespaces(stage).await;
    check_deleted_environment(stage, roles).await;
    let prod = MovedPlacement {
        tenant: "far",
        environment: Some("prod"),
        deployment: "prod",
        children: "target-prod",
        repository: "far",
    };
    move_placement(stage, roles, &prod, "bronze").await;
    stage.delete(GITOPS, DEPLOYMENT, "far", "prod").await;
    stage.until(("v1", "ConfigMap", "target-prod", "settings"), "gone", is_deleted).await;
    stage.delete(GITOPS, ENVIRONMENT, "far", "prod").await;
    roles.kill_and_restart(stage, KillTarget::Both);
    stage.until(("v1", "ServiceAccount", "kube-system", &account), "gone", is_deleted).await;
    // Deleted last, because deletion of the deployed objects needs `deployer` as well.
    stage.delete(BINDINGS, "ClusterRoleBinding", "", "deployer").await;
}

async fn environment(stage: &GitopsFixture, name: &str, login: &str, more: Value) -> Value {
    let kubeconfig = std::fs::read_to_string(stage.real.kubeconfig()).unwrap();
    let server = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap();
    let mut spec = json!({ "apiURL": server, "credentialsSecret": login, "allowInsecureSkipTLSVerify": false });
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    let metadata = json!({ "name": name, "namespace": "far" });
    stage.create(json!({ "apiVersion": GITOPS, "kind": ENVIRONMENT, "metadata": metadata, "spec": spec })).await
}

/// Creates a deployment into a namespace of an environment, and the namespace if necessary.
async fn deploy(stage: &GitopsFixture, name: &str, repository: &str, environment: &str, namespace: &str) {
    let url = format!("{}/{repository}", stage.git.https);
    let destination = json!({ "environment": environment, "namespace": namespace });
    let mut made = deployment("far", name, &url, "automated", destination);
    made["spec"]["syncPolicy"] = json!({ "syncOptions": ["CreateNamespace=true"] });
    stage.create(made).await;
}

/// Returns the namespace of the deployment's Argo CD, its Application, and its cluster Secret.
async fn placement_of(stage: &GitopsFixture, name: &str) -> (String, Value, Value) {
    let live = stage.get(GITOPS, DEPLOYMENT, "far", name).await.unwrap();
    let application = format!("gitopsdepl-{}", live["metadata"]["uid"].as_str().unwrap());
    let home = stage.instance_namespace(&application).await;
    let application = stage.get(ARGO, "Application", &home, &application).await.unwrap();
    let cluster = application["spec"]["destination"]["name"].as_str().unwrap();
    let login = stage.get("v1", "Secret", &home, cluster).await.unwrap();
    (home, application, login)
}

fn secret_value(secret: &Value, key: &str) -> String {
    let coded = secret["data"][key].as_str().unwrap_or_default();
    String::from_utf8(STANDARD.decode(coded).unwrap()).unwrap()
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_string()
}

/// Returns the fixture's kubeconfig with a token instead of a client certificate.
fn with_token(stage: &GitopsFixture, token: &str) -> Value {
    let text = std::fs::read_to_string(stage.real.kubeconfig()).unwrap();
    let mut config: Value = serde_json::to_value(switchboard_object::yaml::read(&text).unwrap().value).unwrap();
    config["users"][0]["user"] = json!({ "token": token });
    json!({ "kubeconfig": config.to_string() })
}

/// Creates a service account of the tenant with a role in one namespace or in all.
async fn create_bound_account(stage: &GitopsFixture, name: &str, role: (&str, &str), namespace: Option<&str>) {
    let kind = if namespace.is_some() { "RoleBinding" } else { "ClusterRoleBinding" };
    stage
        .create(json!({
            "apiVersion": BINDINGS, "kind": kind, "metadata": { "name": name, "namespace": namespace },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": role.0, "name": role.1 },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": "far" }],
        }))
        .await;
}

async fn account(stage: &GitopsFixture, name: &str) {
    let metadata = json!({ "name": name, "namespace": "far" });
    stage.create(json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata })).await;
}

/// Replaces the client certificate of a kubeconfig by a token.
async fn check_rotated_credentials(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    account(stage, "deployer").await;
    create_bound_account(stage, "deployer", ("ClusterRole", "cluster-admin"), None).await;
    let token = stage.token("far", "deployer").await;
    stage.patch("v1", "Secret", "far", "cluster", json!({ "stringData": with_token(stage, &token) })).await;
    roles.kill_and_restart(stage, KillTarget::Backend);
    stage.until_argo_secret_contains(&token).await;
    roles.kill_and_restart(stage, KillTarget::Agent);
    commit(stage, "far", "silver", "web").await;
    for name in ["prod", "stage"] {
        stage.until(("v1", "ConfigMap", &format!("target-{name}"), "settings"), "silver", has_colour("silver")).await;
    }
}

/// Tests an unknown token, a token without rights, and a token that is limited to the deployment's namespace.
async fn check_limited_tokens(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    stage.namespace("target-narrow").await;
    secret(stage, "far", "narrow", "managed-environment", with_token(stage, "nobodys")).await;
    environment(stage, "narrow", "narrow", json!({ "namespaces": ["target-narrow"] })).await;
    commit(stage, "narrow", "bronze", "web").await;
    deploy(stage, "narrow", "narrow", "narrow", "target-narrow").await;
    let (login, told) = ((GITOPS, ENVIRONMENT, "far", "narrow"), (GITOPS, DEPLOYMENT, "far", "narrow"));
    let refused = |words: &'static str| {
        move |object: Option<&Value>| {
            let told = object.map(|object| object["status"]["conditions"].to_string()).unwrap_or_default();
            has_condition(CONNECTION, "UnableToValidateClusterCredentials")(object) && told.contains(words)
        }
    };
    stage.until(login, "refused", refused("Unauthorized")).await;
    stage.until(told, "told", has_condition("ErrorOccurred", "ErrorOccurred")).await;
    account(stage, "narrow").await;
    let renew = async || {
        let token = stage.token("far", "narrow").await;
        stage.patch("v1", "Secret", "far", "narrow", json!({ "stringData": with_token(stage, &token) })).await;
    };
    renew().await;
    roles.kill_and_restart(stage, KillTarget::Backend);
    stage.until(login, "without rights", refused("forbidden")).await;
    let all = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
    let metadata = json!({ "name": "narrow", "namespace": "target-narrow" });
    stage.create(json!({ "apiVersion": BINDINGS, "kind": "Role", "metadata": metadata, "rules": all })).await;
    create_bound_account(stage, "narrow", ("Role", "narrow"), Some("target-narrow")).await;
    renew().await;
    stage.until(login, "ready", has_condition(CONNECTION, "Succeeded")).await;
    stage.until(told, "synced", has_status("Synced", "Healthy")).await;
    stage.until(("v1", "ConfigMap", "target-narrow", "settings"), "bronze", has_colour("bronze")).await;
    let (_, _, login) = placement_of(stage, "narrow").await;
    assert_eq!(
        (secret_value(&login, "namespaces").as_str(), secret_value(&login, "clusterResources").as_str()),
        ("target-narrow", "")
    );
    let elsewhere = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: elsewhere, namespace: target-stage}\n";
    stage.git.commit("narrow", &[("deploy/elsewhere.yaml", elsewhere)]);
    stage.refresh_applications().await;
    let words = "\\\"target-stage\\\" for ConfigMap \\\"elsewhere\\\" is not managed";
    let refused = |object: Option<&Value>| object.is_some_and(|object| object["status"].to_string().contains(words));
    stage.until(told, "refused", refused).await;
    assert!(stage.get("v1", "ConfigMap", "target-stage", "elsewhere").await.is_none());
    stage.delete(GITOPS, DEPLOYMENT, "far", "narrow").await;
    stage.until(("v1", "ConfigMap", "target-narrow", "settings"), "gone", is_deleted).await;
    stage.until(told, "gone", is_deleted).await;
    stage.delete(GITOPS, ENVIRONMENT, "far", "narrow").await;
}

/// Argo CD creates only the namespaces of deployments. For a tenant that also deploys to Argo CD's own cluster it
/// creates none, because the project's permissions apply there too.
async fn check_permitted_namespaces(stage: &GitopsFixture) {
    let (home, application, _) = placement_of(stage, "prod").await;
    let project = application["spec"]["project"].as_str().unwrap().to_string();
    let permitted = async || {
        let object = stage.get(ARGO, "AppProject", &home, &project).await.unwrap();
        let listed = object["spec"]["clusterResourceWhitelist"].as_array().cloned().unwrap_or_default();
        listed.iter().map(|one| one["name"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert!(permitted().await.contains(&"target-prod".to_string()));
    let wide = "apiVersion: v1\nkind: Namespace\nmetadata: {name: unasked}\n";
    stage.git.commit("wide", &[("deploy/wide.yaml", wide)]);
    deploy(stage, "wide", "wide", "prod", "target-prod").await;
    let refused = |object: Option<&Value>| {
        object.is_some_and(|object| {
            object["status"].to_string().contains("resource :Namespace is not permitted in project")
        })
    };
    stage.until((GITOPS, DEPLOYMENT, "far", "wide"), "refused", refused).await;
    assert!(stage.get("v1", "Namespace", "", "unasked").await.is_none());
    stage.delete(GITOPS, DEPLOYMENT, "far", "wide").await;

    let own = format!("{}/far", stage.git.https);
    stage.create(deployment("far", "own", &own, "automated", json!({}))).await;
    stage.until(("v1", "ConfigMap", "far", "settings"), "silver", has_colour("silver")).await;
    deploy(stage, "late", "far", "prod", "target-late").await;
    let told = |object: Option<&Value>| {
        let words = "the namespace 'target-late' was not created";
        has_condition("SyncError", "SyncError")(object)
            && object.is_some_and(|object| object.to_string().contains(words))
    };
    stage.until((GITOPS, DEPLOYMENT, "far", "late"), "refused", told).await;
    assert!(stage.get("v1", "Namespace", "", "target-late").await.is_none());
    assert_eq!(permitted().await, [""; 0], "either the own cluster or new namespaces");
    for name in ["wide", "late", "own"] {
        let _ = stage.api(GITOPS, DEPLOYMENT, "far").delete(name, &Default::default()).await;
        stage.until((GITOPS, DEPLOYMENT, "far", name), "gone", is_deleted).await;
    }
    stage.until(("v1", "ConfigMap", "far", "settings"), "gone", is_deleted).await;
}

/// Deletes an environment before its deployments: Argo CD removes the cluster, and the deployed objects stay.
async fn check_deleted_environment(stage: &GitopsFixture, roles: &mut RoleProcesses) {
    let (home, application, login) = placement_of(stage, "stage").await;
    let (application, login) = (name_of(&application), name_of(&login));
    let begin = Instant::now();
    stage.delete(GITOPS, ENVIRONMENT, "far", "stage").await;
    roles.kill_and_restart(stage, KillTarget::Both);
    let nowhere = |object: Option<&Value>| {
        let destination = object.map(|object| &object["spec"]["destination"]);
        destination.is_some_and(|destination| destination["name"].as_str().unwrap_or_default().is_empty())
    };
    stage.until((ARGO, "Application", &home, &application), "without a target", nowhere).await;
    stage.until(("v1", "Secret", &home, &login), "gone", is_deleted).await;
    assert!(begin.elapsed() < REMOVAL_TIMEOUT, "{:?}", begin.elapsed());
    let told = (GITOPS, DEPLOYMENT, "far", "stage");
    stage.until(told, "told", has_condition("ErrorOccurred", "ErrorOccurred")).await;
    stage.delete(GITOPS, DEPLOYMENT, "far", "stage").await;
    stage.until(told, "gone", is_deleted).await;
    stage.until((ARGO, "Application", &home, &application), "gone", is_deleted).await;
    let left = stage.get("v1", "ConfigMap", "target-stage", "settings").await;
    assert!(has_colour("silver")(left.as_ref()), "its cluster is unreachable: {left:?}");
}
