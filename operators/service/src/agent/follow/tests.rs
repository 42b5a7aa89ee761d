#![allow(clippy::unwrap_used)]

use switchboard_gitops::flow::tenant::Namespace;
use switchboard_ledger::ids::OperationResource;
use switchboard_ledger::rows::{EngineInstance, KubernetesToDatabase};
use switchboard_ledger::{Address, Change, Filter, Ledger, Moment, Sealing};

use super::*;
use crate::store::Store;
use crate::{ids, instance};

/// A database with an Argo CD in the namespace `argocd`.
pub async fn ledger() -> (Ledger, EngineInstance) {
    let ledger = Ledger::open(&Address::parse("sqlite::memory:").unwrap(), Sealing::plain()).await.unwrap();
    ledger.migrate().await.unwrap();
    let namespace = Namespace { name: "argocd".to_string(), uid: "n".into() };
    let mut view = ledger.view().await.unwrap();
    let changes = instance::register(&mut view, &"s".into(), &namespace, ids::new, Moment::default()).await.unwrap();
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
        created_on: Moment::default(),
        last_state_update: Moment::default(),
        state,
        human_readable_state: None,
        gc_expiration_s: None,
    }
}

pub fn agent(ledger: &Ledger) -> Agent {
    agent_of(ledger, "s")
}

/// The agent of a cluster.
fn agent_of(ledger: &Ledger, cluster: &str) -> Agent {
    Agent::new(Store::new(ledger.clone(), tokio::runtime::Handle::current()), true, cluster.into())
}

fn changed(key: &str) -> Vec<Signal> {
    vec![Signal::Changed { table: "operation".to_string(), key: key.to_string() }]
}

/// The names of units.
fn names(woken: Woken) -> Vec<String> {
    woken.into_values().flatten().map(|unit| unit.to_string()).collect()
}

const ID: &str = "00000000-0000-0000-0000-000000000001";
const UNIT: &str = "argocd/operation-00000000-0000-0000-0000-000000000001";

#[tokio::test]
async fn what_somebody_began_and_left_is_looked_at_within_a_minute() {
    let (ledger, instance) = ledger().await;
    let agent = agent(&ledger);
    let begun = operation(ID, &instance, OperationState::InProgress);
    ledger.commit(&[Change::insert(&begun)]).await.unwrap();
    assert!(names(agent.woken(&changed(ID)).await.unwrap()).is_empty(), "another agent may be at it");
    let now = Instant::now();
    assert!(names(agent.late(now)).is_empty());
    assert_eq!(names(agent.late(now + LOOK_AFTER)), [UNIT]);
    assert_eq!(names(agent.late(now + 3 * LOOK_AFTER)), [UNIT], "and again, as long as it is open");
    // Whatever else is looked at meanwhile puts it off.
    assert_eq!(names(agent.woken(&[Signal::Everything]).await.unwrap()), [UNIT]);
    assert_eq!(names(agent.late(now + 4 * LOOK_AFTER)), [UNIT]);
    let over = Operation { state: OperationState::Completed, ..begun.clone() };
    ledger.commit(&[Change::update(&begun, &over)]).await.unwrap();
    assert!(names(agent.woken(&changed(ID)).await.unwrap()).is_empty());
    assert!(names(agent.late(now + 9 * LOOK_AFTER)).is_empty() && agent.open().next().is_none(), "it is over");
}

#[tokio::test]
async fn what_somebody_else_wrote_is_left_to_who_rings_for_it() {
    let (ledger, instance) = ledger().await;
    let agent = agent(&ledger);
    ledger.commit(&[Change::insert(&operation("mine", &instance, OperationState::Waiting))]).await.unwrap();
    for news in [changed("mine"), vec![Signal::Everything]] {
        assert!(names(agent.woken(&news).await.unwrap()).is_empty());
    }
    assert!(agent.open().next().is_none());
}

#[tokio::test]
async fn what_is_for_another_clusters_agent_is_left_to_it() {
    let (ledger, instance) = ledger().await;
    ledger.commit(&[Change::insert(&operation(ID, &instance, OperationState::Waiting))]).await.unwrap();
    for news in [changed(ID), vec![Signal::Everything]] {
        let other = agent_of(&ledger, "another");
        assert!(names(other.woken(&news).await.unwrap()).is_empty() && other.open().next().is_none());
        assert_eq!(names(agent(&ledger).woken(&news).await.unwrap()), [UNIT]);
    }
    // Of a cluster that no uid is known of, nobody can say that it is another.
    let mappings: Vec<KubernetesToDatabase> = ledger.list(&Filter::all()).await.unwrap();
    ledger.commit(&mappings.iter().map(Change::delete).collect::<Vec<_>>()).await.unwrap();
    let other = agent_of(&ledger, "another");
    assert_eq!(names(other.woken(&[Signal::Everything]).await.unwrap()), [UNIT]);
}
