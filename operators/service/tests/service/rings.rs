//! Operations that nobody looks at are rung for.

use serde_json::Value;
use switchboard_ledger::ids::{EngineInstanceId, OperationResource, OperationState};
use switchboard_ledger::rows::{EngineInstance, Operation};
use switchboard_ledger::{Change, Moment};

use crate::base::{Base, on_both};
use crate::stage::{ARGOCD, GROUP, Side, Stage, send};

on_both! {
    an_argo_cd_that_is_gone_keeps_nobody_else_from_being_rung_at
}

fn operation(id: &str, at: &EngineInstanceId, state: OperationState) -> Operation {
    Operation {
        id: id.into(),
        instance: at.clone(),
        resource_id: "app".to_string(),
        owner: None,
        resource: OperationResource::Application,
        created_on: Moment::default(),
        last_state_update: Moment::default(),
        state,
        human_readable_state: None,
        gc_expiration_s: None,
    }
}

/// Rows that no agent takes by itself, of which the first cannot be rung for.
async fn an_argo_cd_that_is_gone_keeps_nobody_else_from_being_rung_at(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.add_instance("gone").await;
    let path = "/api/v1/namespaces/gone";
    send(&stage.engine, "DELETE", path, Value::Null).await.unwrap();
    let there = async || send(&stage.engine, "GET", path, Value::Null).await;
    stage.until("no namespace", async || there().await.is_err().then_some(())).await;
    let instances: Vec<EngineInstance> = stage.all().await;
    let at = |name: &str| &instances.iter().find(|one| one.namespace == name).unwrap().id;
    let rows = [
        operation("a", at("gone"), OperationState::Waiting),
        operation("b", at(ARGOCD), OperationState::Waiting),
        operation("c", at(ARGOCD), OperationState::InProgress),
    ];
    stage.ledger.commit(&rows.iter().map(Change::insert).collect::<Vec<_>>()).await.unwrap();
    stage.start_side(Side::Backend, None, stage.clients()).await;
    let rung = stage
        .until("two rings", async || {
            let rings = stage.listed(&format!("{GROUP}/operations")).await;
            (rings.len() == 2).then_some(rings)
        })
        .await;
    let rung: Vec<&Value> = rung.iter().map(|ring| &ring["spec"]["operationID"]).collect();
    assert_eq!(rung, ["b", "c"]);
}
