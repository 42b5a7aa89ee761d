//! Clusters to deploy to, repositories to deploy from, and who may use them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_gitops::flow::environment::{Question, parting};
use switchboard_ledger::rows::left::ServiceAccount;
use switchboard_ledger::rows::*;

use crate::base::{Base, on_both};
use crate::network::WRONG;
use crate::stage::{
    ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, ENVIRONMENTS, GROUP, Stage, TARGET, decoded, kubeconfig,
    plain, send, uid,
};

on_both! {
    an_environment_is_used_rotated_and_removed
    an_environment_that_is_refused_is_told_and_not_hammered
    an_environment_goes_behind_what_goes_through_it
    a_service_account_of_ours_is_removed_with_its_environment
    nothing_of_ours_is_left_on_a_target
    a_credential_reaches_argo_cd_is_rotated_and_removed
    a_credential_that_is_refused_is_told_once
    nobody_uses_what_is_anothers
    both_clusters_may_be_apart
}

fn to(environment: &str) -> Value {
    let mut spec = plain();
    spec["destination"] = json!({"environment": environment, "namespace": "web"});
    spec
}

async fn condition(stage: &Stage, plural: &str, name: &str, of: &str) -> Option<Value> {
    let found = stage.resource("shop", plural, name).await?;
    found["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == of).cloned()
}

async fn an_environment_is_used_rotated_and_removed(base: Base) {
    let stage = Stage::new(base).await;
    stage.environment("shop", "stage", "token-one").await;
    let web = uid(&stage.deploy("shop", "web", to("stage")).await);
    let application = stage.until("an Application", async || stage.application(&web).await).await;
    let row = stage.all::<ApiToDatabase>().await.remove(0);
    let name = format!("managed-env-{}", row.relation_key);
    assert_eq!(application["spec"]["destination"], json!({"name": name, "namespace": "web"}));
    let user: ClusterUser = stage.all().await.remove(0);
    let secret = stage.secrets_of_argo().await.remove(0);
    assert_eq!(decoded(&secret, "server"), format!("{TARGET}?managedEnvironment={}", row.relation_key));
    assert_eq!(decoded(&secret, "project"), format!("app-project-{}", user.id));
    assert!(decoded(&secret, "config").contains("token-one"));
    let told = stage
        .until("the environment's name", async || {
            let found = stage.deployment("shop", "web").await?;
            Some(found).filter(|web| web["status"]["reconciledState"]["destination"]["name"] == "stage")
        })
        .await;
    assert_eq!(told["status"]["sync"]["status"], "Synced");
    // A rotated token is noticed at once.
    let path = "/api/v1/namespaces/shop/secrets/stage-secret";
    let rotated = json!({"stringData": {"kubeconfig": kubeconfig("token-two")}});
    send(&stage.tenants, "PATCH", path, rotated).await.unwrap();
    stage
        .until("the other token", async || {
            let secret = stage.secrets_of_argo().await.remove(0);
            decoded(&secret, "config").contains("token-two").then_some(())
        })
        .await;
    stage.settled().await;
    stage.delete("shop", ENVIRONMENTS, "stage").await;
    stage.until("no Secret", async || stage.secrets_of_argo().await.is_empty().then_some(())).await;
    stage
        .until("no target", async || {
            stage.application(&web).await.filter(|found| found["spec"]["destination"].get("name").is_none())
        })
        .await;
    let said = stage
        .until("an error", async || {
            let error = condition(&stage, DEPLOYMENTS, "web", "ErrorOccurred").await?;
            Some(error).filter(|error| error["status"] == "True")
        })
        .await;
    assert!(said["message"].as_str().unwrap().starts_with("unable to reconcile the ManagedEnvironment resource."));
    assert!(stage.all::<ApiToDatabase>().await.is_empty());
    assert!(stage.all::<AppProjectManagedEnvironment>().await.is_empty());
}

/// How long its Secret stays though nothing but a removal needs it: several looks of an environment that waits.
const SEVERAL_LOOKS: Duration = Duration::from_millis(3 * parting::LOOK_AGAIN_MS);

async fn an_environment_goes_behind_what_goes_through_it(base: Base) {
    let stage = Stage::new(base).await;
    stage.environment("shop", "stage", "token-one").await;
    let web = uid(&stage.deploy("shop", "web", to("stage")).await);
    stage.until("an Application", async || stage.application(&web).await).await;
    stage.settled().await;
    stage.argo.stuck(true);
    send(&stage.tenants, "DELETE", "/api/v1/namespaces/shop", Value::Null).await.unwrap();
    let is_leaving = async || {
        let found = stage.application(&web).await?;
        found["metadata"]["deletionTimestamp"].is_string().then_some(())
    };
    stage.until("a deletion", is_leaving).await;
    let from = Instant::now();
    stage.until("a while", async || (from.elapsed() > SEVERAL_LOOKS).then_some(())).await;
    assert_eq!(stage.secrets_of_argo().await.len(), 1, "without it, nothing that was deployed can be removed");
    stage.argo.stuck(false);
    stage.until("its end", async || stage.application(&web).await.is_none().then_some(())).await;
    stage.until("no Secrets", async || stage.secrets_of_argo().await.is_empty().then_some(())).await;
    assert_eq!(stage.cascades(), 1);
}

async fn an_environment_that_is_refused_is_told_and_not_hammered(base: Base) {
    let stage = Stage::new(base).await;
    stage.environment("shop", "stage", WRONG).await;
    let of = "ConnectionInitializationSucceeded";
    let said = stage.until("a condition", async || condition(&stage, ENVIRONMENTS, "stage", of).await).await;
    assert_eq!(said["reason"], "UnableToValidateClusterCredentials");
    stage.deploy("shop", "web", to("stage")).await;
    let error = stage.until("an error", async || condition(&stage, DEPLOYMENTS, "web", "ErrorOccurred").await).await;
    assert!(error["message"].as_str().unwrap().starts_with("Unable to reconcile the ManagedEnvironment."));
    stage.settled().await;
    assert_eq!(stage.network.environments.lock().unwrap().len(), 1);
    let path = "/api/v1/namespaces/shop/secrets/stage-secret";
    let rotated = json!({"stringData": {"kubeconfig": kubeconfig("right")}});
    send(&stage.tenants, "PATCH", path, rotated).await.unwrap();
    stage
        .until("a yes", async || {
            condition(&stage, ENVIRONMENTS, "stage", of).await.filter(|one| one["status"] == "True")
        })
        .await;
    stage.until("an Application", async || stage.all::<Application>().await.pop()).await;
    stage.delete("shop", DEPLOYMENTS, "web").await;
    send(&stage.tenants, "DELETE", path, Value::Null).await.unwrap();
    stage
        .until("a missing Secret", async || {
            condition(&stage, ENVIRONMENTS, "stage", of).await.filter(|one| one["reason"] == "KubernetesError")
        })
        .await;
}

async fn a_service_account_of_ours_is_removed_with_its_environment(base: Base) {
    let stage = Stage::new(base).await;
    let config = json!({"kubeconfig": kubeconfig("admin-token")});
    stage.secret("shop", "stage-secret", crate::stage::ENVIRONMENT_SECRET, config).await;
    let spec = json!({"apiURL": TARGET, "credentialsSecret": "stage-secret", "allowInsecureSkipTLSVerify": false,
        "createNewServiceAccount": true});
    let made = stage.make("shop", ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", "stage", spec).await;
    stage.deploy("shop", "web", to("stage")).await;
    let secret = stage.until("a Secret", async || stage.secrets_of_argo().await.pop()).await;
    let account = format!("argocd-manager-token-{}", uid(&made));
    let path = format!("/api/v1/namespaces/kube-system/secrets/{account}");
    let token = decoded(&send(&stage.target, "GET", &path, Value::Null).await.unwrap(), "token");
    assert!(decoded(&secret, "config").contains(&token) && !token.is_empty());
    assert!(!decoded(&secret, "config").contains("admin-token"));
    stage.settled().await;
    stage.delete("shop", ENVIRONMENTS, "stage").await;
    stage.until("no Secret", async || stage.secrets_of_argo().await.is_empty().then_some(())).await;
    stage.until("no account", async || stage.all::<ServiceAccount>().await.is_empty().then_some(())).await;
    let asked = stage.network.environments.lock().unwrap().clone();
    assert!(asked.iter().any(|one| retires(one, &made)), "{asked:?}");
    assert!(send(&stage.target, "GET", &path, Value::Null).await.is_err(), "it is gone there, too");
}

fn retires(question: &Question, of: &Value) -> bool {
    matches!(question, Question::Retire { account } if account.resource_uid.as_str() == uid(of))
}

async fn nothing_of_ours_is_left_on_a_target(base: Base) {
    let mut stage = Stage::new(base).await;
    let spec = |secret: &str, own: bool| {
        json!({"apiURL": TARGET, "credentialsSecret": secret, "allowInsecureSkipTLSVerify": false,
            "createNewServiceAccount": own})
    };
    let kind = "GitOpsDeploymentManagedEnvironment";
    for (name, token) in [("right", "admin-token"), ("wrong", WRONG)] {
        let config = json!({"kubeconfig": kubeconfig(token)});
        stage.secret("shop", name, crate::stage::ENVIRONMENT_SECRET, config).await;
    }
    // One that is wanted no longer, though its environment is.
    let toggled = stage.make("shop", ENVIRONMENTS, kind, "toggled", spec("right", true)).await;
    let of = "ConnectionInitializationSucceeded";
    stage
        .until("a yes", async || {
            condition(&stage, ENVIRONMENTS, "toggled", of).await.filter(|one| one["status"] == "True")
        })
        .await;
    let path = format!("{GROUP}/namespaces/shop/{ENVIRONMENTS}/toggled");
    send(&stage.tenants, "PATCH", &path, json!({"spec": {"createNewServiceAccount": false}})).await.unwrap();
    let asked = async |stage: &Stage, made: &Value| {
        let found = stage.network.environments.lock().unwrap().iter().any(|one| retires(one, made));
        (found && stage.all::<ServiceAccount>().await.is_empty()).then_some(())
    };
    stage.until("no account", async || asked(&stage, &toggled).await).await;
    // One that was made though the target then refused, and whose environment goes while nobody looks.
    let refused = stage.make("shop", ENVIRONMENTS, kind, "refused", spec("wrong", true)).await;
    stage.until("a no", async || condition(&stage, ENVIRONMENTS, "refused", of).await).await;
    assert_eq!(stage.all::<ServiceAccount>().await.len(), 1);
    stage.kill().await;
    stage.delete("shop", ENVIRONMENTS, "refused").await;
    stage.start().await;
    stage.until("no account", async || asked(&stage, &refused).await).await;
}

async fn a_credential_reaches_argo_cd_is_rotated_and_removed(base: Base) {
    let stage = Stage::new(base).await;
    let login = |password: &str| json!({"username": "robot", "password": password});
    stage.secret("shop", "login", CREDENTIAL_SECRET, login("password-one")).await;
    let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let secret = stage.until("a Secret", async || stage.secrets_of_argo().await.pop()).await;
    let user: ClusterUser = stage.all().await.remove(0);
    assert_eq!(decoded(&secret, "url"), "https://git.example/Shop/web.git");
    assert_eq!(decoded(&secret, "password"), "password-one");
    assert_eq!(decoded(&secret, "project"), format!("app-project-{}", user.id));
    let path = "/api/v1/namespaces/shop/secrets/login";
    send(&stage.tenants, "PATCH", path, json!({"stringData": login("password-two")})).await.unwrap();
    stage
        .until("the other password", async || {
            let secret = stage.secrets_of_argo().await.remove(0);
            (decoded(&secret, "password") == "password-two").then_some(())
        })
        .await;
    let all = stage
        .until("three conditions", async || {
            let found = stage.resource("shop", CREDENTIALS, "git").await?;
            found["status"]["conditions"].as_array().filter(|all| all.len() == 3).cloned()
        })
        .await;
    assert_eq!(all[2]["status"], "True");
    stage.settled().await;
    stage.delete("shop", CREDENTIALS, "git").await;
    stage.until("no Secret", async || stage.secrets_of_argo().await.is_empty().then_some(())).await;
    assert!(stage.all::<RepositoryCredentials>().await.is_empty());
}

async fn a_credential_that_is_refused_is_told_once(base: Base) {
    let stage = Stage::new(base).await;
    stage.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": WRONG})).await;
    let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let said = stage
        .until("a refusal", async || condition(&stage, CREDENTIALS, "git", "ValidRepositoryCredential").await)
        .await;
    assert_eq!((&said["status"], &said["reason"]), (&json!("False"), &json!("InvalidCredentials")));
    stage.settled().await;
    assert!(stage.all::<RepositoryCredentials>().await.is_empty());
    assert_eq!(stage.network.credentials.lock().unwrap().len(), 1);
}

async fn nobody_uses_what_is_anothers(base: Base) {
    let stage = Stage::new(base).await;
    stage.environment("shop", "stage", "token-of-shop").await;
    stage.deploy("shop", "web", to("stage")).await;
    stage.until("an Application", async || stage.all::<Application>().await.pop()).await;
    // By the name of another's environment, and by what Argo CD calls it.
    let row = stage.all::<ApiToDatabase>().await.remove(0);
    for (name, environment) in [("a", "stage".to_string()), ("b", format!("managed-env-{}", row.relation_key))] {
        stage.deploy("bank", name, to(&environment)).await;
        let error = stage
            .until("an error", async || {
                let found = stage.deployment("bank", name).await?;
                found["status"]["conditions"].as_array()?.first().cloned()
            })
            .await;
        assert_eq!(error["status"], "True");
    }
    // A namespace of somebody else, on the cluster of Argo CD.
    let mut elsewhere = plain();
    elsewhere["destination"] = json!({"namespace": "shop"});
    let body = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment",
        "metadata": {"name": "c"}, "spec": elsewhere});
    let path = format!("{GROUP}/namespaces/bank/gitopsdeployments");
    let refused = send(&stage.tenants, "POST", &path, body).await.unwrap_err();
    assert!(refused.contains("the environment field should not be empty"), "{refused}");
    // What it may do at all is in its project, and nothing of the other's is.
    stage.deploy("bank", "vault", plain()).await;
    stage.until("two Applications", async || (stage.all::<Application>().await.len() == 2).then_some(())).await;
    stage.settled().await;
    let users: Vec<ClusterUser> = stage.all().await;
    let bank = users.iter().find(|user| user.display_name.as_deref() == Some("bank")).unwrap();
    let projects = stage.listed(&format!("{ARGO}/namespaces/{ARGOCD}/appprojects")).await;
    let of_bank = projects.iter().find(|one| one["metadata"]["name"] == format!("app-project-{}", bank.id)).unwrap();
    assert_eq!(of_bank["spec"]["destinations"], json!([{"name": "in-cluster", "namespace": "bank"}]));
}

async fn both_clusters_may_be_apart(base: Base) {
    let stage = Stage::apart(base).await;
    stage.environment("shop", "stage", "token-one").await;
    let web = uid(&stage.deploy("shop", "web", to("stage")).await);
    stage.until("an Application", async || stage.application(&web).await).await;
    let told = stage
        .until("a status", async || {
            stage.deployment("shop", "web").await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
    assert_eq!(told["status"]["health"]["status"], "Healthy");
    // A namespace of the tenants' cluster is none of Argo CD's, whatever its name.
    stage.deploy("shop", "own", plain()).await;
    let error = stage.until("an error", async || condition(&stage, DEPLOYMENTS, "own", "ErrorOccurred").await).await;
    assert_eq!(error["status"], "True");
    assert_eq!(error["message"], switchboard_gitops::kinds::deployment::NO_OWN_CLUSTER);
    let projects = stage.listed(&format!("{ARGO}/namespaces/{ARGOCD}/appprojects")).await;
    let allowed = projects[0]["spec"]["destinations"].as_array().unwrap();
    assert!(allowed.iter().all(|one| one["name"] != "in-cluster"), "{allowed:?}");
}
