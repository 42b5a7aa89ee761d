//! A tenant tries to use what is another's, by every word it can write into a resource of its own.

use serde_json::{Value, json};
use switchboard_ledger::Change;
use switchboard_ledger::ids::OperationState;
use switchboard_ledger::rows::*;

use crate::base::{Base, on_both};
use crate::stage::{
    ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, ENVIRONMENT_SECRET, ENVIRONMENTS, GROUP, SYNC_RUNS, Stage, TARGET,
    decoded, kubeconfig, plain, send, uid,
};

on_both! {
    an_environment_of_another_has_no_name
    a_run_syncs_nothing_of_anothers
    a_secret_of_another_has_no_name
    a_credential_serves_its_tenant_alone
    what_is_anothers_looks_as_what_is_not_there
    nobody_rings_for_anothers_row
    a_pattern_is_no_repository
}

fn to(environment: &str) -> Value {
    let mut spec = plain();
    spec["destination"] = json!({"environment": environment, "namespace": "web"});
    spec
}

fn manual() -> Value {
    let mut spec = plain();
    spec["type"] = "manual".into();
    spec
}

/// Makes a resource of `bank`; none if the cluster does not even take it.
async fn attempt(stage: &Stage, plural: &str, kind: &str, name: &str, spec: Value) -> Option<Value> {
    let body = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": "bank"}, "spec": spec});
    send(&stage.tenants, "POST", &format!("{GROUP}/namespaces/bank/{plural}"), body).await.ok()
}

async fn first_condition(stage: &Stage, plural: &str, name: &str) -> Option<Value> {
    let found = stage.resource("bank", plural, name).await?;
    found["status"]["conditions"].as_array()?.first().cloned()
}

async fn synced(stage: &Stage, namespace: &str, name: &str) {
    stage
        .until("a status", async || {
            stage.deployment(namespace, name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
}

/// Every way there is to write the name of something that is in another namespace.
fn names(name: &str, uid: &str, row: &str) -> Vec<String> {
    let forms =
        ["NAME", "shop/NAME", "../shop/NAME", "..%2fshop%2fNAME", "shop.NAME", "/namespaces/shop/NAME", "shop:NAME"];
    let mut all: Vec<String> = forms.iter().map(|form| form.replace("NAME", name)).collect();
    all.extend([uid.to_string(), row.to_string(), format!("managed-env-{row}"), format!("gitopsdepl-{uid}")]);
    all
}

async fn an_environment_of_another_has_no_name(base: Base) {
    let stage = Stage::new(base).await;
    let environment = uid(&stage.environment("shop", "stage", "token-of-shop").await);
    stage.deploy("shop", "web", to("stage")).await;
    synced(&stage, "shop", "web").await;
    let row = stage.all::<ApiToDatabase>().await.remove(0).relation_key;
    for (number, name) in names("stage", &environment, &row).iter().enumerate() {
        let own = format!("try-{number}");
        if attempt(&stage, "gitopsdeployments", "GitOpsDeployment", &own, to(name)).await.is_none() {
            continue;
        }
        let error = stage.until("an error", async || first_condition(&stage, "gitopsdeployments", &own).await).await;
        assert_eq!((&error["type"], &error["status"]), (&json!("ErrorOccurred"), &json!("True")), "{name}");
    }
    stage.settled().await;
    assert_eq!(stage.all::<Application>().await.len(), 1, "that of shop alone");
    let users: Vec<ClusterUser> = stage.all().await;
    let shop = users.iter().find(|user| user.display_name.as_deref() == Some("shop")).unwrap();
    let granted: Vec<AppProjectManagedEnvironment> = stage.all().await;
    assert!(granted.iter().all(|one| one.user == shop.id), "{granted:?}");
    // Who writes the same environment down with a Secret of its own gets its own credential there, not the other's.
    stage.environment("bank", "stage", "token-of-bank").await;
    stage.deploy("bank", "own", to("stage")).await;
    synced(&stage, "bank", "own").await;
    let secrets = stage.secrets_of_argo().await;
    let tokens = |token: &str| secrets.iter().filter(|one| decoded(one, "config").contains(token)).collect::<Vec<_>>();
    for (token, user) in [("token-of-shop", "shop"), ("token-of-bank", "bank")] {
        let user = stage.all::<ClusterUser>().await.into_iter().find(|one| one.display_name.as_deref() == Some(user));
        let found = tokens(token);
        assert_eq!(found.len(), 1);
        assert_eq!(decoded(found[0], "project"), format!("app-project-{}", user.unwrap().id));
    }
}

async fn a_run_syncs_nothing_of_anothers(base: Base) {
    let stage = Stage::new(base).await;
    let web = uid(&stage.deploy("shop", "web", manual()).await);
    synced(&stage, "shop", "web").await;
    let row: Application = stage.all().await.remove(0);
    for (number, name) in names("web", &web, row.id.as_str()).iter().enumerate() {
        let spec = json!({"gitopsDeploymentName": name, "revisionID": "4403172"});
        attempt(&stage, SYNC_RUNS, "GitOpsDeploymentSyncRun", &format!("try-{number}"), spec).await;
    }
    // One of its own that came later is done: the others had their turn.
    let own = uid(&stage.deploy("bank", "own", manual()).await);
    synced(&stage, "bank", "own").await;
    let spec = json!({"gitopsDeploymentName": "own", "revisionID": "4403172"});
    attempt(&stage, SYNC_RUNS, "GitOpsDeploymentSyncRun", "own", spec).await.unwrap();
    let over = stage.until("an end", async || first_condition(&stage, SYNC_RUNS, "own").await).await;
    assert_eq!(over["status"], "False");
    assert!(stage.application(&own).await.unwrap()["status"]["operationState"].is_object());
    let runs: Vec<SyncOperation> = stage.all().await;
    assert!(runs.iter().all(|run| run.application.as_ref() != Some(&row.id)), "{runs:?}");
    let theirs = stage.application(&web).await.unwrap();
    assert!(theirs.get("operation").is_none() && theirs["status"].get("operationState").is_none(), "{theirs:#}");
}

async fn a_secret_of_another_has_no_name(base: Base) {
    let stage = Stage::new(base).await;
    stage.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "of-shop"})).await;
    stage.secret("shop", "cluster", ENVIRONMENT_SECRET, json!({"kubeconfig": kubeconfig("token-of-shop")})).await;
    for (number, name) in names("login", "uid", "row").iter().enumerate() {
        let own = format!("try-{number}");
        let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": name});
        if attempt(&stage, CREDENTIALS, "GitOpsDeploymentRepositoryCredential", &own, spec).await.is_some() {
            let said = stage.until("a condition", async || first_condition(&stage, CREDENTIALS, &own).await).await;
            assert_eq!(said["status"], "True", "{name}: {said}");
        }
    }
    for (number, name) in names("cluster", "uid", "row").iter().enumerate() {
        let own = format!("try-{number}");
        let spec = json!({"apiURL": TARGET, "credentialsSecret": name, "allowInsecureSkipTLSVerify": false});
        if attempt(&stage, ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", &own, spec).await.is_some() {
            let said = stage.until("a condition", async || first_condition(&stage, ENVIRONMENTS, &own).await).await;
            assert_eq!(said["status"], "False", "{name}: {said}");
        }
    }
    assert!(stage.network.credentials.lock().unwrap().is_empty(), "no credential of another is tried");
    assert!(stage.network.environments.lock().unwrap().is_empty(), "no kubeconfig of another is tried");
    assert!(stage.all::<RepositoryCredentials>().await.is_empty());
}

/// The same repository, and a beginning of its address: neither gives a tenant what the other signed in with, nor the other
/// what it signed in with itself.
async fn a_credential_serves_its_tenant_alone(base: Base) {
    let stage = Stage::new(base).await;
    let login = |password: &str| json!({"username": "robot", "password": password});
    stage.secret("shop", "login", CREDENTIAL_SECRET, login("of-shop")).await;
    stage.secret("bank", "login", CREDENTIAL_SECRET, login("of-bank")).await;
    let url = "https://git.example/Shop/web.git";
    let wanted = [("shop", "git", url), ("bank", "same", url), ("bank", "beginning", "https://git.example/Shop")];
    for (namespace, name, url) in wanted {
        let spec = json!({"repository": url, "secret": "login"});
        stage.make(namespace, CREDENTIALS, "GitOpsDeploymentRepositoryCredential", name, spec).await;
    }
    stage.until("three Secrets", async || (stage.secrets_of_argo().await.len() == 3).then_some(())).await;
    stage.settled().await;
    let users: Vec<ClusterUser> = stage.all().await;
    for secret in stage.secrets_of_argo().await {
        // A template by the beginning of an address would serve repositories that are not named.
        assert_eq!(secret["metadata"]["labels"]["argocd.argoproj.io/secret-type"], "repository", "{secret:#}");
        let owner = decoded(&secret, "password").strip_prefix("of-").map(str::to_string);
        let user = users.iter().find(|user| user.display_name == owner).unwrap();
        assert_eq!(decoded(&secret, "project"), format!("app-project-{}", user.id));
    }
}

/// Whoever guesses names learns nothing from what is told.
async fn what_is_anothers_looks_as_what_is_not_there(base: Base) {
    let stage = Stage::new(base).await;
    stage.environment("shop", "stage", "token-of-shop").await;
    stage.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "of-shop"})).await;
    stage.deploy("shop", "web", to("stage")).await;
    synced(&stage, "shop", "web").await;
    let mut told: Vec<Vec<Value>> = Vec::new();
    for (environment, secret) in [("stage", "login"), ("nowhere", "none")] {
        let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": secret});
        attempt(&stage, CREDENTIALS, "GitOpsDeploymentRepositoryCredential", secret, spec).await.unwrap();
        attempt(&stage, "gitopsdeployments", "GitOpsDeployment", environment, to(environment)).await.unwrap();
        let spec = json!({"apiURL": TARGET, "credentialsSecret": "stage-secret", "allowInsecureSkipTLSVerify": false});
        attempt(&stage, ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", secret, spec).await.unwrap();
        let mut said = Vec::new();
        for (plural, name) in [(CREDENTIALS, secret), ("gitopsdeployments", environment), (ENVIRONMENTS, secret)] {
            let mut one = stage.until("a condition", async || first_condition(&stage, plural, name).await).await;
            for at in ["lastTransitionTime", "lastProbeTime"] {
                one.as_object_mut().unwrap().remove(at);
            }
            said.push(one);
        }
        told.push(said);
    }
    assert_eq!(told[0], told[1], "there, and not there");
    let words = serde_json::to_string(&told).unwrap();
    assert!(!words.contains("of-shop") && !words.contains("shop\""), "{words}");
}

/// An Operation outside of its Argo CD's namespace is nobody's, whatever row it names.
async fn nobody_rings_for_anothers_row(base: Base) {
    let stage = Stage::new(base).await;
    let web = uid(&stage.deploy("shop", "web", plain()).await);
    synced(&stage, "shop", "web").await;
    stage.settled().await;
    let done: Operation = stage.all().await.remove(0);
    let before = stage.application(&web).await.unwrap();
    // A row that is done, one that waits for somebody to ring for it, and one that nobody knows.
    let waits = Operation { id: "test-operation".into(), state: OperationState::Waiting, ..done.clone() };
    stage.ledger.commit(&[Change::insert(&waits)]).await.unwrap();
    let path = format!("{GROUP}/namespaces/bank/operations");
    for (name, row) in [("done", done.id.as_str()), ("waits", waits.id.as_str()), ("unknown", "of-another-database")] {
        let ring = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "Operation",
            "metadata": {"name": name}, "spec": {"operationID": row}});
        send(&stage.tenants, "POST", &path, ring).await.unwrap();
    }
    // One of its own that came later is done: these had their turn.
    stage.deploy("bank", "own", plain()).await;
    synced(&stage, "bank", "own").await;
    let after: Vec<Operation> = stage.all().await;
    assert!(after.contains(&done) && after.contains(&waits), "{after:?}");
    assert_eq!(stage.application(&web).await.unwrap(), before);
    let rings = send(&stage.tenants, "GET", &path, Value::Null).await.unwrap();
    assert_eq!(
        rings["items"].as_array().unwrap().len(),
        3,
        "nor is anybody sent away: another database's agent may be meant"
    );
}

/// With a pattern in it, a tenant's project would permit every repository that Argo CD has a credential for.
async fn a_pattern_is_no_repository(base: Base) {
    let stage = Stage::new(base).await;
    let mut spec = plain();
    spec["source"]["repoURL"] = "*".into();
    stage.deploy("shop", "all", spec).await;
    let said = stage
        .until("a refusal", async || {
            let all = stage.deployment("shop", "all").await?;
            all["status"]["conditions"].as_array()?.first().cloned()
        })
        .await;
    assert!(said["message"].as_str().unwrap().contains("a character of patterns: '*'"), "{said}");
    stage.deploy("shop", "web", plain()).await;
    let projects = async || stage.listed(&format!("{ARGO}/namespaces/{ARGOCD}/appprojects")).await.pop();
    let project = stage.until("a project", projects).await;
    stage.settled().await;
    assert_eq!(project["spec"]["sourceRepos"].as_array().unwrap().len(), 1, "{project}");
}
