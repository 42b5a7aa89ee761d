//! Periodic rechecks of valid credentials, and the reported results.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_gitops::backend;
use switchboard_gitops::rows::RepositoryCredentials;

use crate::database::{TestDatabase, on_both};
use crate::fixture::{CREDENTIAL_SECRET, CREDENTIALS, ENVIRONMENTS, ServiceFixture};

on_both! {
    working_credentials_are_rechecked_without_queries
}

/// Condition reasons of both resources.
async fn reasons(fixture: &ServiceFixture) -> Option<[String; 2]> {
    let reason = |object: &Value, of: &str| {
        let all = object["status"]["conditions"].as_array()?;
        let one = all.iter().find(|one| one["type"] == of)?;
        Some(one["reason"].as_str().unwrap_or_default().to_string())
    };
    let environment = fixture.resource("shop", ENVIRONMENTS, "stage").await?;
    let credential = fixture.resource("shop", CREDENTIALS, "git").await?;
    Some([reason(&environment, "ConnectionInitializationSucceeded")?, reason(&credential, "ErrorOccurred")?])
}

async fn is_reported(fixture: &ServiceFixture, wanted: &[String; 2]) -> Option<()> {
    (reasons(fixture).await.as_ref() == Some(wanted)).then_some(())
}

/// Number of requests to clusters and git servers so far.
fn check_counts(fixture: &ServiceFixture) -> [usize; 2] {
    [fixture.network.environments.lock().unwrap().len(), fixture.network.credentials.lock().unwrap().len()]
}

async fn working_credentials_are_rechecked_without_queries(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.settings.recheck = Duration::from_millis(200);
    fixture.settings.notify_after = backend::NOTIFY_AFTER;
    fixture.start().await;
    fixture.environment("shop", "stage", "token-one").await;
    fixture.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    fixture.create_resource("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let good = ["Succeeded".to_string(), "RepositoryCredentialUpToDate".to_string()];
    let bad = ["UnableToValidateClusterCredentials".to_string(), "InvalidCredentials".to_string()];
    fixture.wait_for("both to work", async || is_reported(&fixture, &good).await).await;
    fixture.wait_until_settled().await;

    let more = |from: [usize; 2]| {
        let now = check_counts(&fixture);
        (now[0] >= from[0] + 3 && now[1] >= from[1] + 3).then_some(())
    };
    let first = check_counts(&fixture);
    fixture.wait_for("a few checks", async || more(first)).await;
    let (counts, from) = (fixture.ledger.counts(), check_counts(&fixture));
    fixture.wait_for("more checks", async || more(from)).await;
    assert_eq!(fixture.ledger.counts(), counts, "no change and no query");

    fixture.network.refuses.store(true, Ordering::SeqCst);
    fixture.wait_for("the conditions", async || is_reported(&fixture, &bad).await).await;
    assert_eq!(fixture.all::<RepositoryCredentials>().await.len(), 1, "Argo CD keeps the valid credential");
    assert_eq!(fixture.argocd_secrets().await.len(), 1);
    // A restarted process knows only the reported conditions.
    fixture.kill().await;
    fixture.network.refuses.store(false, Ordering::SeqCst);
    fixture.start().await;
    fixture.wait_for("both to work again", async || is_reported(&fixture, &good).await).await;
}
