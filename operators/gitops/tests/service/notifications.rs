//! Notifications for Operations that no agent processes.

use serde_json::Value;
use switchboard_gitops::ids::{EngineInstanceId, OperationResource, OperationState};
use switchboard_gitops::rows::{EngineInstance, Operation};
use switchboard_sql::{DbTimestamp, RowChange};

use crate::database::{TestDatabase, on_both};
use crate::fixture::{ARGOCD, GROUP, RoleSet, ServiceFixture, send};

on_both! {
    a_deleted_argo_cd_delays_no_other_notifications
}

fn operation(id: &str, at: &EngineInstanceId, state: OperationState) -> Operation {
    Operation {
        id: id.into(),
        instance: at.clone(),
        resource_id: "app".to_string(),
        owner: None,
        resource: OperationResource::Application,
        created_on: DbTimestamp::default(),
        last_state_update: DbTimestamp::default(),
        state,
        human_readable_state: None,
        gc_expiration_s: None,
    }
}

/// Rows that no agent processes by itself; the first cannot be notified.
async fn a_deleted_argo_cd_delays_no_other_notifications(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.add_instance("gone").await;
    let path = "/api/v1/namespaces/gone";
    send(&fixture.engine, "DELETE", path, Value::Null).await.unwrap();
    let there = async || send(&fixture.engine, "GET", path, Value::Null).await;
    fixture.wait_for("no namespace", async || there().await.is_err().then_some(())).await;
    let instances: Vec<EngineInstance> = fixture.all().await;
    let at = |name: &str| &instances.iter().find(|one| one.namespace == name).unwrap().id;
    let rows = [
        operation("a", at("gone"), OperationState::Waiting),
        operation("b", at(ARGOCD), OperationState::Waiting),
        operation("c", at(ARGOCD), OperationState::InProgress),
    ];
    fixture.ledger.commit(&rows.iter().map(RowChange::insert).collect::<Vec<_>>()).await.unwrap();
    fixture.start_roles(RoleSet::Backend, None, fixture.clients()).await;
    let rung = fixture
        .wait_for("two notifications", async || {
            let notifications = fixture.list_objects(&format!("{GROUP}/operations")).await;
            (notifications.len() == 2).then_some(notifications)
        })
        .await;
    let rung: Vec<&Value> = rung.iter().map(|ring| &ring["spec"]["operationID"]).collect();
    assert_eq!(rung, ["b", "c"]);
}
