#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::json;
use switchboard_sql::{Filter, RowChange};

use crate::deployment::kind::{
    BAD_ENVIRONMENT_ON_CREATE, BAD_ENVIRONMENT_ON_UPDATE, BAD_NAMESPACE, FINALIZER, NO_OWN_CLUSTER, PATH_REQUIRED,
};
use crate::deployment::status::pack;
use crate::deployment::{TargetEnvironment, removal_id, removal_of};
use crate::flow::KubernetesWrite;
use crate::flow::fixture::{FlowFixture, START, UID, UID2, status, web};
use crate::ids::*;
use crate::operation::agent;
use crate::rows::*;
use crate::{argocd, tenant};

#[tokio::test]
async fn guarantees_rows_and_operation_are_one_transaction() {
    let mut fixture = FlowFixture::new().await;
    let decision = fixture.decide("web", Some(&web(UID)), None).await;
    assert!(decision.writes.is_empty());
    let [application] = &*fixture.all::<Application>().await else { panic!("one Application") };
    assert_eq!(application.name, format!("gitopsdepl-{UID}"));
    assert_eq!(application.environment.as_ref(), Some(&fixture.own));
    assert!(application.spec_field.contains("  project: app-project-tenant\n"), "{}", application.spec_field);
    let [operation] = &*fixture.all::<Operation>().await else { panic!("one Operation") };
    assert_eq!(operation.resource_id, application.id.as_str());
    assert_eq!(operation.state, OperationState::Waiting);
    let [repository] = &*fixture.all::<AppProjectRepository>().await else { panic!("one repository") };
    assert_eq!(repository.repo_url, "https://git.example/Shop/web");
    assert_eq!(fixture.all::<ApplicationOwner>().await.len(), 1);
    assert_eq!(fixture.all::<ClusterAccess>().await.len(), 1);
}

#[tokio::test]
async fn guarantees_unchanged_rows_are_not_written() {
    let mut fixture = FlowFixture::new().await;
    fixture.decide("web", Some(&web(UID)), None).await;
    fixture.complete(Ok(())).await;
    let again = fixture.decide("web", Some(&web(UID)), None).await;
    assert_eq!(again, Default::default());
}

#[tokio::test]
async fn a_waiting_operation_is_not_duplicated() {
    let mut fixture = FlowFixture::new().await;
    fixture.decide("web", Some(&web(UID)), None).await;
    let mut other = web(UID);
    other.spec.source.path = "elsewhere".into();
    fixture.decide("web", Some(&other), None).await;
    assert_eq!(fixture.all::<Operation>().await.len(), 1, "the one that waits will see it");
    fixture.complete(Ok(())).await;
    other.spec.r#type = "manual".into();
    fixture.decide("web", Some(&other), None).await;
    assert_eq!(fixture.all::<Operation>().await.len(), 2);
    let [application] = &*fixture.all::<Application>().await else { panic!("one Application") };
    assert!(application.spec_field.contains("syncpolicy: null"), "{}", application.spec_field);
}

#[tokio::test]
async fn guarantees_a_recreated_resource_is_a_new_deployment() {
    let mut fixture = FlowFixture::new().await;
    fixture.decide("web", Some(&web(UID)), None).await;
    fixture.complete(Ok(())).await;
    fixture.decide("web", Some(&web(UID2)), None).await;
    let [application] = &*fixture.all::<Application>().await else { panic!("one Application") };
    assert_eq!(application.name, format!("gitopsdepl-{UID2}"));
    let operations = fixture.all::<Operation>().await;
    let removal = operations.iter().find(|row| row.id == removal_id(&UID.into())).unwrap();
    assert_ne!(removal.resource_id, application.id.as_str());
    assert_eq!(fixture.all::<DeploymentToApplication>().await.len(), 1);
}

/// A repository that does not fit its column does not block the others.
#[tokio::test]
async fn a_repository_that_exceeds_its_column_is_omitted() {
    let mut fixture = FlowFixture::new().await;
    let mut long = web(UID2);
    long.spec.source.repo_url = format!("https://git.example/{}", "x".repeat(3000));
    let told = fixture.decide("long", Some(&long), None).await;
    let said = &status(&told).unwrap()["conditions"][0];
    assert_eq!((&said["type"], &said["status"]), (&json!("ErrorOccurred"), &json!("True")));
    assert!(said["message"].as_str().unwrap().starts_with("spec.source.repoURL has 3020 characters"), "{said}");
    assert!(fixture.all::<Application>().await.is_empty());
    let odd = "https://git.example/a\0b";
    let wanted = [long.spec.source.repo_url.as_str(), odd, "https://git.example/shop"].map(str::to_string).into();
    let changes = tenant::repositories(&fixture.user.id, &[], &wanted, || "r".to_string(), START);
    fixture.ledger.commit(&changes).await.unwrap();
    let [row] = &*fixture.all::<AppProjectRepository>().await else { panic!("one repository") };
    assert_eq!(row.repo_url, "https://git.example/shop");
}

/// Patterns written by an earlier version are removed as well.
#[tokio::test]
async fn a_pattern_is_no_repository_of_a_project() {
    let fixture = FlowFixture::new().await;
    let row = |url: &str| AppProjectRepository {
        id: url.into(),
        user: fixture.user.id.clone(),
        repo_url: url.into(),
        created_on: START,
    };
    let (before, kept) = (row("*"), row("https://git.example/shop"));
    fixture.ledger.commit(&[RowChange::insert(&before), RowChange::insert(&kept)]).await.unwrap();
    let wanted = ["*", "https://git.example/*", "https://git.example/shop"].map(str::to_string).into();
    let rows = [before, kept.clone()];
    let changes = tenant::repositories(&fixture.user.id, &rows, &wanted, || "r".to_string(), START);
    fixture.ledger.commit(&changes).await.unwrap();
    assert_eq!(fixture.all::<AppProjectRepository>().await, [kept]);
}

#[tokio::test]
async fn a_deleted_resource_leaves_no_rows() {
    let mut fixture = FlowFixture::new().await;
    fixture.decide("web", Some(&web(UID)), None).await;
    let [application] = &*fixture.all::<Application>().await else { panic!("one Application") };
    let state = ApplicationState { application: application.id.clone(), status: None };
    let sync = SyncOperation {
        id: "so".into(),
        application: Some(application.id.clone()),
        deployment_name: "web".into(),
        revision: String::new(),
        desired_state: DesiredState::Running,
        created_on: START,
    };
    fixture.ledger.commit(&[RowChange::insert(&state), RowChange::insert(&sync)]).await.unwrap();
    fixture.decide("web", None, None).await;
    assert!(fixture.all::<Application>().await.is_empty());
    assert!(fixture.all::<ApplicationState>().await.is_empty());
    assert!(fixture.all::<ApplicationOwner>().await.is_empty());
    assert!(fixture.all::<DeploymentToApplication>().await.is_empty());
    assert!(fixture.all::<AppProjectRepository>().await.is_empty());
    assert_eq!(fixture.all::<SyncOperation>().await[0].application, None);
    assert_eq!(fixture.decide("web", None, None).await, Default::default(), "and nothing more is asked for");
}

#[tokio::test]
async fn a_finalizer_is_kept_until_the_agent_finishes_and_a_failure_is_reported() {
    let mut fixture = FlowFixture::new().await;
    let mut resource = web(UID);
    resource.metadata.finalizers = vec!["other".into(), FINALIZER.into()];
    fixture.decide("web", Some(&resource), None).await;
    fixture.complete(Ok(())).await;
    resource.metadata.deletion_timestamp = Some("2026-11-16T08:00:00Z".into());
    fixture.decide("web", Some(&resource), None).await;
    let waiting = fixture.decide("web", Some(&resource), None).await;
    assert!(waiting.writes.is_empty(), "{waiting:?}");

    // Defect 12: managed-gitops reports success here.
    fixture.complete(Err("it took too long")).await;
    let told = fixture.decide("web", Some(&resource), None).await;
    let message = status(&told).unwrap()["conditions"][0]["message"].as_str().unwrap();
    assert_eq!(message, "unable to delete the resources of the GitOpsDeployment: it took too long");
    fixture.now = fixture.now.plus_ms(60_000);
    fixture.decide("web", Some(&resource), None).await;
    fixture.complete(Ok(())).await;
    let released = fixture.decide("web", Some(&resource), None).await;
    let patch = released.writes.iter().find_map(|write| match write {
        KubernetesWrite::Merge(target, patch) => Some((target.name.as_str(), patch)),
        _ => None,
    });
    assert_eq!(patch, Some(("web", &json!({ "metadata": { "finalizers": ["other"] } }))));
}

#[tokio::test]
async fn a_forced_deletion_finally_releases_its_resource() {
    let mut fixture = FlowFixture::new().await;
    let mut resource = web(UID);
    resource.metadata.finalizers = vec![FINALIZER.into()];
    fixture.decide("web", Some(&resource), None).await;
    fixture.complete(Ok(())).await;
    resource.metadata.deletion_timestamp = Some("2026-11-16T08:00:00Z".into());
    fixture.decide("web", Some(&resource), None).await;
    fixture.complete(Err(agent::REMOVAL_TIMED_OUT)).await;
    let told = fixture.decide("web", Some(&resource), None).await;
    assert!(status(&told).unwrap()["conditions"][0]["message"].as_str().unwrap().contains(agent::REMOVAL_TIMED_OUT));
    // The agent runs again and finds nothing.
    fixture.now = fixture.now.plus_ms(30_000);
    fixture.decide("web", Some(&resource), None).await;
    let open = Filter::all().is("state", OperationState::Waiting);
    let [row] = &*fixture.ledger.list::<Operation>(&open).await.unwrap() else { panic!("one removal") };
    let step =
        agent::remove_applications(&[], &agent::ApplicationContext::default(), agent::was_forced(row), fixture.now);
    assert_eq!(step, agent::AgentStep::Done(Ok(())));
    fixture.complete(Ok(())).await;
    let released = fixture.decide("web", Some(&resource), None).await;
    assert!(
        matches!(&*released.writes, [KubernetesWrite::Merge(_, patch)] if patch["metadata"]["finalizers"] == json!([]))
    );
}

#[tokio::test]
async fn an_unusable_environment_is_reported_and_nothing_changes() {
    let mut fixture = FlowFixture::new().await;
    let mut resource = web(UID);
    resource.spec.destination.environment = "stage".into();
    resource.spec.destination.namespace = "n".into();
    let told = fixture.decide("web", Some(&resource), Some(TargetEnvironment::Unusable)).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["message"], BAD_ENVIRONMENT_ON_CREATE);
    assert!(fixture.all::<Application>().await.is_empty());
    let own = fixture.own.clone();
    fixture.decide("web", Some(&resource), Some(TargetEnvironment::Managed(&own))).await;
    let [before] = &*fixture.all::<Application>().await else { panic!("one Application") };
    assert!(before.spec_field.contains(&format!("name: {}\n", argocd::environment_name(&own))));
    let told = fixture.decide("web", Some(&resource), Some(TargetEnvironment::Unusable)).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["message"], BAD_ENVIRONMENT_ON_UPDATE);
    assert_eq!(fixture.all::<Application>().await.first(), Some(before));
}

/// managed-gitops resolves the environment before the namespace, and its own tests compare the message.
#[tokio::test]
async fn an_unusable_environment_is_reported_before_an_invalid_namespace() {
    for namespace in ["", "Not A Name"] {
        let mut fixture = FlowFixture::new().await;
        let mut resource = web(UID);
        resource.spec.destination.environment = "stage".into();
        resource.spec.destination.namespace = namespace.into();
        let told = fixture.decide("web", Some(&resource), Some(TargetEnvironment::Unusable)).await;
        assert_eq!(status(&told).unwrap()["conditions"][0]["message"], BAD_ENVIRONMENT_ON_CREATE);
        let own = fixture.own.clone();
        let told = fixture.decide("web", Some(&resource), Some(TargetEnvironment::Managed(&own))).await;
        assert_eq!(status(&told).unwrap()["conditions"][0]["message"], BAD_NAMESPACE);
        assert!(fixture.all::<Application>().await.is_empty());
        resource.spec.source.path.clear();
        let told = fixture.decide("web", Some(&resource), Some(TargetEnvironment::Unusable)).await;
        assert_eq!(status(&told).unwrap()["conditions"][0]["message"], PATH_REQUIRED);
    }
}

#[tokio::test]
async fn invalid_input_is_reported_until_it_is_fixed() {
    let mut fixture = FlowFixture::new().await;
    let mut resource = web(UID);
    resource.spec.source.path.clear();
    let told = fixture.decide("web", Some(&resource), None).await;
    let said = status(&told).unwrap();
    assert_eq!(said["conditions"][0]["message"], PATH_REQUIRED);
    resource.status = serde_json::from_value(said.clone()).unwrap();
    assert!(fixture.decide("web", Some(&resource), None).await.writes.is_empty(), "said once");
    resource.spec.source.path = "deploy".into();
    let right = fixture.decide("web", Some(&resource), None).await;
    assert_eq!(status(&right).unwrap()["conditions"][0]["reason"], "ErrorOccurredResolved");
}

/// Defect 2: managed-gitops resolves the backend's error with every report of Argo CD.
#[tokio::test]
async fn a_report_of_argo_cd_does_not_resolve_an_error_of_the_backend() {
    let mut fixture = FlowFixture::new().await;
    fixture.decide("web", Some(&web(UID)), None).await;
    let [application] = &*fixture.all::<Application>().await else { panic!("one Application") };
    let report = pack(&json!({ "sync": { "status": "Synced" }, "health": { "status": "Healthy" } })).unwrap();
    let state = ApplicationState { application: application.id.clone(), status: Some(report) };
    fixture.ledger.commit(&[RowChange::put(&state)]).await.unwrap();
    fixture.complete(Err("the agent could not")).await;
    let told = fixture.decide("web", Some(&web(UID)), None).await;
    let said = status(&told).unwrap();
    assert_eq!(said["health"]["status"], "Healthy");
    assert_eq!(said["conditions"][0]["status"], "True");
    assert_eq!(said["conditions"][0]["message"], "an unknown error occurred");
}

#[tokio::test]
async fn the_deployed_state_is_reported_while_the_spec_is_invalid() {
    let mut fixture = FlowFixture::new().await;
    fixture.decide("web", Some(&web(UID)), None).await;
    let [application] = &*fixture.all::<Application>().await else { panic!("one Application") };
    let report = pack(&json!({ "sync": { "status": "Synced" }, "health": { "status": "Degraded" } })).unwrap();
    let state = ApplicationState { application: application.id.clone(), status: Some(report) };
    fixture.ledger.commit(&[RowChange::put(&state)]).await.unwrap();
    let mut resource = web(UID);
    resource.spec.source.path.clear();
    let told = fixture.decide("web", Some(&resource), None).await;
    let said = status(&told).unwrap();
    assert_eq!(
        (&said["health"]["status"], &said["conditions"][0]["message"]),
        (&json!("Degraded"), &json!(PATH_REQUIRED))
    );
    let told = fixture.decide("web", Some(&web(UID)), Some(TargetEnvironment::Unusable)).await;
    let said = status(&told).unwrap();
    assert_eq!(said["health"]["status"], "Degraded");
    assert_eq!(said["conditions"][0]["message"], NO_OWN_CLUSTER, "there is no ManagedEnvironment to look at");
}

/// Defect 3: managed-gitops waits forever.
#[tokio::test]
async fn an_overdue_operation_is_reported() {
    let mut fixture = FlowFixture::new().await;
    fixture.decide("web", Some(&web(UID)), None).await;
    fixture.now = fixture.now.plus_ms(crate::operation::DEADLINE_MS + 1000);
    let told = fixture.decide("web", Some(&web(UID)), None).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["message"], "an unknown error occurred");
}

#[tokio::test]
async fn a_tenant_is_a_namespace_by_its_uid() {
    let fixture = FlowFixture::new().await;
    let recreated = crate::tenant::TenantNamespace { name: "shop".into(), uid: "another".into() };
    let (user, changes) = crate::tenant::user(None, &recreated, || UserId::from("tenant2"), START);
    fixture.ledger.commit(&changes).await.unwrap();
    assert_ne!(user.id, fixture.user.id);
    let named = Filter::all().is("display_name", "shop");
    assert_eq!(fixture.ledger.list::<ClusterUser>(&named).await.unwrap().len(), 2);
}

/// Returns a fixture whose tenant has no row yet.
async fn without_tenant() -> FlowFixture {
    let mut fixture = FlowFixture::new().await;
    fixture.namespace.uid = "another".into();
    (fixture.user, fixture.tenant_changes) = tenant::user(None, &fixture.namespace, || UserId::from("tenant2"), START);
    fixture
}

/// managed-gitops writes the tenant before it validates the resource, and its own tests read the row at once.
#[tokio::test]
async fn guarantees_the_tenant_of_a_refused_deployment_is_written() {
    let mut invalid = web(UID);
    invalid.spec.source.path.clear();
    for (resource, environment) in [(web(UID), Some(TargetEnvironment::Unusable)), (invalid, None)] {
        let mut fixture = without_tenant().await;
        let refused = fixture.decide("web", Some(&resource), environment).await;
        assert_eq!(refused.changes, fixture.tenant_changes);
        assert!(fixture.all::<ClusterUser>().await.contains(&fixture.user));
    }
    let mut fixture = without_tenant().await;
    fixture.decide("web", Some(&web(UID)), None).await;
    let [owner] = &*fixture.all::<ApplicationOwner>().await else { panic!("one owner") };
    assert_eq!(owner.user, fixture.user.id);
    let mut fixture = without_tenant().await;
    assert_eq!(fixture.decide("web", None, None).await, Default::default(), "a deletion needs no tenant");
}

/// An agent of managed-gitops cannot finish an Operation without an owner.
#[tokio::test]
async fn a_lost_removal_without_a_tenant_has_an_owner() {
    let mut fixture = without_tenant().await;
    fixture.instances = [fixture.instance.id.clone()].into();
    let mut resource = web(UID);
    resource.metadata.finalizers = vec![FINALIZER.into()];
    resource.metadata.deletion_timestamp = Some("2026-11-16T08:00:00Z".into());
    fixture.decide("web", Some(&resource), None).await;
    let [asked] = &*fixture.all::<Operation>().await else { panic!("one removal") };
    assert_eq!((&asked.id, asked.owner.as_ref()), (&removal_id(&UID.into()), Some(&fixture.user.id)));
}

/// Failed Operations are deleted after a day, and a restore loses all of them.
#[tokio::test]
async fn guarantees_a_lost_removal_is_requested_again() {
    let mut fixture = FlowFixture::new().await;
    let mut resource = web(UID);
    resource.metadata.finalizers = vec![FINALIZER.into()];
    fixture.decide("web", Some(&resource), None).await;
    resource.metadata.deletion_timestamp = Some("2026-11-16T08:00:00Z".into());
    fixture.decide("web", Some(&resource), None).await;
    for row in fixture.all::<Operation>().await {
        fixture.ledger.commit(&[RowChange::delete(&row)]).await.unwrap();
    }
    let other = EngineInstance { id: "other".into(), namespace: "argocd-2".into(), ..fixture.instance.clone() };
    fixture.ledger.commit(&[RowChange::insert(&other)]).await.unwrap();
    fixture.instances = [fixture.instance.id.clone(), other.id].into();
    let again = fixture.decide("web", Some(&resource), None).await;
    assert!(again.writes.is_empty(), "it is not let go: {again:?}");
    let asked = fixture.all::<Operation>().await;
    assert_eq!(asked.iter().map(|row| row.instance.clone()).collect::<BTreeSet<_>>(), fixture.instances);
    assert!(asked.iter().all(|row| crate::operation::is_created_by_service(&row.id)), "{asked:?}");
    assert!(asked.iter().all(|row| removal_of(&row.id) == Some(removal_id(&UID.into()))), "{asked:?}");
    // One removal has finished, the other has not.
    let over = Operation { state: OperationState::Completed, ..asked[0].clone() };
    fixture.ledger.commit(&[RowChange::update(&asked[0], &over)]).await.unwrap();
    assert!(fixture.decide("web", Some(&resource), None).await.writes.is_empty());
    fixture.complete(Ok(())).await;
    let done = fixture.decide("web", Some(&resource), None).await;
    assert!(matches!(&done.writes[..], [KubernetesWrite::Merge(..)]), "{done:?}");
}
