//! Target clusters, repositories, and the tenants that can use them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_gitops::environment::{ClusterCheck, teardown};
use switchboard_gitops::rows::tenant_clusters::ServiceAccount;
use switchboard_gitops::rows::*;

use crate::database::{TestDatabase, on_both};
use crate::fixture::{
    ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, ENVIRONMENTS, GROUP, ServiceFixture, TARGET, decoded,
    kubeconfig, plain, send, uid,
};
use crate::network::WRONG;

on_both! {
    an_environment_is_used_rotated_and_deleted
    a_rejected_environment_is_reported_and_retried_with_backoff
    an_environment_outlives_deletions_that_use_it
    a_created_service_account_is_removed_with_its_environment
    no_service_account_is_left_on_a_target
    a_credential_is_used_rotated_and_deleted
    a_rejected_credential_is_reported_once
    no_tenant_uses_resources_of_another
    tenants_and_argo_cd_may_be_on_two_clusters
}

fn to(environment: &str) -> Value {
    let mut spec = plain();
    spec["destination"] = json!({"environment": environment, "namespace": "web"});
    spec
}

async fn condition(fixture: &ServiceFixture, plural: &str, name: &str, of: &str) -> Option<Value> {
    let found = fixture.resource("shop", plural, name).await?;
    found["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == of).cloned()
}

async fn an_environment_is_used_rotated_and_deleted(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.environment("shop", "stage", "token-one").await;
    let web = uid(&fixture.deploy("shop", "web", to("stage")).await);
    let application = fixture.wait_for("an Application", async || fixture.application(&web).await).await;
    let row = fixture.all::<ApiToDatabase>().await.remove(0);
    let name = format!("managed-env-{}", row.relation_key);
    assert_eq!(application["spec"]["destination"], json!({"name": name, "namespace": "web"}));
    let user: ClusterUser = fixture.all().await.remove(0);
    let secret = fixture.argocd_secrets().await.remove(0);
    assert_eq!(decoded(&secret, "server"), format!("{TARGET}?managedEnvironment={}", row.relation_key));
    assert_eq!(decoded(&secret, "project"), format!("app-project-{}", user.id));
    assert!(decoded(&secret, "config").contains("token-one"));
    let reported = fixture
        .wait_for("the environment's name", async || {
            let found = fixture.deployment("shop", "web").await?;
            Some(found).filter(|web| web["status"]["reconciledState"]["destination"]["name"] == "stage")
        })
        .await;
    assert_eq!(reported["status"]["sync"]["status"], "Synced");
    // A rotated token is detected immediately.
    let path = "/api/v1/namespaces/shop/secrets/stage-secret";
    let rotated = json!({"stringData": {"kubeconfig": kubeconfig("token-two")}});
    send(&fixture.tenants, "PATCH", path, rotated).await.unwrap();
    fixture
        .wait_for("the other token", async || {
            let secret = fixture.argocd_secrets().await.remove(0);
            decoded(&secret, "config").contains("token-two").then_some(())
        })
        .await;
    fixture.wait_until_settled().await;
    fixture.delete("shop", ENVIRONMENTS, "stage").await;
    fixture.wait_for("no Secret", async || fixture.argocd_secrets().await.is_empty().then_some(())).await;
    fixture
        .wait_for("no target", async || {
            fixture.application(&web).await.filter(|found| found["spec"]["destination"].get("name").is_none())
        })
        .await;
    let said = fixture
        .wait_for("an error", async || {
            let error = condition(&fixture, DEPLOYMENTS, "web", "ErrorOccurred").await?;
            Some(error).filter(|error| error["status"] == "True")
        })
        .await;
    assert!(said["message"].as_str().unwrap().starts_with("unable to reconcile the ManagedEnvironment resource."));
    assert!(fixture.all::<ApiToDatabase>().await.is_empty());
    assert!(fixture.all::<AppProjectManagedEnvironment>().await.is_empty());
}

/// Time the Secret stays although only the deletion needs it: several polls of the waiting environment.
const SEVERAL_POLLS: Duration = Duration::from_millis(3 * teardown::POLL_MS);

async fn an_environment_outlives_deletions_that_use_it(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.environment("shop", "stage", "token-one").await;
    let web = uid(&fixture.deploy("shop", "web", to("stage")).await);
    fixture.wait_for("an Application", async || fixture.application(&web).await).await;
    fixture.wait_until_settled().await;
    fixture.fake_argocd.stuck(true);
    send(&fixture.tenants, "DELETE", "/api/v1/namespaces/shop", Value::Null).await.unwrap();
    let is_leaving = async || {
        let found = fixture.application(&web).await?;
        found["metadata"]["deletionTimestamp"].is_string().then_some(())
    };
    fixture.wait_for("a deletion", is_leaving).await;
    let from = Instant::now();
    fixture.wait_for("a while", async || (from.elapsed() > SEVERAL_POLLS).then_some(())).await;
    assert_eq!(fixture.argocd_secrets().await.len(), 1, "the deployed resources cannot be removed without it");
    fixture.fake_argocd.stuck(false);
    fixture.wait_for("its end", async || fixture.application(&web).await.is_none().then_some(())).await;
    fixture.wait_for("no Secrets", async || fixture.argocd_secrets().await.is_empty().then_some(())).await;
    assert_eq!(fixture.cascades(), 1);
}

async fn a_rejected_environment_is_reported_and_retried_with_backoff(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.environment("shop", "stage", WRONG).await;
    let of = "ConnectionInitializationSucceeded";
    let said = fixture.wait_for("a condition", async || condition(&fixture, ENVIRONMENTS, "stage", of).await).await;
    assert_eq!(said["reason"], "UnableToValidateClusterCredentials");
    fixture.deploy("shop", "web", to("stage")).await;
    let error =
        fixture.wait_for("an error", async || condition(&fixture, DEPLOYMENTS, "web", "ErrorOccurred").await).await;
    assert!(error["message"].as_str().unwrap().starts_with("Unable to reconcile the ManagedEnvironment."));
    fixture.wait_until_settled().await;
    assert_eq!(fixture.network.environments.lock().unwrap().len(), 1);
    let path = "/api/v1/namespaces/shop/secrets/stage-secret";
    let rotated = json!({"stringData": {"kubeconfig": kubeconfig("right")}});
    send(&fixture.tenants, "PATCH", path, rotated).await.unwrap();
    fixture
        .wait_for("a yes", async || {
            condition(&fixture, ENVIRONMENTS, "stage", of).await.filter(|one| one["status"] == "True")
        })
        .await;
    fixture.wait_for("an Application", async || fixture.all::<Application>().await.pop()).await;
    fixture.delete("shop", DEPLOYMENTS, "web").await;
    send(&fixture.tenants, "DELETE", path, Value::Null).await.unwrap();
    fixture
        .wait_for("a missing Secret", async || {
            condition(&fixture, ENVIRONMENTS, "stage", of).await.filter(|one| one["reason"] == "KubernetesError")
        })
        .await;
}

async fn a_created_service_account_is_removed_with_its_environment(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let config = json!({"kubeconfig": kubeconfig("admin-token")});
    fixture.secret("shop", "stage-secret", crate::fixture::ENVIRONMENT_SECRET, config).await;
    let spec = json!({"apiURL": TARGET, "credentialsSecret": "stage-secret", "allowInsecureSkipTLSVerify": false,
        "createNewServiceAccount": true});
    let made = fixture.create_resource("shop", ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", "stage", spec).await;
    fixture.deploy("shop", "web", to("stage")).await;
    let secret = fixture.wait_for("a Secret", async || fixture.argocd_secrets().await.pop()).await;
    let account = format!("argocd-manager-token-{}", uid(&made));
    let path = format!("/api/v1/namespaces/kube-system/secrets/{account}");
    let token = decoded(&send(&fixture.target, "GET", &path, Value::Null).await.unwrap(), "token");
    assert!(decoded(&secret, "config").contains(&token) && !token.is_empty());
    assert!(!decoded(&secret, "config").contains("admin-token"));
    fixture.wait_until_settled().await;
    fixture.delete("shop", ENVIRONMENTS, "stage").await;
    fixture.wait_for("no Secret", async || fixture.argocd_secrets().await.is_empty().then_some(())).await;
    fixture.wait_for("no account", async || fixture.all::<ServiceAccount>().await.is_empty().then_some(())).await;
    let asked = fixture.network.environments.lock().unwrap().clone();
    assert!(asked.iter().any(|one| removes_account(one, &made)), "{asked:?}");
    assert!(send(&fixture.target, "GET", &path, Value::Null).await.is_err(), "it is deleted there, too");
}

fn removes_account(question: &ClusterCheck, of: &Value) -> bool {
    matches!(question, ClusterCheck::Retire { account } if account.resource_uid.as_str() == uid(of))
}

async fn no_service_account_is_left_on_a_target(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    let spec = |secret: &str, own: bool| {
        json!({"apiURL": TARGET, "credentialsSecret": secret, "allowInsecureSkipTLSVerify": false,
            "createNewServiceAccount": own})
    };
    let kind = "GitOpsDeploymentManagedEnvironment";
    for (name, token) in [("right", "admin-token"), ("wrong", WRONG)] {
        let config = json!({"kubeconfig": kubeconfig(token)});
        fixture.secret("shop", name, crate::fixture::ENVIRONMENT_SECRET, config).await;
    }
    // An account that is no longer requested, although its environment stays.
    let toggled = fixture.create_resource("shop", ENVIRONMENTS, kind, "toggled", spec("right", true)).await;
    let of = "ConnectionInitializationSucceeded";
    fixture
        .wait_for("a yes", async || {
            condition(&fixture, ENVIRONMENTS, "toggled", of).await.filter(|one| one["status"] == "True")
        })
        .await;
    let path = format!("{GROUP}/namespaces/shop/{ENVIRONMENTS}/toggled");
    send(&fixture.tenants, "PATCH", &path, json!({"spec": {"createNewServiceAccount": false}})).await.unwrap();
    let asked = async |fixture: &ServiceFixture, made: &Value| {
        let found = fixture.network.environments.lock().unwrap().iter().any(|one| removes_account(one, made));
        (found && fixture.all::<ServiceAccount>().await.is_empty()).then_some(())
    };
    fixture.wait_for("no account", async || asked(&fixture, &toggled).await).await;
    // An account that was recorded although the target rejected the request, and whose environment is deleted while no
    // role runs.
    let refused = fixture.create_resource("shop", ENVIRONMENTS, kind, "refused", spec("wrong", true)).await;
    fixture.wait_for("a no", async || condition(&fixture, ENVIRONMENTS, "refused", of).await).await;
    assert_eq!(fixture.all::<ServiceAccount>().await.len(), 1);
    fixture.kill().await;
    fixture.delete("shop", ENVIRONMENTS, "refused").await;
    fixture.start().await;
    fixture.wait_for("no account", async || asked(&fixture, &refused).await).await;
}

async fn a_credential_is_used_rotated_and_deleted(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let login = |password: &str| json!({"username": "robot", "password": password});
    fixture.secret("shop", "login", CREDENTIAL_SECRET, login("password-one")).await;
    let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    fixture.create_resource("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let secret = fixture.wait_for("a Secret", async || fixture.argocd_secrets().await.pop()).await;
    let user: ClusterUser = fixture.all().await.remove(0);
    assert_eq!(decoded(&secret, "url"), "https://git.example/Shop/web.git");
    assert_eq!(decoded(&secret, "password"), "password-one");
    assert_eq!(decoded(&secret, "project"), format!("app-project-{}", user.id));
    let path = "/api/v1/namespaces/shop/secrets/login";
    send(&fixture.tenants, "PATCH", path, json!({"stringData": login("password-two")})).await.unwrap();
    fixture
        .wait_for("the other password", async || {
            let secret = fixture.argocd_secrets().await.remove(0);
            (decoded(&secret, "password") == "password-two").then_some(())
        })
        .await;
    let all = fixture
        .wait_for("three conditions", async || {
            let found = fixture.resource("shop", CREDENTIALS, "git").await?;
            found["status"]["conditions"].as_array().filter(|all| all.len() == 3).cloned()
        })
        .await;
    assert_eq!(all[2]["status"], "True");
    fixture.wait_until_settled().await;
    fixture.delete("shop", CREDENTIALS, "git").await;
    fixture.wait_for("no Secret", async || fixture.argocd_secrets().await.is_empty().then_some(())).await;
    assert!(fixture.all::<RepositoryCredentials>().await.is_empty());
}

async fn a_rejected_credential_is_reported_once(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": WRONG})).await;
    let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    fixture.create_resource("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let said = fixture
        .wait_for("a refusal", async || condition(&fixture, CREDENTIALS, "git", "ValidRepositoryCredential").await)
        .await;
    assert_eq!((&said["status"], &said["reason"]), (&json!("False"), &json!("InvalidCredentials")));
    fixture.wait_until_settled().await;
    assert!(fixture.all::<RepositoryCredentials>().await.is_empty());
    assert_eq!(fixture.network.credentials.lock().unwrap().len(), 1);
}

async fn no_tenant_uses_resources_of_another(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.environment("shop", "stage", "token-of-shop").await;
    fixture.deploy("shop", "web", to("stage")).await;
    fixture.wait_for("an Application", async || fixture.all::<Application>().await.pop()).await;
    // The name of another tenant's environment, and its name in Argo CD.
    let row = fixture.all::<ApiToDatabase>().await.remove(0);
    for (name, environment) in [("a", "stage".to_string()), ("b", format!("managed-env-{}", row.relation_key))] {
        fixture.deploy("bank", name, to(&environment)).await;
        let error = fixture
            .wait_for("an error", async || {
                let found = fixture.deployment("bank", name).await?;
                found["status"]["conditions"].as_array()?.first().cloned()
            })
            .await;
        assert_eq!(error["status"], "True");
    }
    // A namespace of another tenant, on the cluster of Argo CD.
    let mut elsewhere = plain();
    elsewhere["destination"] = json!({"namespace": "shop"});
    let body = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment",
        "metadata": {"name": "c"}, "spec": elsewhere});
    let path = format!("{GROUP}/namespaces/bank/gitopsdeployments");
    let refused = send(&fixture.tenants, "POST", &path, body).await.unwrap_err();
    assert!(refused.contains("the environment field should not be empty"), "{refused}");
    // The project limits the tenant to its own destinations.
    fixture.deploy("bank", "vault", plain()).await;
    fixture.wait_for("two Applications", async || (fixture.all::<Application>().await.len() == 2).then_some(())).await;
    fixture.wait_until_settled().await;
    let users: Vec<ClusterUser> = fixture.all().await;
    let bank = users.iter().find(|user| user.display_name.as_deref() == Some("bank")).unwrap();
    let projects = fixture.list_objects(&format!("{ARGO}/namespaces/{ARGOCD}/appprojects")).await;
    let of_bank = projects.iter().find(|one| one["metadata"]["name"] == format!("app-project-{}", bank.id)).unwrap();
    assert_eq!(of_bank["spec"]["destinations"], json!([{"name": "in-cluster", "namespace": "bank"}]));
}

async fn tenants_and_argo_cd_may_be_on_two_clusters(database: TestDatabase) {
    let fixture = ServiceFixture::on_two_clusters(database).await;
    fixture.environment("shop", "stage", "token-one").await;
    let web = uid(&fixture.deploy("shop", "web", to("stage")).await);
    fixture.wait_for("an Application", async || fixture.application(&web).await).await;
    let reported = fixture
        .wait_for("a status", async || {
            fixture.deployment("shop", "web").await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
    assert_eq!(reported["status"]["health"]["status"], "Healthy");
    // A namespace of the tenants' cluster is not a namespace of Argo CD's cluster, even with the same name.
    fixture.deploy("shop", "own", plain()).await;
    let error =
        fixture.wait_for("an error", async || condition(&fixture, DEPLOYMENTS, "own", "ErrorOccurred").await).await;
    assert_eq!(error["status"], "True");
    assert_eq!(error["message"], switchboard_gitops::deployment::kind::NO_OWN_CLUSTER);
    let projects = fixture.list_objects(&format!("{ARGO}/namespaces/{ARGOCD}/appprojects")).await;
    let allowed = projects[0]["spec"]["destinations"].as_array().unwrap();
    assert!(allowed.iter().all(|one| one["name"] != "in-cluster"), "{allowed:?}");
}
