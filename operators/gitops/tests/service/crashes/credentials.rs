//! Flows of repository credentials.

use serde_json::{Value, json};
use switchboard_gitops::rows::RepositoryCredentials;

use super::{CrashCase, StepFuture, crash_tests, nothing};
use crate::fixture::{CREDENTIAL_SECRET, CREDENTIALS, GROUP, ServiceFixture, decoded, send};

crash_tests! {
    a_credential_is_created
    a_credential_is_rotated
    a_credential_changes_its_repository
    a_credential_is_removed
}

fn login(password: &str) -> Value {
    json!({"username": "robot", "password": password})
}

pub fn create(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        fixture.secret("shop", "login", CREDENTIAL_SECRET, login("password-one")).await;
        let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
        fixture.create_resource("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    })
}

/// Waits until Argo CD's Secret has the value and the tenant's status is updated.
async fn wait_until_applied(fixture: &ServiceFixture, key: &str, value: &str) {
    fixture
        .wait_for("a Secret", async || {
            let secrets = fixture.argocd_secrets().await;
            (secrets.len() == 1 && decoded(&secrets[0], key) == value).then_some(())
        })
        .await;
    fixture
        .wait_for("conditions", async || {
            let found: Value = fixture.resource("shop", CREDENTIALS, "git").await?;
            Some(()).filter(|()| found["status"]["conditions"][2]["status"] == "True")
        })
        .await;
    fixture.wait_until_settled().await;
}

pub fn is_reported(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(wait_until_applied(fixture, "password", "password-one"))
}

fn before(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        create(fixture).await;
        is_reported(fixture).await;
    })
}

fn a_credential_is_created() -> CrashCase {
    CrashCase { before: nothing, change: create, verify: is_reported }
}

fn a_credential_is_rotated() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            let path = "/api/v1/namespaces/shop/secrets/login";
            let rotated = json!({"stringData": login("password-two")});
            send(&fixture.tenants, "PATCH", path, rotated).await.unwrap();
        })
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(wait_until_applied(fixture, "password", "password-two"))
    }
    CrashCase { before, change, verify }
}

fn a_credential_changes_its_repository() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            let path = format!("{GROUP}/namespaces/shop/{CREDENTIALS}/git");
            let other = json!({"spec": {"repository": "https://git.example/Shop/other"}});
            send(&fixture.tenants, "PATCH", &path, other).await.unwrap();
        })
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(wait_until_applied(fixture, "url", "https://git.example/Shop/other"))
    }
    CrashCase { before, change, verify }
}

fn a_credential_is_removed() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(fixture.delete("shop", CREDENTIALS, "git"))
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            fixture
                .wait_for("no rows", async || fixture.all::<RepositoryCredentials>().await.is_empty().then_some(()))
                .await;
            fixture.wait_for("no Secrets", async || fixture.argocd_secrets().await.is_empty().then_some(())).await;
        })
    }
    CrashCase { before, change, verify }
}
