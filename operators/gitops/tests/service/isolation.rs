//! Attempts of one tenant to use another tenant's objects through every field of its own resources.

use serde_json::{Value, json};
use switchboard_gitops::ids::OperationState;
use switchboard_gitops::rows::*;
use switchboard_sql::RowChange;

use crate::database::{TestDatabase, on_both};
use crate::fixture::{
    ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, ENVIRONMENT_SECRET, ENVIRONMENTS, GROUP, SYNC_RUNS, ServiceFixture,
    TARGET, decoded, kubeconfig, plain, send, uid,
};

on_both! {
    an_environment_of_another_tenant_cannot_be_named
    a_sync_run_syncs_no_deployment_of_another_tenant
    a_secret_of_another_tenant_cannot_be_named
    a_credential_serves_only_its_tenant
    resources_of_another_tenant_look_missing
    an_operation_in_another_namespace_is_ignored
    a_repository_url_with_a_pattern_is_rejected
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

/// Creates a resource of `bank`; `None` if the cluster rejects it.
async fn attempt(fixture: &ServiceFixture, plural: &str, kind: &str, name: &str, spec: Value) -> Option<Value> {
    let body = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": kind,
        "metadata": {"name": name, "namespace": "bank"}, "spec": spec});
    send(&fixture.tenants, "POST", &format!("{GROUP}/namespaces/bank/{plural}"), body).await.ok()
}

async fn first_condition(fixture: &ServiceFixture, plural: &str, name: &str) -> Option<Value> {
    let found = fixture.resource("bank", plural, name).await?;
    found["status"]["conditions"].as_array()?.first().cloned()
}

async fn synced(fixture: &ServiceFixture, namespace: &str, name: &str) {
    fixture
        .wait_for("a status", async || {
            fixture.deployment(namespace, name).await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
}

/// Every way to write the name of an object in another namespace.
fn names(name: &str, uid: &str, row: &str) -> Vec<String> {
    let forms =
        ["NAME", "shop/NAME", "../shop/NAME", "..%2fshop%2fNAME", "shop.NAME", "/namespaces/shop/NAME", "shop:NAME"];
    let mut all: Vec<String> = forms.iter().map(|form| form.replace("NAME", name)).collect();
    all.extend([uid.to_string(), row.to_string(), format!("managed-env-{row}"), format!("gitopsdepl-{uid}")]);
    all
}

async fn an_environment_of_another_tenant_cannot_be_named(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let environment = uid(&fixture.environment("shop", "stage", "token-of-shop").await);
    fixture.deploy("shop", "web", to("stage")).await;
    synced(&fixture, "shop", "web").await;
    let row = fixture.all::<ApiToDatabase>().await.remove(0).relation_key;
    for (number, name) in names("stage", &environment, &row).iter().enumerate() {
        let own = format!("try-{number}");
        if attempt(&fixture, "gitopsdeployments", "GitOpsDeployment", &own, to(name)).await.is_none() {
            continue;
        }
        let error =
            fixture.wait_for("an error", async || first_condition(&fixture, "gitopsdeployments", &own).await).await;
        assert_eq!((&error["type"], &error["status"]), (&json!("ErrorOccurred"), &json!("True")), "{name}");
    }
    fixture.wait_until_settled().await;
    assert_eq!(fixture.all::<Application>().await.len(), 1, "that of shop alone");
    let users: Vec<ClusterUser> = fixture.all().await;
    let shop = users.iter().find(|user| user.display_name.as_deref() == Some("shop")).unwrap();
    let granted: Vec<AppProjectManagedEnvironment> = fixture.all().await;
    assert!(granted.iter().all(|one| one.user == shop.id), "{granted:?}");
    // An environment with the same URL and its own Secret uses its own credential, not the other tenant's.
    fixture.environment("bank", "stage", "token-of-bank").await;
    fixture.deploy("bank", "own", to("stage")).await;
    synced(&fixture, "bank", "own").await;
    let secrets = fixture.argocd_secrets().await;
    let tokens = |token: &str| secrets.iter().filter(|one| decoded(one, "config").contains(token)).collect::<Vec<_>>();
    for (token, user) in [("token-of-shop", "shop"), ("token-of-bank", "bank")] {
        let user = fixture.all::<ClusterUser>().await.into_iter().find(|one| one.display_name.as_deref() == Some(user));
        let found = tokens(token);
        assert_eq!(found.len(), 1);
        assert_eq!(decoded(found[0], "project"), format!("app-project-{}", user.unwrap().id));
    }
}

async fn a_sync_run_syncs_no_deployment_of_another_tenant(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let web = uid(&fixture.deploy("shop", "web", manual()).await);
    synced(&fixture, "shop", "web").await;
    let row: Application = fixture.all().await.remove(0);
    for (number, name) in names("web", &web, row.id.as_str()).iter().enumerate() {
        let spec = json!({"gitopsDeploymentName": name, "revisionID": "4403172"});
        attempt(&fixture, SYNC_RUNS, "GitOpsDeploymentSyncRun", &format!("try-{number}"), spec).await;
    }
    // A valid run that was created later is completed, so the attempts have been processed.
    let own = uid(&fixture.deploy("bank", "own", manual()).await);
    synced(&fixture, "bank", "own").await;
    let spec = json!({"gitopsDeploymentName": "own", "revisionID": "4403172"});
    attempt(&fixture, SYNC_RUNS, "GitOpsDeploymentSyncRun", "own", spec).await.unwrap();
    let over = fixture.wait_for("an end", async || first_condition(&fixture, SYNC_RUNS, "own").await).await;
    assert_eq!(over["status"], "False");
    assert!(fixture.application(&own).await.unwrap()["status"]["operationState"].is_object());
    let runs: Vec<SyncOperation> = fixture.all().await;
    assert!(runs.iter().all(|run| run.application.as_ref() != Some(&row.id)), "{runs:?}");
    let theirs = fixture.application(&web).await.unwrap();
    assert!(theirs.get("operation").is_none() && theirs["status"].get("operationState").is_none(), "{theirs:#}");
}

async fn a_secret_of_another_tenant_cannot_be_named(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "of-shop"})).await;
    fixture.secret("shop", "cluster", ENVIRONMENT_SECRET, json!({"kubeconfig": kubeconfig("token-of-shop")})).await;
    for (number, name) in names("login", "uid", "row").iter().enumerate() {
        let own = format!("try-{number}");
        let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": name});
        if attempt(&fixture, CREDENTIALS, "GitOpsDeploymentRepositoryCredential", &own, spec).await.is_some() {
            let said =
                fixture.wait_for("a condition", async || first_condition(&fixture, CREDENTIALS, &own).await).await;
            assert_eq!(said["status"], "True", "{name}: {said}");
        }
    }
    for (number, name) in names("cluster", "uid", "row").iter().enumerate() {
        let own = format!("try-{number}");
        let spec = json!({"apiURL": TARGET, "credentialsSecret": name, "allowInsecureSkipTLSVerify": false});
        if attempt(&fixture, ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", &own, spec).await.is_some() {
            let said =
                fixture.wait_for("a condition", async || first_condition(&fixture, ENVIRONMENTS, &own).await).await;
            assert_eq!(said["status"], "False", "{name}: {said}");
        }
    }
    assert!(fixture.network.credentials.lock().unwrap().is_empty(), "no other tenant's credential is used");
    assert!(fixture.network.environments.lock().unwrap().is_empty(), "no other tenant's kubeconfig is used");
    assert!(fixture.all::<RepositoryCredentials>().await.is_empty());
}

/// Two credentials for the same repository or a URL prefix: each tenant uses only its own.
async fn a_credential_serves_only_its_tenant(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let login = |password: &str| json!({"username": "robot", "password": password});
    fixture.secret("shop", "login", CREDENTIAL_SECRET, login("of-shop")).await;
    fixture.secret("bank", "login", CREDENTIAL_SECRET, login("of-bank")).await;
    let url = "https://git.example/Shop/web.git";
    let wanted = [("shop", "git", url), ("bank", "same", url), ("bank", "beginning", "https://git.example/Shop")];
    for (namespace, name, url) in wanted {
        let spec = json!({"repository": url, "secret": "login"});
        fixture.create_resource(namespace, CREDENTIALS, "GitOpsDeploymentRepositoryCredential", name, spec).await;
    }
    fixture.wait_for("three Secrets", async || (fixture.argocd_secrets().await.len() == 3).then_some(())).await;
    fixture.wait_until_settled().await;
    let users: Vec<ClusterUser> = fixture.all().await;
    for secret in fixture.argocd_secrets().await {
        // A credential template for a URL prefix would apply to repositories that the tenant does not name.
        assert_eq!(secret["metadata"]["labels"]["argocd.argoproj.io/secret-type"], "repository", "{secret:#}");
        let owner = decoded(&secret, "password").strip_prefix("of-").map(str::to_string);
        let user = users.iter().find(|user| user.display_name == owner).unwrap();
        assert_eq!(decoded(&secret, "project"), format!("app-project-{}", user.id));
    }
}

/// The status messages do not reveal whether a guessed name exists.
async fn resources_of_another_tenant_look_missing(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.environment("shop", "stage", "token-of-shop").await;
    fixture.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "of-shop"})).await;
    fixture.deploy("shop", "web", to("stage")).await;
    synced(&fixture, "shop", "web").await;
    let mut reported: Vec<Vec<Value>> = Vec::new();
    for (environment, secret) in [("stage", "login"), ("nowhere", "none")] {
        let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": secret});
        attempt(&fixture, CREDENTIALS, "GitOpsDeploymentRepositoryCredential", secret, spec).await.unwrap();
        attempt(&fixture, "gitopsdeployments", "GitOpsDeployment", environment, to(environment)).await.unwrap();
        let spec = json!({"apiURL": TARGET, "credentialsSecret": "stage-secret", "allowInsecureSkipTLSVerify": false});
        attempt(&fixture, ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", secret, spec).await.unwrap();
        let mut said = Vec::new();
        for (plural, name) in [(CREDENTIALS, secret), ("gitopsdeployments", environment), (ENVIRONMENTS, secret)] {
            let mut one = fixture.wait_for("a condition", async || first_condition(&fixture, plural, name).await).await;
            for at in ["lastTransitionTime", "lastProbeTime"] {
                one.as_object_mut().unwrap().remove(at);
            }
            said.push(one);
        }
        reported.push(said);
    }
    assert_eq!(reported[0], reported[1], "there, and not there");
    let words = serde_json::to_string(&reported).unwrap();
    assert!(!words.contains("of-shop") && !words.contains("shop\""), "{words}");
}

/// An Operation outside its Argo CD's namespace is ignored, regardless of the row it names.
async fn an_operation_in_another_namespace_is_ignored(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let web = uid(&fixture.deploy("shop", "web", plain()).await);
    synced(&fixture, "shop", "web").await;
    fixture.wait_until_settled().await;
    let done: Operation = fixture.all().await.remove(0);
    let before = fixture.application(&web).await.unwrap();
    // A completed row, a row that waits for its notification, and an unknown row.
    let waits = Operation { id: "test-operation".into(), state: OperationState::Waiting, ..done.clone() };
    fixture.ledger.commit(&[RowChange::insert(&waits)]).await.unwrap();
    let path = format!("{GROUP}/namespaces/bank/operations");
    for (name, row) in [("done", done.id.as_str()), ("waits", waits.id.as_str()), ("unknown", "of-another-database")] {
        let ring = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "Operation",
            "metadata": {"name": name}, "spec": {"operationID": row}});
        send(&fixture.tenants, "POST", &path, ring).await.unwrap();
    }
    // A deployment that was created later is synced, so the Operations have been processed.
    fixture.deploy("bank", "own", plain()).await;
    synced(&fixture, "bank", "own").await;
    let after: Vec<Operation> = fixture.all().await;
    assert!(after.contains(&done) && after.contains(&waits), "{after:?}");
    assert_eq!(fixture.application(&web).await.unwrap(), before);
    let notifications = send(&fixture.tenants, "GET", &path, Value::Null).await.unwrap();
    assert_eq!(
        notifications["items"].as_array().unwrap().len(),
        3,
        "it is not rejected either: it may be for another database's agent"
    );
}

/// With a pattern in the URL, the tenant's project would permit every repository that Argo CD has a credential for.
async fn a_repository_url_with_a_pattern_is_rejected(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let mut spec = plain();
    spec["source"]["repoURL"] = "*".into();
    fixture.deploy("shop", "all", spec).await;
    let said = fixture
        .wait_for("a refusal", async || {
            let all = fixture.deployment("shop", "all").await?;
            all["status"]["conditions"].as_array()?.first().cloned()
        })
        .await;
    assert!(said["message"].as_str().unwrap().contains("contains the pattern character '*'"), "{said}");
    fixture.deploy("shop", "web", plain()).await;
    let projects = async || fixture.list_objects(&format!("{ARGO}/namespaces/{ARGOCD}/appprojects")).await.pop();
    let project = fixture.wait_for("a project", projects).await;
    fixture.wait_until_settled().await;
    assert_eq!(project["spec"]["sourceRepos"].as_array().unwrap().len(), 1, "{project}");
}
