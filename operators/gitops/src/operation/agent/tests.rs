#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use crate::credential::repository_secret;
use crate::deployment::application::FINALIZER;
use crate::deployment::spec_field::{ApplicationSpec, write};
use crate::flow::KubernetesWrite;
use crate::flow::fixture::START;
use crate::ids::*;
use crate::operation::agent::{self, AgentStep, ApplicationContext, LAST_REMOVAL_MS, REMOVAL_MS, REMOVAL_TIMED_OUT};
use crate::rows::{Application, RepositoryCredentials, SyncOperation};

fn row(environment: Option<&str>) -> Application {
    Application {
        id: "app".into(),
        name: "gitopsdepl-1".into(),
        spec_field: write(&ApplicationSpec {
            name: "gitopsdepl-1",
            namespace: "argocd",
            destination_namespace: "n",
            destination_name: "managed-env-me",
            repo_url: "https://h/r",
            path: "p",
            target_revision: "main",
            sync_options: &[],
            automated: true,
            project: "app-project-u",
        }),
        instance: "ei".into(),
        environment: environment.map(Into::into),
        created_on: START,
    }
}

fn live() -> Value {
    let mut object = crate::deployment::application::object(&row(Some("me")), "argocd").unwrap();
    object["metadata"]["resourceVersion"] = json!("7");
    object
}

fn writes(step: AgentStep) -> Vec<KubernetesWrite> {
    match step {
        AgentStep::Write(writes) => writes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_application_is_created_after_its_project_and_its_secret() {
    let project = json!({ "kind": "AppProject", "metadata": { "name": "p" }, "spec": {} });
    let secret = json!({ "kind": "Secret", "metadata": { "name": "s" }, "data": {} });
    let around = ApplicationContext { project: Some(&project), secret: Some(&secret), ..ApplicationContext::default() };
    let made = writes(agent::ensure_application(&row(Some("me")), "argocd", None, &around));
    let kinds: Vec<&str> = made
        .iter()
        .map(|write| match write {
            KubernetesWrite::Create(object) => object["kind"].as_str().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["AppProject", "Secret", "Application"]);
    let standing = ApplicationContext { live_project: Some(&project), live_secret: Some(&secret), ..around };
    assert_eq!(
        agent::ensure_application(&row(Some("me")), "argocd", Some(&live()), &standing),
        AgentStep::Done(Ok(()))
    );
}

#[test]
fn a_removed_destination_gets_no_new_application() {
    assert_eq!(
        agent::ensure_application(&row(None), "argocd", None, &ApplicationContext::default()),
        AgentStep::Done(Ok(()))
    );
}

/// managed-gitops reports success here.
#[test]
fn an_unreadable_row_is_a_failure() {
    let broken = Application { spec_field: "\t- :".into(), ..row(Some("me")) };
    assert!(matches!(
        agent::ensure_application(&broken, "argocd", None, &ApplicationContext::default()),
        AgentStep::Done(Err(_))
    ));
}

#[test]
fn an_edit_on_the_application_is_reverted() {
    let mut edited = live();
    edited["spec"]["source"]["targetRevision"] = json!("evil");
    edited["spec"]["ignoreDifferences"] = json!([{ "kind": "Deployment" }]);
    let made =
        writes(agent::ensure_application(&row(Some("me")), "argocd", Some(&edited), &ApplicationContext::default()));
    let [KubernetesWrite::Update(object)] = &*made else { panic!("{made:?}") };
    assert_eq!(object["spec"]["source"]["targetRevision"], "main");
    assert_eq!(object["spec"].get("ignoreDifferences"), None, "the whole spec is the row's");
    assert_eq!(object["metadata"]["resourceVersion"], "7");
}

fn deleted(ms_ago: i64, finalizers: Value) -> Value {
    let mut object = live();
    let since = jiff::Timestamp::from_microsecond(START.plus_ms(-ms_ago).unix_us).unwrap();
    object["metadata"]["deletionTimestamp"] = json!(since.to_string());
    object["metadata"]["finalizers"] = finalizers;
    object
}

#[test]
fn a_removal_deletes_deployed_resources() {
    let around = ApplicationContext::default();
    let first = writes(agent::remove_applications(&[live()], &around, false, START));
    let [KubernetesWrite::Merge(_, patch)] = &*first else { panic!("{first:?}") };
    assert_eq!(patch["metadata"]["finalizers"], json!([FINALIZER]));
    let mut marked = live();
    marked["metadata"]["finalizers"] = json!([FINALIZER]);
    assert!(matches!(
        &*writes(agent::remove_applications(&[marked], &around, false, START)),
        [KubernetesWrite::Delete(_)]
    ));
    // Without a change, the next check is when the time limit is exceeded.
    let waits = |ms_ago| agent::remove_applications(&[deleted(ms_ago, json!([FINALIZER]))], &around, false, START);
    assert_eq!(waits(1000), AgentStep::Wait((REMOVAL_MS - 1000 + 1) as u64));
    let cut = agent::remove_applications(&[deleted(REMOVAL_MS + 1000, json!([]))], &around, false, START);
    assert_eq!(cut, AgentStep::Wait((LAST_REMOVAL_MS - REMOVAL_MS - 1000 + 1) as u64));
    assert_eq!(agent::remove_applications(&[], &around, false, START), AgentStep::Done(Ok(())));
}

/// Defect 12: managed-gitops reports success for a removal that exceeded its time limit.
#[test]
fn an_overdue_removal_is_forced_and_reported() {
    let around = ApplicationContext::default();
    let stuck = deleted(REMOVAL_MS + 1000, json!([FINALIZER]));
    assert!(agent::is_forced(&stuck, START) && !agent::is_forced(&deleted(1000, json!([])), START));
    let made = writes(agent::remove_applications(std::slice::from_ref(&stuck), &around, false, START));
    let [KubernetesWrite::Merge(_, patch)] = &*made else { panic!("{made:?}") };
    assert_eq!(patch["metadata"]["finalizers"], json!([]));
    assert_eq!(
        agent::remove_applications(&[], &around, true, START),
        AgentStep::Done(Err(REMOVAL_TIMED_OUT.to_string()))
    );
    let still = agent::remove_applications(&[deleted(LAST_REMOVAL_MS + 1000, json!([]))], &around, false, START);
    assert!(matches!(still, AgentStep::Done(Err(_))), "{still:?}");
}

#[test]
fn the_last_removal_deletes_the_project() {
    let project = json!({ "metadata": { "name": "app-project-u", "namespace": "argocd" } });
    let around = ApplicationContext { live_project: Some(&project), ..ApplicationContext::default() };
    let made = writes(agent::remove_applications(&[], &around, false, START));
    assert!(
        matches!(&*made, [KubernetesWrite::Delete(target)] if target.name == "app-project-u" && target.kind == "AppProject")
    );
    // Argo CD deletes no resources of an Application without its project.
    let used = ApplicationContext { is_project_used: true, ..around };
    assert!(matches!(agent::remove_applications(&[], &used, false, START), AgentStep::Wait(_)));
}

fn sync(desired_state: DesiredState) -> SyncOperation {
    SyncOperation {
        id: "so".into(),
        application: Some("app".into()),
        deployment_name: "web".into(),
        revision: "abc".into(),
        desired_state,
        created_on: START,
    }
}

#[test]
fn a_sync_waits_for_an_application_that_is_being_created() {
    let (id, row) = (SyncOperationId::from("so"), sync(DesiredState::Running));
    assert!(matches!(agent::sync(Some(&row), &id, None, true), AgentStep::Wait(_)));
    assert!(matches!(agent::sync(Some(&row), &id, None, false), AgentStep::Done(Err(_))));
}

/// Defect 20: managed-gitops loses a sync when its agent restarts.
#[test]
fn a_sync_is_found_after_a_restart() {
    let id = SyncOperationId::from("so");
    let row = sync(DesiredState::Running);
    let asked = writes(agent::sync(Some(&row), &id, Some(&live()), false));
    let [KubernetesWrite::Merge(_, patch)] = &*asked else { panic!("{asked:?}") };
    assert_eq!(patch["operation"]["sync"]["revision"], "abc");
    assert_eq!(patch["operation"]["sync"]["syncOptions"], json!(["PrunePropagationPolicy=background"]));
    assert_eq!(patch["metadata"]["resourceVersion"], "7");
    let mut application = live();
    application["operation"] = patch["operation"].clone();
    assert!(matches!(agent::sync(Some(&row), &id, Some(&application), false), AgentStep::Wait(_)));
    // Argo CD starts the operation, and a restarted agent reads the Application.
    application["operation"] = Value::Null;
    application["status"] = json!({ "operationState": { "phase": "Running", "operation": patch["operation"] } });
    assert!(matches!(agent::sync(Some(&row), &id, Some(&application), false), AgentStep::Wait(_)));
    application["status"]["operationState"]["phase"] = json!("Succeeded");
    assert_eq!(agent::sync(Some(&row), &id, Some(&application), false), AgentStep::Done(Ok(())));
    application["status"]["operationState"]["phase"] = json!("Failed");
    application["status"]["operationState"]["message"] = json!("one or more objects failed to apply");
    let failed = agent::sync(Some(&row), &id, Some(&application), false);
    assert_eq!(failed, AgentStep::Done(Err("one or more objects failed to apply".into())));
}

#[test]
fn a_sync_waits_for_another_one() {
    let mut application = live();
    application["operation"] = json!({ "info": [{ "name": "syncrun", "value": "other" }] });
    assert!(matches!(
        agent::sync(Some(&sync(DesiredState::Running)), &"so".into(), Some(&application), false),
        AgentStep::Wait(_)
    ));
}

#[test]
fn only_the_requested_sync_is_stopped() {
    let id = SyncOperationId::from("so");
    let row = sync(DesiredState::Terminated);
    let ours = json!({ "info": [{ "name": "syncrun", "value": "so" }] });
    let mut application = live();
    application["operation"] = ours.clone();
    application["status"] = json!({ "operationState": { "phase": "Running", "operation": ours } });
    let made = writes(agent::sync(Some(&row), &id, Some(&application), false));
    let [KubernetesWrite::Merge(_, patch)] = &*made else { panic!("{made:?}") };
    assert_eq!(patch["status"]["operationState"], json!({ "phase": "Terminating" }));
    application["status"]["operationState"]["phase"] = json!("Terminating");
    assert!(matches!(agent::sync(Some(&row), &id, Some(&application), false), AgentStep::Wait(_)));
    application["operation"] = json!({ "info": [{ "name": "syncrun", "value": "other" }] });
    application["status"] = json!({});
    assert_eq!(agent::sync(None, &id, Some(&application), false), AgentStep::Done(Ok(())));
    // An operation that Argo CD has not started is removed.
    application["operation"] = json!({ "info": [{ "name": "syncrun", "value": "so" }] });
    let made = writes(agent::sync(None, &id, Some(&application), false));
    let [KubernetesWrite::Merge(_, patch)] = &*made else { panic!("{made:?}") };
    assert_eq!(patch["operation"], Value::Null);
}

/// Defects 1 and 3.4b: managed-gitops never sends a rotated credential, and writes a key under another name than it
/// reads.
#[test]
fn a_rotated_credential_is_applied() {
    let before = RepositoryCredentials {
        id: "rc".into(),
        user: "u".into(),
        url: "git@h:r".into(),
        username: None,
        password: None,
        ssh_key: Some("old".into()),
        secret: "my-secret".into(),
        instance: "ei".into(),
        created_on: START,
    };
    let mut live = repository_secret::object(&before, "argocd", true);
    live["metadata"]["resourceVersion"] = json!("1");
    assert_eq!(agent::credential(Some(&before), "argocd", std::slice::from_ref(&live), true), AgentStep::Done(Ok(())));
    let after = RepositoryCredentials { ssh_key: Some("new".into()), ..before };
    let made = writes(agent::credential(Some(&after), "argocd", std::slice::from_ref(&live), true));
    let [KubernetesWrite::Update(object)] = &*made else { panic!("{made:?}") };
    assert_eq!(object["data"]["sshPrivateKey"], json!("bmV3"));
    assert_eq!(object["data"].get("ssh"), None);
    assert_eq!(agent::credential(Some(&after), "argocd", std::slice::from_ref(object), true), AgentStep::Done(Ok(())));
    assert!(matches!(&*writes(agent::credential(None, "argocd", &[live], true)), [KubernetesWrite::Delete(_)]));
}

/// Defect 12: managed-gitops never deletes the Secret of an environment without Applications.
#[test]
fn the_secret_of_an_environment_is_deleted_with_it() {
    let secret = json!({ "metadata": { "name": "managed-env-me", "namespace": "argocd" } });
    let made = writes(agent::environment(None, &[secret]));
    assert!(
        matches!(&*made, [KubernetesWrite::Delete(target)] if target.kind == "Secret" && target.name == "managed-env-me")
    );
}

/// The row belongs to another instance, which deploys the same resources.
#[test]
fn an_application_of_another_instance_is_deleted_without_its_resources() {
    let [KubernetesWrite::Delete(_)] = &*writes(agent::release_applications(&[live()])) else {
        panic!("it is deleted as it is")
    };
    let mut bound = live();
    bound["metadata"]["finalizers"] = json!([FINALIZER]);
    let made = writes(agent::release_applications(std::slice::from_ref(&bound)));
    let [KubernetesWrite::Merge(_, patch)] = &*made else { panic!("{made:?}") };
    assert_eq!(patch["metadata"]["finalizers"], json!([]), "the finalizer does not delete the children");
    bound["metadata"]["finalizers"] = json!([]);
    bound["metadata"]["deletionTimestamp"] = json!("2026-11-16T08:00:00Z");
    assert!(matches!(agent::release_applications(&[bound]), AgentStep::Wait(_)));
    assert_eq!(agent::release_applications(&[]), AgentStep::Done(Ok(())));
}

/// Argo CD deletes an Application only if no sync is in progress, and syncs are retried forever.
#[test]
fn a_removal_stops_a_sync() {
    let remove = |object: &Value| {
        agent::remove_applications(std::slice::from_ref(object), &ApplicationContext::default(), false, START)
    };
    let mut busy = live();
    busy["operation"] = json!({ "sync": {} });
    busy["status"]["operationState"] = json!({ "phase": "Running" });
    let made = writes(remove(&busy));
    assert!(
        matches!(&*made, [KubernetesWrite::Merge(_, patch)] if patch["metadata"]["finalizers"] == json!([FINALIZER]))
    );
    busy["metadata"]["finalizers"] = json!([FINALIZER]);
    busy["metadata"]["deletionTimestamp"] = json!("2026-09-21T14:13:20Z");
    let made = writes(remove(&busy));
    let [KubernetesWrite::Merge(_, patch)] = &*made else { panic!("{made:?}") };
    assert_eq!(patch["status"]["operationState"]["phase"], "Terminating");
    assert_eq!(patch["metadata"]["resourceVersion"], "7");
    busy["status"] = json!({});
    let made = writes(remove(&busy));
    let [KubernetesWrite::Merge(_, patch)] = &*made else { panic!("{made:?}") };
    assert_eq!(patch.get("operation"), Some(&Value::Null), "one that has not begun need not end");
    busy["status"] = json!({ "operationState": { "phase": "Terminating" } });
    assert!(matches!(remove(&busy), AgentStep::Wait(_)));
}
