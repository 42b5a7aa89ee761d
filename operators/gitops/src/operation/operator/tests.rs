#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_sql::DbTimestamp;

use super::*;
use crate::agent::row_events::tests::{agent, ledger, operation};
use crate::ids::OperationResource;
use crate::rows::{ClusterUser, RepositoryCredentials};

/// A write that changes nothing causes no event.
#[tokio::test]
async fn a_started_operation_is_rechecked() {
    let (ledger, instance) = ledger().await;
    let now = DbTimestamp::default();
    let user =
        ClusterUser { id: "u".into(), user_name: "uid".into(), created_on: now, display_name: Some("shop".into()) };
    let credential = RepositoryCredentials {
        id: "rc".into(),
        user: user.id.clone(),
        url: "https://git.example/web".into(),
        username: Some("robot".into()),
        password: Some("secret".into()),
        ssh_key: None,
        secret: "login".into(),
        instance: instance.id.clone(),
        created_on: now,
    };
    let row = Operation {
        resource_id: "rc".into(),
        resource: OperationResource::RepositoryCredentials,
        owner: Some(user.id.clone()),
        ..operation("op", &instance, OperationState::Waiting)
    };
    ledger.commit(&[RowChange::insert(&user), RowChange::insert(&credential), RowChange::insert(&row)]).await.unwrap();
    let operations = Operations(agent(&ledger));
    let request = OperationRequest {
        now: "2026-11-18T00:00:00Z".into(),
        stamp: "2026-11-18T00:00:00Z".into(),
        namespace: "argocd".into(),
        name: "operation-op".into(),
        has_object: false,
        operation: "op".into(),
        live: None,
    };
    let names = operations.names(&request).await.unwrap();
    let OperationResponse::Plan(plan) = operations.advance(&request, &LiveObjects::default(), &names).await.unwrap()
    else {
        panic!("the names of the row's objects")
    };
    assert_eq!((plan.mutations.len(), plan.requeue_after), (1, Some(OPEN_RECHECK_DELAY)), "{plan:?}");
    let started: Operation = ledger.get(&"op".into()).await.unwrap().unwrap();
    assert_eq!(started.state, OperationState::InProgress);
}

#[tokio::test]
async fn a_created_application_needs_no_query() {
    let (ledger, _) = ledger().await;
    let operations = Operations(agent(&ledger));
    let made = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {"name": "web", "namespace": "argocd", "labels": {DATABASE_ID: "row"}},
        "spec": {"project": "shop", "source": {"repoURL": "https://git.example/web", "path": "."}}});
    let mut plan = Plan::ordered();
    plan.push(Mutation::create(&APPLICATIONS, made.clone()).on(ClusterType::Management));
    let mut served = made;
    served["metadata"]["uid"] = "u".into();
    served["metadata"]["resourceVersion"] = "7".into();
    served["metadata"]["generation"] = 1.into();
    let is_known =
        |object: &Value| operations.0.application_cache().is_known(ApplicationFingerprint::of(object).as_ref()).is_ok();
    let invalidations = operations.0.application_cache().invalidations();
    assert!(!is_known(&served));
    operations.cache_created(&plan, invalidations);
    assert!(is_known(&served));
    let mut edited = served.clone();
    edited["spec"]["project"] = "other".into();
    assert!(!is_known(&edited));
    let row = switchboard_sql::ChangeEvent::Row { table: "application".into(), key: "row".into() };
    assert_eq!(operations.0.application_cache().invalidate_changed(&[row]), [Unit::object("argocd", "web")]);
    assert!(!is_known(&served), "the row refers to another object now");
    operations.cache_created(&plan, invalidations);
    assert!(!is_known(&served), "no decision is based on the earlier row");
}
