#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_sql::{Filter, RowChange, RowKey};

use crate::deployment::TargetEnvironment;
use crate::environment::kind::{EnvironmentReason, EnvironmentSpec, SECRET_TYPE};
use crate::environment::service_account::ABANDON_MS;
use crate::environment::{self, ClusterCheck, ClusterCheckResult, ClusterChecks, EnvironmentRows, KubeconfigSecret};
use crate::flow::fixture::{FlowFixture, START, UID, status, web};
use crate::flow::{DecisionTime, ReconcileResult};
use crate::ids::*;
use crate::kinds::{ManagedEnvironment as Resource, ObjectMeta};
use crate::recheck::CheckSchedule;
use crate::rows::tenant_clusters::ServiceAccount;
use crate::rows::*;

fn stage(install: bool) -> Resource {
    Resource {
        metadata: ObjectMeta::new("shop", "stage", "env-uid"),
        spec: EnvironmentSpec {
            api_url: "https://api.example".into(),
            credentials_secret: "access".into(),
            create_new_service_account: install,
            ..Default::default()
        },
        status: Default::default(),
    }
}

fn secret(token: &str) -> KubeconfigSecret {
    let text = format!(
        "clusters: [{{name: c, cluster: {{server: https://api.example, certificate-authority-data: Q0E=}}}}]\n\
         contexts: [{{name: k, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{token: {token}}}}}]\n"
    );
    KubeconfigSecret { r#type: SECRET_TYPE.into(), kubeconfig: Some(text.into()) }
}

async fn decide(
    fixture: &mut FlowFixture,
    resource: Option<&Resource>,
    secret: Option<&KubeconfigSecret>,
    answer: Option<&ClusterCheckResult>,
) -> (ReconcileResult, Option<ClusterCheck>) {
    let (decision, questions) = decide_both(fixture, resource, secret, answer, None).await;
    (decision, questions.verify.now())
}

async fn decide_both(
    fixture: &mut FlowFixture,
    resource: Option<&Resource>,
    secret: Option<&KubeconfigSecret>,
    answer: Option<&ClusterCheckResult>,
    retired: Option<&ClusterCheckResult>,
) -> (ReconcileResult, ClusterChecks) {
    let mut known = Vec::new();
    for mapping in fixture.all::<ApiToDatabase>().await {
        let environment: ManagedEnvironment =
            fixture.ledger.get(&RowKey::from(&*mapping.relation_key)).await.unwrap().unwrap();
        let of = |column| Filter::all().is(column, &environment.id);
        known.push(EnvironmentRows {
            credentials: fixture.ledger.get(&RowKey::from(&environment.credentials)).await.unwrap().unwrap(),
            permissions: fixture.ledger.list(&of("managed_environment_id")).await.unwrap(),
            accesses: fixture.ledger.list(&of("clusteraccess_managed_environment_id")).await.unwrap(),
            applications: fixture.ledger.list(&of("managed_environment_id")).await.unwrap(),
            environment,
            mapping,
        });
    }
    let operations = fixture.all::<Operation>().await;
    let accesses = fixture.all::<ClusterAccess>().await;
    let accounts = fixture.all::<ServiceAccount>().await;
    let instances = accesses.into_iter().map(|access| access.instance).collect();
    let mut id = fixture.ids();
    let (decision, questions) = environment::decide(
        &environment::EnvironmentInput {
            now: DecisionTime { timestamp: fixture.now, text: "2026-11-16T08:00:00Z" },
            namespace: &fixture.namespace,
            user: &fixture.user,
            environment: resource,
            secret,
            rows: &known,
            operations: &operations,
            instances: &instances,
            accounts: &accounts,
            check_result: answer,
            retire_result: retired,
        },
        &mut id,
    );
    fixture.ledger.commit(&decision.changes).await.unwrap();
    (decision, questions)
}

/// Runs the verification with a positive result.
async fn verified(
    fixture: &mut FlowFixture,
    resource: &Resource,
    secret: &KubeconfigSecret,
    token: Option<&str>,
) -> ReconcileResult {
    let (_, question) = decide(fixture, Some(resource), Some(secret), None).await;
    let Some(ClusterCheck::Verify { digest, .. }) = question else { panic!("{question:?}") };
    let answer = ClusterCheckResult::Verified { digest, token: token.map(Into::into) };
    decide(fixture, Some(resource), Some(secret), Some(&answer)).await.0
}

async fn credentials(fixture: &FlowFixture) -> ClusterCredentials {
    let [mapping] = &*fixture.all::<ApiToDatabase>().await else { panic!("one environment") };
    let row: ManagedEnvironment = fixture.ledger.get(&RowKey::from(&*mapping.relation_key)).await.unwrap().unwrap();
    fixture.ledger.get(&RowKey::from(&row.credentials)).await.unwrap().unwrap()
}

/// Deploys to the environment and completes the Operation.
async fn deploy(fixture: &mut FlowFixture) {
    let environment = ManagedEnvironmentId::from(&*fixture.all::<ApiToDatabase>().await[0].relation_key);
    let mut resource = web(UID);
    resource.spec.destination.environment = "stage".into();
    resource.spec.destination.namespace = "n".into();
    fixture.decide("web", Some(&resource), Some(TargetEnvironment::Managed(&environment))).await;
    fixture.complete(Ok(())).await;
}

#[tokio::test]
async fn a_kubeconfig_that_exceeds_its_column_is_rejected_without_a_check() {
    let mut fixture = FlowFixture::new().await;
    let long = secret(&"x".repeat(65_537));
    let (told, question) = decide(&mut fixture, Some(&stage(false)), Some(&long), None).await;
    assert_eq!(question, None);
    let said = &status(&told).unwrap()["conditions"][0];
    assert_eq!(said["reason"], EnvironmentReason::UnableToCreateClusterCredentials.as_str());
    assert!(!said["message"].as_str().unwrap().contains("xxxx"), "{said}");
}

#[tokio::test]
async fn errors_have_a_reason_and_a_message() {
    let mut fixture = FlowFixture::new().await;
    let resource = stage(false);
    let other = KubeconfigSecret { r#type: "Opaque".into(), ..secret("t") };
    let empty = KubeconfigSecret { kubeconfig: None, ..secret("t") };
    let broken = KubeconfigSecret { kubeconfig: Some("{".into()), ..secret("t") };
    let cases = [
        // managed-gitops reports nothing if the Secret is missing.
        (None, "KubernetesError", "secret 'access' referenced"),
        (Some(&other), "InvalidSecretType", "invalid secret type: Opaque"),
        (Some(&empty), "MissingKubeConfigField", "missing kubeconfig field in Secret"),
        (Some(&broken), "UnableToParseKubeconfigData", "json parse error"),
    ];
    for (secret, reason, message) in cases {
        let (decision, question) = decide(&mut fixture, Some(&resource), secret, None).await;
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
async fn a_verified_environment_gets_its_rows() {
    let mut fixture = FlowFixture::new().await;
    let told = verified(&mut fixture, &stage(false), &secret("tok"), None).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["reason"], "Succeeded");
    let row = credentials(&fixture).await;
    assert_eq!(row.bearer_token.as_ref().unwrap().expose(), "tok");
    assert_eq!(row.ca_data.as_deref(), Some("CA"), "defect 7");
    assert_eq!((row.kube_config, row.own_service_account), (None, false), "no more is kept than is used");
    assert_eq!(fixture.all::<AppProjectManagedEnvironment>().await.len(), 1);
    let (again, question) = decide(&mut fixture, Some(&stage(false)), Some(&secret("tok")), None).await;
    assert!(again.changes.is_empty() && question.is_none(), "nothing is asked twice");
}

#[tokio::test]
async fn a_rejected_credential_is_neither_rechecked_nor_stored() {
    let mut fixture = FlowFixture::new().await;
    let (_, question) = decide(&mut fixture, Some(&stage(false)), Some(&secret("bad")), None).await;
    let Some(ClusterCheck::Verify { digest, access, .. }) = question else { panic!("{question:?}") };
    assert!(!format!("{access:?}").contains("bad"), "no credential in a log");
    let answer = ClusterCheckResult::Refused {
        digest,
        reason: EnvironmentReason::UnableToValidateClusterCredentials,
        message: "Get \"https://api.example/api\": dial tcp: lookup api.example: no such host".into(),
        token: None,
    };
    let (told, question) = decide(&mut fixture, Some(&stage(false)), Some(&secret("bad")), Some(&answer)).await;
    assert_eq!(question, None);
    assert_eq!(status(&told).unwrap()["conditions"][0]["status"], "Unknown");
    assert!(fixture.all::<ApiToDatabase>().await.is_empty());
    // Another credential requires another check.
    let (_, question) = decide(&mut fixture, Some(&stage(false)), Some(&secret("good")), Some(&answer)).await;
    assert!(question.is_some());
}

/// Results of checks and of validation use the same table of statuses.
#[tokio::test]
async fn errors_have_the_status_of_their_reason() {
    let mut fixture = FlowFixture::new().await;
    let (_, question) = decide(&mut fixture, Some(&stage(false)), Some(&secret("bad")), None).await;
    let Some(ClusterCheck::Verify { digest, .. }) = question else { panic!("{question:?}") };
    for reason in EnvironmentReason::ALL.into_iter().filter(|reason| *reason != EnvironmentReason::Succeeded) {
        let answer = ClusterCheckResult::Refused { digest: digest.clone(), reason, message: "no".into(), token: None };
        let (told, _) = decide(&mut fixture, Some(&stage(false)), Some(&secret("bad")), Some(&answer)).await;
        let said = &status(&told).unwrap()["conditions"][0];
        assert_eq!((&said["reason"], &said["status"]), (&json!(reason.as_str()), &json!(reason.status())));
    }
    let (mut query, mut namespaces) = (stage(false), stage(false));
    query.spec.api_url = "https://api.example?x=1".into();
    namespaces.spec.namespaces = vec!["UPPER".into()];
    let opaque = KubeconfigSecret { r#type: "Opaque".into(), ..secret("t") };
    for (resource, secret, status_word) in
        [(query, secret("t"), "Unknown"), (namespaces, secret("t"), "Unknown"), (stage(false), opaque, "False")]
    {
        let (told, _) = decide(&mut fixture, Some(&resource), Some(&secret), None).await;
        assert_eq!(status(&told).unwrap()["conditions"][0]["status"], status_word);
    }
}

/// Defect 8: managed-gitops detects neither.
#[tokio::test]
async fn guarantees_a_rotation_is_detected() {
    let mut fixture = FlowFixture::new().await;
    verified(&mut fixture, &stage(false), &secret("old"), None).await;
    deploy(&mut fixture).await;
    verified(&mut fixture, &stage(false), &secret("new"), None).await;
    assert_eq!(credentials(&fixture).await.bearer_token.unwrap().expose(), "new");
    let asked = Filter::all().is("resource_type", OperationResource::ManagedEnvironment);
    assert_eq!(fixture.ledger.list::<Operation>(&asked).await.unwrap().len(), 1, "the agent is notified at once");
    let (_, question) = decide(&mut fixture, Some(&stage(true)), Some(&secret("new")), None).await;
    assert!(matches!(question, Some(ClusterCheck::Verify { install: true, .. })), "{question:?}");
}

/// Defect 8: managed-gitops leaves a cluster-admin service account behind.
#[tokio::test]
async fn guarantees_a_service_account_is_deleted_before_its_credentials() {
    let mut fixture = FlowFixture::new().await;
    verified(&mut fixture, &stage(true), &secret("admin"), Some("of-ours")).await;
    assert_eq!(credentials(&fixture).await.bearer_token.unwrap().expose(), "of-ours");
    let (_, asked) = decide_both(&mut fixture, None, None, None, None).await;
    assert!(fixture.all::<ApiToDatabase>().await.is_empty(), "nothing of it is used any more");
    retired(&mut fixture, asked).await;
}

/// Retires the account and asserts that nothing is left.
async fn retired(fixture: &mut FlowFixture, asked: ClusterChecks) {
    let Some(ClusterCheck::Retire { account }) = asked.retire else { panic!("{asked:?}") };
    assert!(account.kube_config.is_some(), "what it takes to do it");
    // The account's own token is used if the tenant's kubeconfig no longer works.
    assert_eq!(account.token.map(|token| token.expose().to_string()), Some("of-ours".to_string()));
    let answer = ClusterCheckResult::Retired { account: account.id };
    let (_, asked) = decide_both(fixture, None, None, None, Some(&answer)).await;
    assert_eq!((asked, fixture.all::<ServiceAccount>().await), (ClusterChecks::default(), vec![]));
}

#[tokio::test]
async fn an_unwanted_service_account_is_retired_once_another_credential_works() {
    let elsewhere = {
        let mut stage = stage(true);
        stage.spec.api_url = "https://other.example".into();
        stage
    };
    for next in [stage(false), elsewhere] {
        let mut fixture = FlowFixture::new().await;
        verified(&mut fixture, &stage(true), &secret("admin"), Some("of-ours")).await;
        let server = &next.spec.api_url;
        let other = KubeconfigSecret {
            kubeconfig: secret("admin")
                .kubeconfig
                .map(|text| text.expose().replace("https://api.example", server).into()),
            ..secret("admin")
        };
        let (_, asked) = decide_both(&mut fixture, Some(&next), Some(&other), None, None).await;
        assert_eq!(asked.retire, None, "Argo CD is that account yet");
        let stored = verified(&mut fixture, &next, &other, Some("of-ours")).await;
        assert!(stored.requeue_after_ms.is_some(), "it is checked again, though nothing else changes");
        let (_, asked) = decide_both(&mut fixture, Some(&next), Some(&other), None, None).await;
        let Some(ClusterCheck::Retire { account }) = asked.retire else { panic!("{asked:?}") };
        assert_eq!(account.host, "https://api.example");
        let answer = ClusterCheckResult::Retired { account: account.id };
        decide_both(&mut fixture, Some(&next), Some(&other), None, Some(&answer)).await;
        let left: Vec<String> = fixture.all::<ServiceAccount>().await.into_iter().map(|one| one.host).collect();
        assert_eq!(left, if next.spec.create_new_service_account { vec![server.clone()] } else { vec![] });
    }
}

#[tokio::test]
async fn an_unused_service_account_is_retired() {
    let mut fixture = FlowFixture::new().await;
    let (_, question) = decide(&mut fixture, Some(&stage(true)), Some(&secret("admin")), None).await;
    let Some(ClusterCheck::Verify { digest, install: true, .. }) = question else { panic!("{question:?}") };
    assert_eq!(fixture.all::<ServiceAccount>().await.len(), 1, "noted before it is made");
    let (reason, message) = (EnvironmentReason::UnableToValidateClusterCredentials, "no such namespace".to_string());
    let answer = ClusterCheckResult::Refused { digest, reason, message, token: Some("of-ours".into()) };
    decide(&mut fixture, Some(&stage(true)), Some(&secret("admin")), Some(&answer)).await;
    let (_, asked) = decide_both(&mut fixture, None, None, None, None).await;
    retired(&mut fixture, asked).await;
}

#[tokio::test]
async fn a_refused_retirement_is_retried_and_finally_abandoned() {
    let mut fixture = FlowFixture::new().await;
    verified(&mut fixture, &stage(true), &secret("admin"), Some("of-ours")).await;
    let (_, asked) = decide_both(&mut fixture, None, None, None, None).await;
    let Some(ClusterCheck::Retire { account }) = asked.retire else { panic!("{asked:?}") };
    let kept = ClusterCheckResult::Kept { account: account.id };
    let (_, asked) = decide_both(&mut fixture, None, None, None, Some(&kept)).await;
    assert_eq!(asked.retire, None, "not at once");
    fixture.now = fixture.now.plus_ms(ABANDON_MS);
    let (_, asked) = decide_both(&mut fixture, None, None, None, None).await;
    assert!(asked.retire.is_some());
    // A new account is created after the old one is deleted, not while it is being deleted.
    let (_, question) = decide(&mut fixture, Some(&stage(true)), Some(&secret("admin")), None).await;
    assert_eq!(question, None);
    fixture.now = fixture.now.plus_ms(1);
    let (_, question) = decide(&mut fixture, Some(&stage(true)), Some(&secret("admin")), None).await;
    assert!(question.is_some());
    assert_eq!(fixture.all::<ServiceAccount>().await.len(), 1);
}

/// The database was written by an earlier version.
#[tokio::test]
async fn a_service_account_without_a_row_gets_one() {
    let mut fixture = FlowFixture::new().await;
    verified(&mut fixture, &stage(true), &secret("admin"), Some("of-ours")).await;
    for account in fixture.all::<ServiceAccount>().await {
        fixture.ledger.commit(&[RowChange::delete(&account)]).await.unwrap();
    }
    let (_, asked) = decide_both(&mut fixture, None, None, None, None).await;
    retired(&mut fixture, asked).await;
}

/// The database was written by an earlier version.
#[tokio::test]
async fn a_service_account_without_a_token_gets_that_of_argo_cd() {
    let mut fixture = FlowFixture::new().await;
    verified(&mut fixture, &stage(true), &secret("admin"), Some("of-ours")).await;
    for account in fixture.all::<ServiceAccount>().await {
        let without = ServiceAccount { token: None, ..account.clone() };
        fixture.ledger.commit(&[RowChange::update(&account, &without)]).await.unwrap();
    }
    let (_, asked) = decide_both(&mut fixture, None, None, None, None).await;
    retired(&mut fixture, asked).await;
}

/// Returns the rows of waiting Operations.
async fn waiting_operations(fixture: &FlowFixture) -> Vec<(String, String)> {
    let open = Filter::all().is("state", OperationState::Waiting);
    let rows: Vec<Operation> = fixture.ledger.list(&open).await.unwrap();
    let mut asked: Vec<_> = rows.into_iter().map(|row| (row.resource.as_str().to_string(), row.resource_id)).collect();
    asked.sort_unstable();
    asked
}

#[tokio::test]
async fn a_deleted_environment_leaves_applications_without_a_destination() {
    let mut fixture = FlowFixture::new().await;
    verified(&mut fixture, &stage(false), &secret("tok"), None).await;
    deploy(&mut fixture).await;
    decide(&mut fixture, None, None, None).await;
    let [application] = &*fixture.all::<Application>().await else { panic!("one Application") };
    assert_eq!(application.environment, None);
    let application = ("Application".to_string(), application.id.to_string());
    assert!(waiting_operations(&fixture).await.contains(&application));
    assert_eq!(waiting_operations(&fixture).await.len(), 3, "its Secret and the tenant's project as well");
    assert!(fixture.all::<AppProjectManagedEnvironment>().await.is_empty());
}

/// Defect 12: managed-gitops never deletes the Secret of an environment without Applications.
#[tokio::test]
async fn an_environment_without_applications_is_removed_from_argo_cd() {
    let mut fixture = FlowFixture::new().await;
    verified(&mut fixture, &stage(false), &secret("tok"), None).await;
    let access = ClusterAccess {
        user: fixture.user.id.clone(),
        environment: ManagedEnvironmentId::from(&*fixture.all::<ApiToDatabase>().await[0].relation_key),
        instance: fixture.instance.id.clone(),
        created_on: START,
    };
    fixture.ledger.commit(&[RowChange::insert(&access)]).await.unwrap();
    decide(&mut fixture, None, None, None).await;
    let environment = ("ManagedEnvironment".to_string(), access.environment.to_string());
    // The tenant's project no longer permits the environment; its update is requested with the tenant's id.
    let project = ("Application".to_string(), fixture.user.id.to_string());
    assert_eq!(waiting_operations(&fixture).await, [project, environment]);
}

#[tokio::test]
async fn guarantees_working_credentials_are_rechecked() {
    let mut fixture = FlowFixture::new().await;
    verified(&mut fixture, &stage(true), &secret("admin"), Some("of-ours")).await;
    let (_, asked) = decide_both(&mut fixture, Some(&stage(true)), Some(&secret("admin")), None, None).await;
    let CheckSchedule::Later(ClusterCheck::Verify { digest, access, install, .. }) = asked.verify else {
        panic!("{asked:?}")
    };
    assert!(!install);
    assert_eq!(access.token.unwrap().expose(), "of-ours", "as whom Argo CD deploys");
    let reason = EnvironmentReason::UnableToValidateClusterCredentials;
    let refused =
        ClusterCheckResult::Refused { digest: digest.clone(), reason, message: "Unauthorized".into(), token: None };
    let (told, asked) =
        decide_both(&mut fixture, Some(&stage(true)), Some(&secret("admin")), Some(&refused), None).await;
    assert!(told.changes.is_empty() && matches!(asked.verify, CheckSchedule::Later(_)), "what is deployed stays");
    let conditions = &status(&told).unwrap()["conditions"];
    assert_eq!((&conditions[0]["status"], &conditions[0]["message"]), (&"Unknown".into(), &"Unauthorized".into()));
    // After a restart the result is lost, and the reported condition is used.
    let mut live = stage(true);
    live.status = serde_json::from_value(status(&told).unwrap().clone()).unwrap();
    let (again, asked) = decide_both(&mut fixture, Some(&live), Some(&secret("admin")), None, None).await;
    assert!(again.writes.is_empty() && matches!(asked.verify, CheckSchedule::Now(_)), "{again:?}");
    let good = ClusterCheckResult::Verified { digest, token: None };
    let (told, _) = decide_both(&mut fixture, Some(&live), Some(&secret("admin")), Some(&good), None).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["status"], "True");
    assert!(told.changes.is_empty(), "{told:?}");
}
