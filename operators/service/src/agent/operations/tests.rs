#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_ledger::Moment;
use switchboard_ledger::ids::OperationResource;
use switchboard_ledger::rows::{ClusterUser, RepositoryCredentials};

use super::super::follow::tests::{agent, ledger, operation};
use super::*;

/// What is written may change nothing, and then no watch tells of it.
#[tokio::test]
async fn what_is_begun_is_looked_at_again_whatever_came_of_what_was_written() {
    let (ledger, instance) = ledger().await;
    let now = Moment::default();
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
    ledger.commit(&[Change::insert(&user), Change::insert(&credential), Change::insert(&row)]).await.unwrap();
    let operations = Operations(agent(&ledger));
    let ring = Ring {
        now: "2026-11-18T00:00:00Z".into(),
        stamp: "2026-11-18T00:00:00Z".into(),
        namespace: "argocd".into(),
        name: "operation-op".into(),
        is_rung: false,
        operation: "op".into(),
        live: None,
    };
    let names = operations.names(&ring).await.unwrap();
    let Told::Plan(plan) = operations.work(&ring, &Live::default(), &names).await.unwrap() else {
        panic!("these are its names")
    };
    assert_eq!((plan.mutations.len(), plan.again), (1, Some(OPEN_LOOK)), "{plan:?}");
    let begun: Operation = ledger.get(&"op".into()).await.unwrap().unwrap();
    assert_eq!(begun.state, OperationState::InProgress);
}

#[tokio::test]
async fn an_application_that_was_just_made_is_not_looked_up() {
    let (ledger, _) = ledger().await;
    let operations = Operations(agent(&ledger));
    let made = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {"name": "web", "namespace": "argocd", "labels": {DATABASE_ID: "row"}},
        "spec": {"project": "shop", "source": {"repoURL": "https://git.example/web", "path": "."}}});
    let mut plan = Plan::in_order();
    plan.push(Mutation::create(&APPLICATIONS, made.clone()).at(Place::Management));
    let mut served = made;
    served["metadata"]["uid"] = "u".into();
    served["metadata"]["resourceVersion"] = "7".into();
    served["metadata"]["generation"] = 1.into();
    let is_known = |object: &Value| operations.0.memory().is_known(Print::of(object).as_ref()).is_ok();
    let forgotten = operations.0.memory().forgotten();
    assert!(!is_known(&served));
    operations.made(&plan, forgotten);
    assert!(is_known(&served));
    let mut edited = served.clone();
    edited["spec"]["project"] = "other".into();
    assert!(!is_known(&edited));
    let row = switchboard_ledger::Signal::Changed { table: "application".into(), key: "row".into() };
    assert_eq!(operations.0.memory().heard(&[row]), [Unit::object("argocd", "web")]);
    assert!(!is_known(&served), "its row is another now");
    operations.made(&plan, forgotten);
    assert!(!is_known(&served), "what was decided on the row as it was says nothing");
}
