//! Credentials of repositories.

use serde_json::{Value, json};
use switchboard_ledger::rows::RepositoryCredentials;

use super::{Flow, Later, killed, nothing};
use crate::stage::{CREDENTIAL_SECRET, CREDENTIALS, GROUP, Stage, decoded, send};

killed! {
    a_credential_is_created
    a_credential_is_rotated
    a_credential_is_given_another_repository
    a_credential_is_removed
}

fn login(password: &str) -> Value {
    json!({"username": "robot", "password": password})
}

pub fn create(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        stage.secret("shop", "login", CREDENTIAL_SECRET, login("password-one")).await;
        let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
        stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    })
}

/// Waits until Argo CD has it, and its tenant knows.
async fn told(stage: &Stage, key: &str, value: &str) {
    stage
        .until("a Secret", async || {
            let secrets = stage.secrets_of_argo().await;
            (secrets.len() == 1 && decoded(&secrets[0], key) == value).then_some(())
        })
        .await;
    stage
        .until("conditions", async || {
            let found: Value = stage.resource("shop", CREDENTIALS, "git").await?;
            Some(()).filter(|()| found["status"]["conditions"][2]["status"] == "True")
        })
        .await;
    stage.settled().await;
}

pub fn is_told(stage: &Stage) -> Later<'_> {
    Box::pin(told(stage, "password", "password-one"))
}

fn before(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        create(stage).await;
        is_told(stage).await;
    })
}

fn a_credential_is_created() -> Flow {
    Flow { before: nothing, change: create, holds: is_told }
}

fn a_credential_is_rotated() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let path = "/api/v1/namespaces/shop/secrets/login";
            let rotated = json!({"stringData": login("password-two")});
            send(&stage.tenants, "PATCH", path, rotated).await.unwrap();
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(told(stage, "password", "password-two"))
    }
    Flow { before, change, holds }
}

fn a_credential_is_given_another_repository() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let path = format!("{GROUP}/namespaces/shop/{CREDENTIALS}/git");
            let other = json!({"spec": {"repository": "https://git.example/Shop/other"}});
            send(&stage.tenants, "PATCH", &path, other).await.unwrap();
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(told(stage, "url", "https://git.example/Shop/other"))
    }
    Flow { before, change, holds }
}

fn a_credential_is_removed() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(stage.delete("shop", CREDENTIALS, "git"))
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage.until("no rows", async || stage.all::<RepositoryCredentials>().await.is_empty().then_some(())).await;
            stage.until("no Secrets", async || stage.secrets_of_argo().await.is_empty().then_some(())).await;
        })
    }
    Flow { before, change, holds }
}
