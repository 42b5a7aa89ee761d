//! A login in a URL would be stored in plaintext although credentials are encrypted: the service rejects it and stores
//! it nowhere.

use serde_json::{Value, json};
use switchboard_gitops::credential::kind as credential;
use switchboard_gitops::deployment::kind as deployment;
use switchboard_gitops::rows::*;

use crate::database::{TestDatabase, on_both};
use crate::fixture::{CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, GROUP, ServiceFixture, plain, send};

on_both! {
    a_login_in_a_url_is_rejected_and_not_stored
}

const LOGIN: &str = "hunter2";

async fn said(fixture: &ServiceFixture, plural: &str, name: &str, of: &str) -> Option<Value> {
    let found = fixture.resource("shop", plural, name).await?;
    found["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == of).cloned()
}

async fn a_login_in_a_url_is_rejected_and_not_stored(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let url = format!("https://robot:{LOGIN}@git.example/Shop/web.git");
    let mut spec = plain();
    spec["source"]["repoURL"] = url.as_str().into();
    fixture.deploy("shop", "web", spec).await;
    let error = fixture.wait_for("an error", async || said(&fixture, DEPLOYMENTS, "web", "ErrorOccurred").await).await;
    assert_eq!((&error["status"], &error["message"]), (&json!("True"), &json!(deployment::LOGIN_IN_URL)));
    fixture.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": LOGIN})).await;
    let spec = json!({"repository": url, "secret": "login"});
    fixture.create_resource("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let error =
        fixture.wait_for("a no", async || said(&fixture, CREDENTIALS, "git", credential::VALID_URL).await).await;
    assert_eq!((&error["status"], &error["message"]), (&json!("False"), &json!(credential::LOGIN_IN_URL)));
    // Another deployment of the tenant creates a project.
    fixture.deploy("shop", "other", plain()).await;
    fixture.wait_for("a project", async || fixture.all::<AppProjectRepository>().await.pop()).await;
    fixture.wait_until_settled().await;
    let rows = format!("{:?} {:?}", fixture.all::<Application>().await, fixture.all::<AppProjectRepository>().await);
    assert!(!rows.contains(LOGIN), "{rows}");
    assert!(fixture.all::<RepositoryCredentials>().await.is_empty());
    assert!(fixture.network.credentials.lock().unwrap().is_empty(), "no request uses the login");
    // The corrected URLs succeed.
    for (plural, name, spec) in [
        (DEPLOYMENTS, "web", json!({"source": {"repoURL": "https://git.example/Shop/web.git"}})),
        (CREDENTIALS, "git", json!({"repository": "https://git.example/Shop/web.git"})),
    ] {
        let path = format!("{GROUP}/namespaces/shop/{plural}/{name}");
        send(&fixture.tenants, "PATCH", &path, json!({"spec": spec})).await.unwrap();
    }
    fixture.wait_for("both Applications", async || (fixture.all::<Application>().await.len() == 2).then_some(())).await;
    fixture.wait_for("the credential", async || fixture.all::<RepositoryCredentials>().await.pop()).await;
}
