#![allow(clippy::unwrap_used)]

use switchboard_sql::RowKey;

use crate::credential::kind::{CredentialOutcome, CredentialSpec, LOGIN_IN_URL, SECRET_TYPE};
use crate::credential::{self, CredentialCheck, CredentialCheckResult, CredentialRows, CredentialSecret};
use crate::flow::fixture::{FlowFixture, status};
use crate::flow::{DecisionTime, ReconcileResult};
use crate::ids::*;
use crate::kinds::{ObjectMeta, RepositoryCredential};
use crate::rows::*;

fn web() -> RepositoryCredential {
    RepositoryCredential {
        metadata: ObjectMeta::new("shop", "web-repo", "cred-uid"),
        spec: CredentialSpec { repository: "https://Git.example/Shop/Web.git".into(), secret: "login".into() },
        status: Default::default(),
    }
}

fn secret(password: &str) -> CredentialSecret {
    CredentialSecret {
        r#type: SECRET_TYPE.into(),
        username: "bot".into(),
        password: password.into(),
        ssh_key: Default::default(),
    }
}

async fn decide(
    fixture: &mut FlowFixture,
    resource: Option<&RepositoryCredential>,
    secret: Option<&CredentialSecret>,
    answer: Option<&CredentialCheckResult>,
) -> (ReconcileResult, Option<CredentialCheck>) {
    let mut known = Vec::new();
    for mapping in fixture.all::<ApiToDatabase>().await {
        let row = fixture.ledger.get(&RowKey::from(&*mapping.relation_key)).await.unwrap().unwrap();
        known.push(CredentialRows { mapping, row });
    }
    let operations = fixture.all::<Operation>().await;
    let mut id = fixture.ids();
    let (decision, asking) = credential::decide(
        &credential::CredentialInput {
            now: DecisionTime { timestamp: fixture.now, text: "2026-11-16T08:00:00Z" },
            namespace: &fixture.namespace,
            user: &fixture.user,
            credential: resource,
            secret,
            rows: &known,
            instance: &fixture.instance,
            used_by: &fixture.used_by,
            operations: &operations,
            check_result: answer,
        },
        &mut id,
    );
    fixture.ledger.commit(&decision.changes).await.unwrap();
    (decision, asking.now())
}

async fn answered(fixture: &mut FlowFixture, secret: &CredentialSecret, outcome: CredentialOutcome) -> ReconcileResult {
    let (_, question) = decide(fixture, Some(&web()), Some(secret), None).await;
    let answer = CredentialCheckResult { digest: question.unwrap().digest, outcome };
    decide(fixture, Some(&web()), Some(secret), Some(&answer)).await.0
}

#[tokio::test]
async fn a_url_with_a_login_is_neither_checked_nor_stored() {
    let mut fixture = FlowFixture::new().await;
    let mut asked = web();
    asked.spec.repository = "https://robot:hunter2@git.example/Shop/Web.git".into();
    let (told, question) = decide(&mut fixture, Some(&asked), Some(&secret("pw")), None).await;
    assert_eq!(question, None);
    let said = &status(&told).unwrap()["conditions"];
    let of_url = said.as_array().unwrap().iter().find(|one| one["type"] == "ValidRepositoryURL").unwrap();
    assert_eq!((&of_url["reason"], &of_url["message"]), (&"InvalidRepositoryUrl".into(), &LOGIN_IN_URL.into()));
    assert!(!said.to_string().contains("hunter2"));
    assert!(fixture.all::<RepositoryCredentials>().await.is_empty());
}

#[tokio::test]
async fn an_accepted_credential_is_stored_and_sent() {
    let mut fixture = FlowFixture::new().await;
    let told = answered(&mut fixture, &secret("pw"), CredentialOutcome::Valid).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["reason"], "RepositoryCredentialUpToDate");
    let [row] = &*fixture.all::<RepositoryCredentials>().await else { panic!("one credential") };
    assert_eq!(row.url, "https://Git.example/Shop/Web.git", "as the tenant wrote it");
    let [operation] = &*fixture.all::<Operation>().await else { panic!("one Operation") };
    assert_eq!(
        (operation.resource, &operation.resource_id),
        (OperationResource::RepositoryCredentials, &row.id.to_string())
    );
    let (_, question) = decide(&mut fixture, Some(&web()), Some(&secret("pw")), None).await;
    assert_eq!(question, None, "what is stored is not asked about");
}

/// Defect 1: managed-gitops sends the credential once, to a namespace that no agent watches.
#[tokio::test]
async fn guarantees_a_rotated_credential_is_sent() {
    let mut fixture = FlowFixture::new().await;
    answered(&mut fixture, &secret("old"), CredentialOutcome::Valid).await;
    fixture.complete(Ok(())).await;
    answered(&mut fixture, &secret("new"), CredentialOutcome::Valid).await;
    let [row] = &*fixture.all::<RepositoryCredentials>().await else { panic!("one credential") };
    assert_eq!(row.password.as_ref().unwrap().expose(), "new");
    let waiting: Vec<Operation> =
        fixture.all::<Operation>().await.into_iter().filter(|row| row.state == OperationState::Waiting).collect();
    let [operation] = &*waiting else { panic!("{waiting:?}") };
    assert_eq!(operation.instance, fixture.instance.id);
}

/// A credential is used by all placements of its tenant, which may be on several instances.
#[tokio::test]
async fn every_instance_of_a_tenant_gets_an_operation() {
    let mut fixture = FlowFixture::new().await;
    let other = EngineInstance { id: "other".into(), namespace: "argocd-2".into(), ..fixture.instance.clone() };
    fixture.ledger.commit(&[switchboard_sql::RowChange::insert(&other)]).await.unwrap();
    fixture.used_by.insert(other.id.clone());
    answered(&mut fixture, &secret("pw"), CredentialOutcome::Valid).await;
    let told: Vec<EngineInstanceId> = fixture.all::<Operation>().await.into_iter().map(|row| row.instance).collect();
    assert!(told.len() == 2 && told.contains(&other.id) && told.contains(&fixture.instance.id), "{told:?}");
}

/// managed-gitops repeats the check every ten seconds forever.
#[tokio::test]
async fn guarantees_a_rejected_login_is_not_rechecked() {
    let mut fixture = FlowFixture::new().await;
    let (_, question) = decide(&mut fixture, Some(&web()), Some(&secret("bad")), None).await;
    let question = question.unwrap();
    assert!(!format!("{question:?}").contains("bad"));
    let answer = CredentialCheckResult { digest: question.digest, outcome: CredentialOutcome::InvalidCredentials };
    for _ in 0..3 {
        let (told, question) = decide(&mut fixture, Some(&web()), Some(&secret("bad")), Some(&answer)).await;
        assert_eq!(question, None);
        assert_eq!(status(&told).unwrap()["conditions"][1]["reason"], "InvalidCredentials");
    }
    assert!(fixture.all::<RepositoryCredentials>().await.is_empty(), "and it is not stored");
    let (_, question) = decide(&mut fixture, Some(&web()), Some(&secret("good")), Some(&answer)).await;
    assert!(question.is_some());
}

#[tokio::test]
async fn an_unusable_secret_is_reported() {
    let mut fixture = FlowFixture::new().await;
    let mut unnamed = web();
    unnamed.spec.secret.clear();
    let opaque = CredentialSecret { r#type: "Opaque".into(), ..secret("pw") };
    let empty = secret("");
    let resource = web();
    let cases = [
        (&unnamed, None, "SecretNotSpecified"),
        (&resource, None, "SecretNotFound"),
        (&resource, Some(&opaque), "SecretInvalidType"),
        (&resource, Some(&empty), "InvalidCredentials"),
    ];
    for (resource, secret, reason) in cases {
        let (told, question) = decide(&mut fixture, Some(resource), secret, None).await;
        assert_eq!(question, None);
        assert_eq!(status(&told).unwrap()["conditions"][0]["reason"], reason);
    }
}

/// The URL has the same rules as that of a deployment, because both are stored and passed to git.
#[tokio::test]
async fn an_invalid_url_is_rejected_without_a_check() {
    let mut fixture = FlowFixture::new().await;
    let long = format!("https://h/{}", "x".repeat(2039));
    for (url, said) in [
        ("https://h/x;y", "spec.repository contains a character that is not supported: ';'"),
        ("https://h/x\ny", "spec.repository contains a character that is not supported: '\\n'"),
        (long.as_str(), "spec.repository has 2049 characters, and at most 2048 are supported"),
    ] {
        let mut odd = web();
        odd.spec.repository = url.into();
        let (told, question) = decide(&mut fixture, Some(&odd), Some(&secret("pw")), None).await;
        assert_eq!(question, None, "{url}");
        let conditions = &status(&told).unwrap()["conditions"];
        for at in 0..3 {
            assert_eq!(conditions[at]["reason"], "InvalidRepositoryUrl");
            assert_eq!(conditions[at]["message"], said);
        }
    }
    assert!(fixture.all::<RepositoryCredentials>().await.is_empty());
}

#[tokio::test]
async fn a_login_that_exceeds_its_column_is_rejected_without_a_check() {
    let mut fixture = FlowFixture::new().await;
    for odd in
        [CredentialSecret { username: "x".repeat(257), ..secret("pw") }, secret("p\0w"), secret(&"x".repeat(65_537))]
    {
        let (told, question) = decide(&mut fixture, Some(&web()), Some(&odd), None).await;
        assert_eq!(question, None);
        let error = &status(&told).unwrap()["conditions"][0];
        assert_eq!(error["reason"], "InvalidCredentials");
        assert!(!error["message"].as_str().unwrap().contains("xxxx"), "{error}");
    }
}

#[tokio::test]
async fn a_deleted_credential_is_removed() {
    let mut fixture = FlowFixture::new().await;
    answered(&mut fixture, &secret("pw"), CredentialOutcome::Valid).await;
    fixture.complete(Ok(())).await;
    decide(&mut fixture, None, None, None).await;
    assert!(fixture.all::<RepositoryCredentials>().await.is_empty() && fixture.all::<ApiToDatabase>().await.is_empty());
    assert_eq!(fixture.all::<Operation>().await.len(), 2);
}

#[tokio::test]
async fn a_working_credential_that_fails_is_reported_and_kept() {
    let mut fixture = FlowFixture::new().await;
    let (_, question) = decide(&mut fixture, Some(&web()), Some(&secret("pw")), None).await;
    let digest = question.unwrap().digest;
    let answer = |outcome| CredentialCheckResult { digest: digest.clone(), outcome };
    decide(&mut fixture, Some(&web()), Some(&secret("pw")), Some(&answer(CredentialOutcome::Valid))).await;
    let refused = answer(CredentialOutcome::InvalidCredentials);
    let (told, question) = decide(&mut fixture, Some(&web()), Some(&secret("pw")), Some(&refused)).await;
    assert_eq!((question, told.changes.len()), (None, 0), "rows stay");
    let mut live = web();
    live.status = serde_json::from_value(status(&told).unwrap().clone()).unwrap();
    // After a restart the result is lost, and the reported condition is used.
    let (again, question) = decide(&mut fixture, Some(&live), Some(&secret("pw")), None).await;
    assert!(again.writes.is_empty() && question.is_some(), "{again:?}");
    let (told, _) =
        decide(&mut fixture, Some(&live), Some(&secret("pw")), Some(&answer(CredentialOutcome::Valid))).await;
    assert_eq!(status(&told).unwrap()["conditions"][2]["status"], "True");
    assert!(told.changes.is_empty(), "{told:?}");
}
