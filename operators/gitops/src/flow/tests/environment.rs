use serde_json::json;
use switchboard_ledger::ids::*;
use switchboard_ledger::rows::left::ServiceAccount;
use switchboard_ledger::rows::*;
use switchboard_ledger::{Change, Filter, Key};

use super::world::{START, UID, World, status, web};
use crate::flow::deployment::Environment;
use crate::flow::environment::account::GIVE_UP_MS;
use crate::flow::environment::{self, Answer, Known, Question, Questions, SecretData};
use crate::flow::recheck::Asking;
use crate::flow::{Decision, Now};
use crate::kinds::environment::{EnvironmentSpec, Reason, SECRET_TYPE};
use crate::kinds::{ManagedEnvironment as Resource, Meta};

fn stage(install: bool) -> Resource {
    Resource {
        metadata: Meta::named("shop", "stage", "env-uid"),
        spec: EnvironmentSpec {
            api_url: "https://api.example".into(),
            credentials_secret: "access".into(),
            create_new_service_account: install,
            ..Default::default()
        },
        status: Default::default(),
    }
}

fn secret(token: &str) -> SecretData {
    let text = format!(
        "clusters: [{{name: c, cluster: {{server: https://api.example, certificate-authority-data: Q0E=}}}}]\n\
         contexts: [{{name: k, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{token: {token}}}}}]\n"
    );
    SecretData { r#type: SECRET_TYPE.into(), kubeconfig: Some(text.into()) }
}

async fn decide(
    world: &mut World,
    resource: Option<&Resource>,
    secret: Option<&SecretData>,
    answer: Option<&Answer>,
) -> (Decision, Option<Question>) {
    let (decision, questions) = decide_both(world, resource, secret, answer, None).await;
    (decision, questions.verify.now())
}

async fn decide_both(
    world: &mut World,
    resource: Option<&Resource>,
    secret: Option<&SecretData>,
    answer: Option<&Answer>,
    retired: Option<&Answer>,
) -> (Decision, Questions) {
    let mut known = Vec::new();
    for mapping in world.all::<ApiToDatabase>().await {
        let environment: ManagedEnvironment =
            world.ledger.get(&Key::from(&*mapping.relation_key)).await.unwrap().unwrap();
        let of = |column| Filter::all().is(column, &environment.id);
        known.push(Known {
            credentials: world.ledger.get(&Key::from(&environment.credentials)).await.unwrap().unwrap(),
            permissions: world.ledger.list(&of("managed_environment_id")).await.unwrap(),
            accesses: world.ledger.list(&of("clusteraccess_managed_environment_id")).await.unwrap(),
            applications: world.ledger.list(&of("managed_environment_id")).await.unwrap(),
            environment,
            mapping,
        });
    }
    let operations = world.all::<Operation>().await;
    let accesses = world.all::<ClusterAccess>().await;
    let accounts = world.all::<ServiceAccount>().await;
    let instances = accesses.into_iter().map(|access| access.instance).collect();
    let mut id = world.ids();
    let (decision, questions) = environment::decide(
        &environment::Input {
            now: Now { moment: world.now, text: "2026-11-16T08:00:00Z" },
            namespace: &world.namespace,
            user: &world.user,
            environment: resource,
            secret,
            known: &known,
            operations: &operations,
            instances: &instances,
            accounts: &accounts,
            answer,
            retired,
        },
        &mut id,
    );
    world.ledger.commit(&decision.changes).await.unwrap();
    (decision, questions)
}

/// Asks what is to be asked and answers that it works.
async fn verified(world: &mut World, resource: &Resource, secret: &SecretData, token: Option<&str>) -> Decision {
    let (_, question) = decide(world, Some(resource), Some(secret), None).await;
    let Some(Question::Verify { digest, .. }) = question else { panic!("{question:?}") };
    let answer = Answer::Verified { digest, token: token.map(Into::into) };
    decide(world, Some(resource), Some(secret), Some(&answer)).await.0
}

async fn credentials(world: &World) -> ClusterCredentials {
    let [mapping] = &*world.all::<ApiToDatabase>().await else { panic!("one environment") };
    let row: ManagedEnvironment = world.ledger.get(&Key::from(&*mapping.relation_key)).await.unwrap().unwrap();
    world.ledger.get(&Key::from(&row.credentials)).await.unwrap().unwrap()
}

/// Deploys to the environment, and lets the agent be done with it.
async fn deploy(world: &mut World) {
    let environment = ManagedEnvironmentId::from(&*world.all::<ApiToDatabase>().await[0].relation_key);
    let mut resource = web(UID);
    resource.spec.destination.environment = "stage".into();
    resource.spec.destination.namespace = "n".into();
    world.decide("web", Some(&resource), Some(Environment::Of(&environment))).await;
    world.complete(Ok(())).await;
}

#[tokio::test]
async fn a_kubeconfig_that_no_row_holds_is_told_and_not_asked() {
    let mut world = World::new().await;
    let long = secret(&"x".repeat(65_537));
    let (told, question) = decide(&mut world, Some(&stage(false)), Some(&long), None).await;
    assert_eq!(question, None);
    let said = &status(&told).unwrap()["conditions"][0];
    assert_eq!(said["reason"], Reason::UnableToCreateClusterCredentials.as_str());
    assert!(!said["message"].as_str().unwrap().contains("xxxx"), "{said}");
}

#[tokio::test]
async fn what_is_wrong_is_told_in_a_word_and_in_words() {
    let mut world = World::new().await;
    let resource = stage(false);
    let other = SecretData { r#type: "Opaque".into(), ..secret("t") };
    let empty = SecretData { kubeconfig: None, ..secret("t") };
    let broken = SecretData { kubeconfig: Some("{".into()), ..secret("t") };
    let cases = [
        // The original says nothing of a Secret that is missing.
        (None, "KubernetesError", "secret 'access' referenced"),
        (Some(&other), "InvalidSecretType", "invalid secret type: Opaque"),
        (Some(&empty), "MissingKubeConfigField", "missing kubeconfig field in Secret"),
        (Some(&broken), "UnableToParseKubeconfigData", "json parse error"),
    ];
    for (secret, reason, message) in cases {
        let (decision, question) = decide(&mut world, Some(&resource), secret, None).await;
        assert_eq!(question, None);
        let condition = &status(&decision).unwrap()["conditions"][0];
        assert_eq!(
            (&condition["type"], &condition["reason"]),
            (&"ConnectionInitializationSucceeded".into(), &reason.into())
        );
        assert!(condition["message"].as_str().unwrap().contains(message), "{condition}");
    }
}

#[tokio::test]
async fn an_environment_that_answers_gets_its_rows() {
    let mut world = World::new().await;
    let told = verified(&mut world, &stage(false), &secret("tok"), None).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["reason"], "Succeeded");
    let row = credentials(&world).await;
    assert_eq!(row.bearer_token.as_ref().unwrap().expose(), "tok");
    assert_eq!(row.ca_data.as_deref(), Some("CA"), "defect 7");
    assert_eq!((row.kube_config, row.own_service_account), (None, false), "no more is kept than is used");
    assert_eq!(world.all::<AppProjectManagedEnvironment>().await.len(), 1);
    let (again, question) = decide(&mut world, Some(&stage(false)), Some(&secret("tok")), None).await;
    assert!(again.changes.is_empty() && question.is_none(), "nothing is asked twice");
}

#[tokio::test]
async fn a_cluster_that_refuses_is_not_asked_again_and_nothing_is_stored() {
    let mut world = World::new().await;
    let (_, question) = decide(&mut world, Some(&stage(false)), Some(&secret("bad")), None).await;
    let Some(Question::Verify { digest, access, .. }) = question else { panic!("{question:?}") };
    assert!(!format!("{access:?}").contains("bad"), "no credential in a log");
    let answer = Answer::Refused {
        digest,
        reason: Reason::UnableToValidateClusterCredentials,
        message: "Get \"https://api.example/api\": dial tcp: lookup api.example: no such host".into(),
        token: None,
    };
    let (told, question) = decide(&mut world, Some(&stage(false)), Some(&secret("bad")), Some(&answer)).await;
    assert_eq!(question, None);
    assert_eq!(status(&told).unwrap()["conditions"][0]["status"], "Unknown");
    assert!(world.all::<ApiToDatabase>().await.is_empty());
    // Another credential is another question.
    let (_, question) = decide(&mut world, Some(&stage(false)), Some(&secret("good")), Some(&answer)).await;
    assert!(question.is_some());
}

/// What is told of a cluster's answer and of what the tenant wrote goes by one table.
#[tokio::test]
async fn what_is_wrong_is_told_with_the_status_of_its_reason() {
    let mut world = World::new().await;
    let (_, question) = decide(&mut world, Some(&stage(false)), Some(&secret("bad")), None).await;
    let Some(Question::Verify { digest, .. }) = question else { panic!("{question:?}") };
    for reason in Reason::ALL.into_iter().filter(|reason| *reason != Reason::Succeeded) {
        let answer = Answer::Refused { digest: digest.clone(), reason, message: "no".into(), token: None };
        let (told, _) = decide(&mut world, Some(&stage(false)), Some(&secret("bad")), Some(&answer)).await;
        let said = &status(&told).unwrap()["conditions"][0];
        assert_eq!((&said["reason"], &said["status"]), (&json!(reason.as_str()), &json!(reason.status())));
    }
    let (mut query, mut namespaces) = (stage(false), stage(false));
    query.spec.api_url = "https://api.example?x=1".into();
    namespaces.spec.namespaces = vec!["UPPER".into()];
    let opaque = SecretData { r#type: "Opaque".into(), ..secret("t") };
    for (resource, secret, status_word) in
        [(query, secret("t"), "Unknown"), (namespaces, secret("t"), "Unknown"), (stage(false), opaque, "False")]
    {
        let (told, _) = decide(&mut world, Some(&resource), Some(&secret), None).await;
        assert_eq!(status(&told).unwrap()["conditions"][0]["status"], status_word);
    }
}

/// Defect 8: the original notices neither.
#[tokio::test]
async fn guarantees_a_rotation_is_noticed() {
    let mut world = World::new().await;
    verified(&mut world, &stage(false), &secret("old"), None).await;
    deploy(&mut world).await;
    verified(&mut world, &stage(false), &secret("new"), None).await;
    assert_eq!(credentials(&world).await.bearer_token.unwrap().expose(), "new");
    let asked = Filter::all().is("resource_type", OperationResource::ManagedEnvironment);
    assert_eq!(world.ledger.list::<Operation>(&asked).await.unwrap().len(), 1, "Argo CD is told at once");
    let (_, question) = decide(&mut world, Some(&stage(true)), Some(&secret("new")), None).await;
    assert!(matches!(question, Some(Question::Verify { install: true, .. })), "{question:?}");
}

/// Defect 8: the original leaves a cluster-admin behind.
#[tokio::test]
async fn guarantees_what_is_ours_is_removed_first() {
    let mut world = World::new().await;
    verified(&mut world, &stage(true), &secret("admin"), Some("of-ours")).await;
    assert_eq!(credentials(&world).await.bearer_token.unwrap().expose(), "of-ours");
    let (_, asked) = decide_both(&mut world, None, None, None, None).await;
    assert!(world.all::<ApiToDatabase>().await.is_empty(), "nothing of it is used any more");
    retired(&mut world, asked).await;
}

/// The account that is to go, once it is gone.
async fn retired(world: &mut World, asked: Questions) {
    let Some(Question::Retire { account }) = asked.retire else { panic!("{asked:?}") };
    assert!(account.kube_config.is_some(), "what it takes to do it");
    // And when that works no longer, for whatever the account was made.
    assert_eq!(account.token.map(|token| token.expose().to_string()), Some("of-ours".to_string()));
    let answer = Answer::Retired { account: account.id };
    let (_, asked) = decide_both(world, None, None, None, Some(&answer)).await;
    assert_eq!((asked, world.all::<ServiceAccount>().await), (Questions::default(), vec![]));
}

#[tokio::test]
async fn a_service_account_that_is_not_wanted_any_more_goes_once_another_credential_works() {
    let elsewhere = {
        let mut stage = stage(true);
        stage.spec.api_url = "https://other.example".into();
        stage
    };
    for next in [stage(false), elsewhere] {
        let mut world = World::new().await;
        verified(&mut world, &stage(true), &secret("admin"), Some("of-ours")).await;
        let server = &next.spec.api_url;
        let other = SecretData {
            kubeconfig: secret("admin")
                .kubeconfig
                .map(|text| text.expose().replace("https://api.example", server).into()),
            ..secret("admin")
        };
        let (_, asked) = decide_both(&mut world, Some(&next), Some(&other), None, None).await;
        assert_eq!(asked.retire, None, "Argo CD is that account yet");
        let stored = verified(&mut world, &next, &other, Some("of-ours")).await;
        assert!(stored.again_ms.is_some(), "it is looked at again, though nothing else changes");
        let (_, asked) = decide_both(&mut world, Some(&next), Some(&other), None, None).await;
        let Some(Question::Retire { account }) = asked.retire else { panic!("{asked:?}") };
        assert_eq!(account.host, "https://api.example");
        let answer = Answer::Retired { account: account.id };
        decide_both(&mut world, Some(&next), Some(&other), None, Some(&answer)).await;
        let left: Vec<String> = world.all::<ServiceAccount>().await.into_iter().map(|one| one.host).collect();
        assert_eq!(left, if next.spec.create_new_service_account { vec![server.clone()] } else { vec![] });
    }
}

#[tokio::test]
async fn a_service_account_that_was_made_for_nothing_goes_as_well() {
    let mut world = World::new().await;
    let (_, question) = decide(&mut world, Some(&stage(true)), Some(&secret("admin")), None).await;
    let Some(Question::Verify { digest, install: true, .. }) = question else { panic!("{question:?}") };
    assert_eq!(world.all::<ServiceAccount>().await.len(), 1, "noted before it is made");
    let (reason, message) = (Reason::UnableToValidateClusterCredentials, "no such namespace".to_string());
    let answer = Answer::Refused { digest, reason, message, token: Some("of-ours".into()) };
    decide(&mut world, Some(&stage(true)), Some(&secret("admin")), Some(&answer)).await;
    let (_, asked) = decide_both(&mut world, None, None, None, None).await;
    retired(&mut world, asked).await;
}

#[tokio::test]
async fn a_target_that_does_not_let_go_is_asked_again_for_long_and_not_for_ever() {
    let mut world = World::new().await;
    verified(&mut world, &stage(true), &secret("admin"), Some("of-ours")).await;
    let (_, asked) = decide_both(&mut world, None, None, None, None).await;
    let Some(Question::Retire { account }) = asked.retire else { panic!("{asked:?}") };
    let kept = Answer::Kept { account: account.id };
    let (_, asked) = decide_both(&mut world, None, None, None, Some(&kept)).await;
    assert_eq!(asked.retire, None, "not at once");
    world.now = world.now.plus_ms(GIVE_UP_MS);
    let (_, asked) = decide_both(&mut world, None, None, None, None).await;
    assert!(asked.retire.is_some());
    // What is wanted anew is made when the old one is gone, not while it is being removed.
    let (_, question) = decide(&mut world, Some(&stage(true)), Some(&secret("admin")), None).await;
    assert_eq!(question, None);
    world.now = world.now.plus_ms(1);
    let (_, question) = decide(&mut world, Some(&stage(true)), Some(&secret("admin")), None).await;
    assert!(question.is_some());
    assert_eq!(world.all::<ServiceAccount>().await.len(), 1);
}

/// A database of an earlier version.
#[tokio::test]
async fn a_service_account_without_a_row_of_its_own_gets_one() {
    let mut world = World::new().await;
    verified(&mut world, &stage(true), &secret("admin"), Some("of-ours")).await;
    for account in world.all::<ServiceAccount>().await {
        world.ledger.commit(&[Change::delete(&account)]).await.unwrap();
    }
    let (_, asked) = decide_both(&mut world, None, None, None, None).await;
    retired(&mut world, asked).await;
}

/// A database of an earlier version.
#[tokio::test]
async fn a_service_account_without_a_token_gets_the_one_that_argo_cd_uses() {
    let mut world = World::new().await;
    verified(&mut world, &stage(true), &secret("admin"), Some("of-ours")).await;
    for account in world.all::<ServiceAccount>().await {
        let without = ServiceAccount { token: None, ..account.clone() };
        world.ledger.commit(&[Change::update(&account, &without)]).await.unwrap();
    }
    let (_, asked) = decide_both(&mut world, None, None, None, None).await;
    retired(&mut world, asked).await;
}

/// Which rows are to be looked at.
async fn asked(world: &World) -> Vec<(String, String)> {
    let open = Filter::all().is("state", OperationState::Waiting);
    let rows: Vec<Operation> = world.ledger.list(&open).await.unwrap();
    let mut asked: Vec<_> = rows.into_iter().map(|row| (row.resource.as_str().to_string(), row.resource_id)).collect();
    asked.sort_unstable();
    asked
}

#[tokio::test]
async fn an_environment_that_is_gone_leaves_applications_without_a_target() {
    let mut world = World::new().await;
    verified(&mut world, &stage(false), &secret("tok"), None).await;
    deploy(&mut world).await;
    decide(&mut world, None, None, None).await;
    let [application] = &*world.all::<Application>().await else { panic!("one Application") };
    assert_eq!(application.environment, None);
    let application = ("Application".to_string(), application.id.to_string());
    assert!(asked(&world).await.contains(&application));
    assert_eq!(asked(&world).await.len(), 3, "its Secret and the tenant's project as well");
    assert!(world.all::<AppProjectManagedEnvironment>().await.is_empty());
}

/// Defect 12: the Secret of an environment without Applications is never removed.
#[tokio::test]
async fn an_environment_without_applications_is_forgotten_by_argo_cd_as_well() {
    let mut world = World::new().await;
    verified(&mut world, &stage(false), &secret("tok"), None).await;
    let access = ClusterAccess {
        user: world.user.id.clone(),
        environment: ManagedEnvironmentId::from(&*world.all::<ApiToDatabase>().await[0].relation_key),
        instance: world.instance.id.clone(),
        created_on: START,
    };
    world.ledger.commit(&[Change::insert(&access)]).await.unwrap();
    decide(&mut world, None, None, None).await;
    let environment = ("ManagedEnvironment".to_string(), access.environment.to_string());
    // Nothing of the tenant's may be deployed there any longer: its project is looked at by the tenant's id.
    let project = ("Application".to_string(), world.user.id.to_string());
    assert_eq!(asked(&world).await, [project, environment]);
}

#[tokio::test]
async fn guarantees_what_worked_is_tried_again() {
    let mut world = World::new().await;
    verified(&mut world, &stage(true), &secret("admin"), Some("of-ours")).await;
    let (_, asked) = decide_both(&mut world, Some(&stage(true)), Some(&secret("admin")), None, None).await;
    let Asking::Later(Question::Verify { digest, access, install, .. }) = asked.verify else { panic!("{asked:?}") };
    assert!(!install);
    assert_eq!(access.token.unwrap().expose(), "of-ours", "as whom Argo CD deploys");
    let reason = Reason::UnableToValidateClusterCredentials;
    let refused = Answer::Refused { digest: digest.clone(), reason, message: "Unauthorized".into(), token: None };
    let (told, asked) = decide_both(&mut world, Some(&stage(true)), Some(&secret("admin")), Some(&refused), None).await;
    assert!(told.changes.is_empty() && matches!(asked.verify, Asking::Later(_)), "what is deployed stays");
    let conditions = &status(&told).unwrap()["conditions"];
    assert_eq!((&conditions[0]["status"], &conditions[0]["message"]), (&"Unknown".into(), &"Unauthorized".into()));
    // Whoever is started anew has lost the answer, and believes what was told.
    let mut live = stage(true);
    live.status = serde_json::from_value(status(&told).unwrap().clone()).unwrap();
    let (again, asked) = decide_both(&mut world, Some(&live), Some(&secret("admin")), None, None).await;
    assert!(again.writes.is_empty() && matches!(asked.verify, Asking::Now(_)), "{again:?}");
    let good = Answer::Verified { digest, token: None };
    let (told, _) = decide_both(&mut world, Some(&live), Some(&secret("admin")), Some(&good), None).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["status"], "True");
    assert!(told.changes.is_empty(), "{told:?}");
}
