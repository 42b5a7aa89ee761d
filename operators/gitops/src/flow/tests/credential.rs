use switchboard_ledger::Key;
use switchboard_ledger::ids::*;
use switchboard_ledger::rows::*;

use super::world::{World, status};
use crate::flow::credential::{self, Answer, Known, Question, SecretData};
use crate::flow::{Decision, Now};
use crate::kinds::credential::{CredentialSpec, LOGIN_IN_URL, Outcome, SECRET_TYPE};
use crate::kinds::{Meta, RepositoryCredential};

fn web() -> RepositoryCredential {
    RepositoryCredential {
        metadata: Meta::named("shop", "web-repo", "cred-uid"),
        spec: CredentialSpec { repository: "https://Git.example/Shop/Web.git".into(), secret: "login".into() },
        status: Default::default(),
    }
}

fn secret(password: &str) -> SecretData {
    SecretData {
        r#type: SECRET_TYPE.into(),
        username: "bot".into(),
        password: password.into(),
        ssh_key: Default::default(),
    }
}

async fn decide(
    world: &mut World,
    resource: Option<&RepositoryCredential>,
    secret: Option<&SecretData>,
    answer: Option<&Answer>,
) -> (Decision, Option<Question>) {
    let mut known = Vec::new();
    for mapping in world.all::<ApiToDatabase>().await {
        let row = world.ledger.get(&Key::from(&*mapping.relation_key)).await.unwrap().unwrap();
        known.push(Known { mapping, row });
    }
    let operations = world.all::<Operation>().await;
    let mut id = world.ids();
    let (decision, asking) = credential::decide(
        &credential::Input {
            now: Now { moment: world.now, text: "2026-11-16T08:00:00Z" },
            namespace: &world.namespace,
            user: &world.user,
            credential: resource,
            secret,
            known: &known,
            instance: &world.instance,
            used_by: &world.used_by,
            operations: &operations,
            answer,
        },
        &mut id,
    );
    world.ledger.commit(&decision.changes).await.unwrap();
    (decision, asking.now())
}

async fn answered(world: &mut World, secret: &SecretData, outcome: Outcome) -> Decision {
    let (_, question) = decide(world, Some(&web()), Some(secret), None).await;
    let answer = Answer { digest: question.unwrap().digest, outcome };
    decide(world, Some(&web()), Some(secret), Some(&answer)).await.0
}

#[tokio::test]
async fn a_url_with_a_login_is_neither_asked_nor_stored() {
    let mut world = World::new().await;
    let mut asked = web();
    asked.spec.repository = "https://robot:hunter2@git.example/Shop/Web.git".into();
    let (told, question) = decide(&mut world, Some(&asked), Some(&secret("pw")), None).await;
    assert_eq!(question, None);
    let said = &status(&told).unwrap()["conditions"];
    let of_url = said.as_array().unwrap().iter().find(|one| one["type"] == "ValidRepositoryURL").unwrap();
    assert_eq!((&of_url["reason"], &of_url["message"]), (&"InvalidRepositoryUrl".into(), &LOGIN_IN_URL.into()));
    assert!(!said.to_string().contains("hunter2"));
    assert!(world.all::<RepositoryCredentials>().await.is_empty());
}

#[tokio::test]
async fn a_credential_that_is_taken_is_stored_and_sent() {
    let mut world = World::new().await;
    let told = answered(&mut world, &secret("pw"), Outcome::Valid).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["reason"], "RepositoryCredentialUpToDate");
    let [row] = &*world.all::<RepositoryCredentials>().await else { panic!("one credential") };
    assert_eq!(row.url, "https://Git.example/Shop/Web.git", "as the tenant wrote it");
    let [operation] = &*world.all::<Operation>().await else { panic!("one Operation") };
    assert_eq!(
        (operation.resource, &operation.resource_id),
        (OperationResource::RepositoryCredentials, &row.id.to_string())
    );
    let (_, question) = decide(&mut world, Some(&web()), Some(&secret("pw")), None).await;
    assert_eq!(question, None, "what is stored is not asked about");
}

/// Defect 1: the original sends it where nobody listens, and never again.
#[tokio::test]
async fn guarantees_a_rotated_credential_is_sent() {
    let mut world = World::new().await;
    answered(&mut world, &secret("old"), Outcome::Valid).await;
    world.complete(Ok(())).await;
    answered(&mut world, &secret("new"), Outcome::Valid).await;
    let [row] = &*world.all::<RepositoryCredentials>().await else { panic!("one credential") };
    assert_eq!(row.password.as_ref().unwrap().expose(), "new");
    let waiting: Vec<Operation> =
        world.all::<Operation>().await.into_iter().filter(|row| row.state == OperationState::Waiting).collect();
    let [operation] = &*waiting else { panic!("{waiting:?}") };
    assert_eq!(operation.instance, world.instance.id);
}

/// A credential serves all units of its tenant, and those may be on several instances.
#[tokio::test]
async fn every_instance_that_a_tenant_uses_is_told() {
    let mut world = World::new().await;
    let other = EngineInstance { id: "other".into(), namespace: "argocd-2".into(), ..world.instance.clone() };
    world.ledger.commit(&[switchboard_ledger::Change::insert(&other)]).await.unwrap();
    world.used_by.insert(other.id.clone());
    answered(&mut world, &secret("pw"), Outcome::Valid).await;
    let told: Vec<EngineInstanceId> = world.all::<Operation>().await.into_iter().map(|row| row.instance).collect();
    assert!(told.len() == 2 && told.contains(&other.id) && told.contains(&world.instance.id), "{told:?}");
}

/// The original asks every ten seconds, for ever.
#[tokio::test]
async fn guarantees_a_repository_is_not_hammered() {
    let mut world = World::new().await;
    let (_, question) = decide(&mut world, Some(&web()), Some(&secret("bad")), None).await;
    let question = question.unwrap();
    assert!(!format!("{question:?}").contains("bad"));
    let answer = Answer { digest: question.digest, outcome: Outcome::InvalidCredentials };
    for _ in 0..3 {
        let (told, question) = decide(&mut world, Some(&web()), Some(&secret("bad")), Some(&answer)).await;
        assert_eq!(question, None);
        assert_eq!(status(&told).unwrap()["conditions"][1]["reason"], "InvalidCredentials");
    }
    assert!(world.all::<RepositoryCredentials>().await.is_empty(), "and it is not stored");
    let (_, question) = decide(&mut world, Some(&web()), Some(&secret("good")), Some(&answer)).await;
    assert!(question.is_some());
}

#[tokio::test]
async fn a_secret_that_will_not_do_is_told() {
    let mut world = World::new().await;
    let mut unnamed = web();
    unnamed.spec.secret.clear();
    let opaque = SecretData { r#type: "Opaque".into(), ..secret("pw") };
    let empty = secret("");
    let resource = web();
    let cases = [
        (&unnamed, None, "SecretNotSpecified"),
        (&resource, None, "SecretNotFound"),
        (&resource, Some(&opaque), "SecretInvalidType"),
        (&resource, Some(&empty), "InvalidCredentials"),
    ];
    for (resource, secret, reason) in cases {
        let (told, question) = decide(&mut world, Some(resource), secret, None).await;
        assert_eq!(question, None);
        assert_eq!(status(&told).unwrap()["conditions"][0]["reason"], reason);
    }
}

/// A URL is judged as that of a deployment is: both are written down, and handed to git.
#[tokio::test]
async fn a_url_that_will_not_do_is_told_and_not_asked() {
    let mut world = World::new().await;
    let long = format!("https://h/{}", "x".repeat(2039));
    for (url, said) in [
        ("https://h/x;y", "spec.repository contains a character that is not supported: ';'"),
        ("https://h/x\ny", "spec.repository contains a character that is not supported: '\\n'"),
        (long.as_str(), "spec.repository has 2049 characters, and at most 2048 are supported"),
    ] {
        let mut odd = web();
        odd.spec.repository = url.into();
        let (told, question) = decide(&mut world, Some(&odd), Some(&secret("pw")), None).await;
        assert_eq!(question, None, "{url}");
        let conditions = &status(&told).unwrap()["conditions"];
        for at in 0..3 {
            assert_eq!(conditions[at]["reason"], "InvalidRepositoryUrl");
            assert_eq!(conditions[at]["message"], said);
        }
    }
    assert!(world.all::<RepositoryCredentials>().await.is_empty());
}

#[tokio::test]
async fn a_login_that_no_row_holds_is_told_and_not_asked() {
    let mut world = World::new().await;
    for odd in [SecretData { username: "x".repeat(257), ..secret("pw") }, secret("p\0w"), secret(&"x".repeat(65_537))] {
        let (told, question) = decide(&mut world, Some(&web()), Some(&odd), None).await;
        assert_eq!(question, None);
        let error = &status(&told).unwrap()["conditions"][0];
        assert_eq!(error["reason"], "InvalidCredentials");
        assert!(!error["message"].as_str().unwrap().contains("xxxx"), "{error}");
    }
}

#[tokio::test]
async fn a_credential_that_is_gone_is_removed() {
    let mut world = World::new().await;
    answered(&mut world, &secret("pw"), Outcome::Valid).await;
    world.complete(Ok(())).await;
    decide(&mut world, None, None, None).await;
    assert!(world.all::<RepositoryCredentials>().await.is_empty() && world.all::<ApiToDatabase>().await.is_empty());
    assert_eq!(world.all::<Operation>().await.len(), 2);
}

#[tokio::test]
async fn what_worked_and_does_no_longer_is_told_and_kept() {
    let mut world = World::new().await;
    let (_, question) = decide(&mut world, Some(&web()), Some(&secret("pw")), None).await;
    let digest = question.unwrap().digest;
    let answer = |outcome| Answer { digest: digest.clone(), outcome };
    decide(&mut world, Some(&web()), Some(&secret("pw")), Some(&answer(Outcome::Valid))).await;
    let refused = answer(Outcome::InvalidCredentials);
    let (told, question) = decide(&mut world, Some(&web()), Some(&secret("pw")), Some(&refused)).await;
    assert_eq!((question, told.changes.len()), (None, 0), "rows stay");
    let mut live = web();
    live.status = serde_json::from_value(status(&told).unwrap().clone()).unwrap();
    // Whoever is started anew has lost the answer, and believes what was told.
    let (again, question) = decide(&mut world, Some(&live), Some(&secret("pw")), None).await;
    assert!(again.writes.is_empty() && question.is_some(), "{again:?}");
    let (told, _) = decide(&mut world, Some(&live), Some(&secret("pw")), Some(&answer(Outcome::Valid))).await;
    assert_eq!(status(&told).unwrap()["conditions"][2]["status"], "True");
    assert!(told.changes.is_empty(), "{told:?}");
}
