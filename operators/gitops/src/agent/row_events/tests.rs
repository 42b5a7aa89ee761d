#![allow(clippy::unwrap_used)]

use switchboard_sql::{Address, DbTimestamp, Filter, Ledger, RowChange, Sealer};

use super::*;
use crate::ids::OperationResource;
use crate::placement::selection;
use crate::random_id;
use crate::rows::{EngineInstance, KubernetesToDatabase};
use crate::store::Store;
use crate::tenant::TenantNamespace;

/// Returns a database with an Argo CD instance in the namespace `argocd`.
pub async fn ledger() -> (Ledger, EngineInstance) {
    let ledger =
        Ledger::open(&crate::SCHEMA, &Address::parse("sqlite::memory:").unwrap(), Sealer::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    let namespace = TenantNamespace { name: "argocd".to_string(), uid: "n".into() };
    let mut view = ledger.view().await.unwrap();
    let changes =
        selection::register(&mut view, &"s".into(), &namespace, random_id::new, DbTimestamp::default()).await.unwrap();
    view.end();
    ledger.commit(&changes).await.unwrap();
    let instance = ledger.list(&Filter::all()).await.unwrap().remove(0);
    (ledger, instance)
}

pub fn operation(id: &str, instance: &EngineInstance, state: OperationState) -> Operation {
    Operation {
        id: id.into(),
        instance: instance.id.clone(),
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

pub fn agent(ledger: &Ledger) -> Agent {
    agent_of(ledger, "s")
}

/// Returns the agent of a cluster.
fn agent_of(ledger: &Ledger, cluster: &str) -> Agent {
    Agent::new(Store::new(ledger.clone(), tokio::runtime::Handle::current()), true, cluster.into())
}

fn changed(key: &str) -> Vec<ChangeEvent> {
    vec![ChangeEvent::Row { table: "operation".to_string(), key: key.to_string() }]
}

/// Returns the names of units.
fn names(woken: TenantUnits) -> Vec<String> {
    woken.into_values().flatten().map(|unit| unit.to_string()).collect()
}

const ID: &str = "00000000-0000-0000-0000-000000000001";
const UNIT: &str = "argocd/operation-00000000-0000-0000-0000-000000000001";

#[tokio::test]
async fn an_abandoned_operation_is_rechecked_within_a_minute() {
    let (ledger, instance) = ledger().await;
    let agent = agent(&ledger);
    let begun = operation(ID, &instance, OperationState::InProgress);
    ledger.commit(&[RowChange::insert(&begun)]).await.unwrap();
    assert!(names(agent.units_to_trigger(&changed(ID)).await.unwrap()).is_empty(), "another agent may process it");
    let now = Instant::now();
    assert!(names(agent.overdue_units(now)).is_empty());
    assert_eq!(names(agent.overdue_units(now + RECHECK_INTERVAL)), [UNIT]);
    assert_eq!(names(agent.overdue_units(now + 3 * RECHECK_INTERVAL)), [UNIT], "rechecked while it is open");
    // Other triggers do not reset the interval.
    assert_eq!(names(agent.units_to_trigger(&[ChangeEvent::Resync]).await.unwrap()), [UNIT]);
    assert_eq!(names(agent.overdue_units(now + 4 * RECHECK_INTERVAL)), [UNIT]);
    let over = Operation { state: OperationState::Completed, ..begun.clone() };
    ledger.commit(&[RowChange::update(&begun, &over)]).await.unwrap();
    assert!(names(agent.units_to_trigger(&changed(ID)).await.unwrap()).is_empty());
    assert!(
        names(agent.overdue_units(now + 9 * RECHECK_INTERVAL)).is_empty() && agent.open_operations().next().is_none(),
        "it has finished"
    );
}

#[tokio::test]
async fn an_operation_of_another_client_waits_for_its_notification() {
    let (ledger, instance) = ledger().await;
    let agent = agent(&ledger);
    ledger.commit(&[RowChange::insert(&operation("mine", &instance, OperationState::Waiting))]).await.unwrap();
    for news in [changed("mine"), vec![ChangeEvent::Resync]] {
        assert!(names(agent.units_to_trigger(&news).await.unwrap()).is_empty());
    }
    assert!(agent.open_operations().next().is_none());
}

#[tokio::test]
async fn an_operation_for_another_cluster_is_ignored() {
    let (ledger, instance) = ledger().await;
    ledger.commit(&[RowChange::insert(&operation(ID, &instance, OperationState::Waiting))]).await.unwrap();
    for news in [changed(ID), vec![ChangeEvent::Resync]] {
        let other = agent_of(&ledger, "another");
        assert!(
            names(other.units_to_trigger(&news).await.unwrap()).is_empty() && other.open_operations().next().is_none()
        );
        assert_eq!(names(agent(&ledger).units_to_trigger(&news).await.unwrap()), [UNIT]);
    }
    // An instance on a cluster without a known uid counts as local.
    let mappings: Vec<KubernetesToDatabase> = ledger.list(&Filter::all()).await.unwrap();
    ledger.commit(&mappings.iter().map(RowChange::delete).collect::<Vec<_>>()).await.unwrap();
    let other = agent_of(&ledger, "another");
    assert_eq!(names(other.units_to_trigger(&[ChangeEvent::Resync]).await.unwrap()), [UNIT]);
}
