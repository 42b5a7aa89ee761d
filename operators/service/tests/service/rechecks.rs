//! Credentials that work are tried again now and then, and what comes of it is told.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_ledger::rows::RepositoryCredentials;
use switchboard_service::backend;

use crate::base::{Base, on_both};
use crate::stage::{CREDENTIAL_SECRET, CREDENTIALS, ENVIRONMENTS, Stage};

on_both! {
    what_works_is_tried_again_told_and_asks_the_database_nothing
}

/// What is told of both, in a word each.
async fn told(stage: &Stage) -> Option<[String; 2]> {
    let reason = |object: &Value, of: &str| {
        let all = object["status"]["conditions"].as_array()?;
        let one = all.iter().find(|one| one["type"] == of)?;
        Some(one["reason"].as_str().unwrap_or_default().to_string())
    };
    let environment = stage.resource("shop", ENVIRONMENTS, "stage").await?;
    let credential = stage.resource("shop", CREDENTIALS, "git").await?;
    Some([reason(&environment, "ConnectionInitializationSucceeded")?, reason(&credential, "ErrorOccurred")?])
}

async fn is_told(stage: &Stage, wanted: &[String; 2]) -> Option<()> {
    (told(stage).await.as_ref() == Some(wanted)).then_some(())
}

/// How often clusters and git servers were asked.
fn asked(stage: &Stage) -> [usize; 2] {
    [stage.network.environments.lock().unwrap().len(), stage.network.credentials.lock().unwrap().len()]
}

async fn what_works_is_tried_again_told_and_asks_the_database_nothing(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.settings.recheck = Duration::from_millis(200);
    stage.settings.ring_after = backend::RING_AFTER;
    stage.start().await;
    stage.environment("shop", "stage", "token-one").await;
    stage.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let good = ["Succeeded".to_string(), "RepositoryCredentialUpToDate".to_string()];
    let bad = ["UnableToValidateClusterCredentials".to_string(), "InvalidCredentials".to_string()];
    stage.until("both to work", async || is_told(&stage, &good).await).await;
    stage.settled().await;

    let more = |from: [usize; 2]| {
        let now = asked(&stage);
        (now[0] >= from[0] + 3 && now[1] >= from[1] + 3).then_some(())
    };
    let first = asked(&stage);
    stage.until("a few tries", async || more(first)).await;
    let (counts, from) = (stage.ledger.counts(), asked(&stage));
    stage.until("more tries", async || more(from)).await;
    assert_eq!(stage.ledger.counts(), counts, "nothing changed, and nobody asked what did");

    stage.network.refuses.store(true, Ordering::SeqCst);
    stage.until("to be told", async || is_told(&stage, &bad).await).await;
    assert_eq!(stage.all::<RepositoryCredentials>().await.len(), 1, "what worked is what Argo CD keeps");
    assert_eq!(stage.secrets_of_argo().await.len(), 1);
    // Who is started anew knows no more than what was told.
    stage.kill().await;
    stage.network.refuses.store(false, Ordering::SeqCst);
    stage.start().await;
    stage.until("both to work again", async || is_told(&stage, &good).await).await;
}
