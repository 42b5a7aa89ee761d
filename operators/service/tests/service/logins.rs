//! A login inside of a URL would stay in clear where credentials are sealed: it is refused, and written nowhere.

use serde_json::{Value, json};
use switchboard_gitops::kinds::{credential, deployment};
use switchboard_ledger::rows::*;

use crate::base::{Base, on_both};
use crate::stage::{CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, GROUP, Stage, plain, send};

on_both! {
    a_login_in_a_url_is_refused_and_written_nowhere
}

const LOGIN: &str = "hunter2";

async fn said(stage: &Stage, plural: &str, name: &str, of: &str) -> Option<Value> {
    let found = stage.resource("shop", plural, name).await?;
    found["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == of).cloned()
}

async fn a_login_in_a_url_is_refused_and_written_nowhere(base: Base) {
    let stage = Stage::new(base).await;
    let url = format!("https://robot:{LOGIN}@git.example/Shop/web.git");
    let mut spec = plain();
    spec["source"]["repoURL"] = url.as_str().into();
    stage.deploy("shop", "web", spec).await;
    let error = stage.until("an error", async || said(&stage, DEPLOYMENTS, "web", "ErrorOccurred").await).await;
    assert_eq!((&error["status"], &error["message"]), (&json!("True"), &json!(deployment::LOGIN_IN_URL)));
    stage.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": LOGIN})).await;
    let spec = json!({"repository": url, "secret": "login"});
    stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let error = stage.until("a no", async || said(&stage, CREDENTIALS, "git", credential::VALID_URL).await).await;
    assert_eq!((&error["status"], &error["message"]), (&json!("False"), &json!(credential::LOGIN_IN_URL)));
    // Another deployment of the tenant makes it one, with a project.
    stage.deploy("shop", "other", plain()).await;
    stage.until("a project", async || stage.all::<AppProjectRepository>().await.pop()).await;
    stage.settled().await;
    let rows = format!("{:?} {:?}", stage.all::<Application>().await, stage.all::<AppProjectRepository>().await);
    assert!(!rows.contains(LOGIN), "{rows}");
    assert!(stage.all::<RepositoryCredentials>().await.is_empty());
    assert!(stage.network.credentials.lock().unwrap().is_empty(), "nobody is asked with it");
    // What it should be is told, and does.
    for (plural, name, spec) in [
        (DEPLOYMENTS, "web", json!({"source": {"repoURL": "https://git.example/Shop/web.git"}})),
        (CREDENTIALS, "git", json!({"repository": "https://git.example/Shop/web.git"})),
    ] {
        let path = format!("{GROUP}/namespaces/shop/{plural}/{name}");
        send(&stage.tenants, "PATCH", &path, json!({"spec": spec})).await.unwrap();
    }
    stage.until("both Applications", async || (stage.all::<Application>().await.len() == 2).then_some(())).await;
    stage.until("the credential", async || stage.all::<RepositoryCredentials>().await.pop()).await;
}
