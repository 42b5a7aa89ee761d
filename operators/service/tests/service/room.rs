//! Whoever places a unit or moves one is bound by what is said of an instance.

use serde_json::json;
use switchboard_gitops::fleet::setup::{Limits, Reach};
use switchboard_ledger::ids::{InstanceState, MoveStep};
use switchboard_ledger::rows::Application;
use switchboard_ledger::rows::fleet::{Move, Placement};
use switchboard_service::fleet::{FleetError, Wanted};

use crate::base::{Base, on_both};
use crate::fleet::{OTHER, placed};
use crate::stage::{ARGOCD, Stage, create, plain, uid};

on_both! {
    a_unit_is_not_moved_to_where_nothing_new_is_taken
    an_instance_gets_no_more_than_it_takes_however_many_come_at_once
    units_on_their_way_take_the_room_of_those_that_come_later
}

/// An instance that takes so many units.
async fn limited(stage: &Stage, namespace: &str, max_units: i64) {
    let limits = Limits { max_applications: None, max_environments: Some(max_units) };
    let wanted = Wanted { namespace, limits, reach: Reach::Cluster, create: false, force: false, anew: false };
    stage.fleet().add(&wanted).await.unwrap();
}

/// How many units wait for room.
async fn waiting(stage: &Stage) -> usize {
    stage.told().await.matches("Argo CD instances are full").count()
}

async fn an_instance_gets_no_more_than_it_takes_however_many_come_at_once(base: Base) {
    const TENANTS: usize = 12;
    let mut stage = Stage::set(base, false).await;
    limited(&stage, ARGOCD, 3).await;
    for number in 0..TENANTS {
        let name = format!("tenant-{number}");
        create(&stage.tenants, "/api/v1/namespaces", json!({"metadata": {"name": name}})).await;
        stage.deploy(&name, "web", plain()).await;
    }
    // All of them are decided on as soon as somebody is there, several at a time.
    stage.start().await;
    stage.until("all are decided on", async || (waiting(&stage).await == TENANTS - 3).then_some(())).await;
    assert_eq!(stage.all::<Placement>().await.len(), 3);
    assert_eq!(stage.all::<Application>().await.len(), 3);
    // With more room they go on.
    limited(&stage, ARGOCD, 5).await;
    stage.until("two more", async || (stage.all::<Placement>().await.len() == 5).then_some(())).await;
    stage.until("the others wait", async || (waiting(&stage).await == TENANTS - 5).then_some(())).await;
}

async fn units_on_their_way_take_the_room_of_those_that_come_later(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.carries = false;
    stage.start().await;
    for tenant in ["shop", "bank"] {
        placed(&stage, tenant, "web", plain()).await;
    }
    stage.add_instance(OTHER).await;
    limited(&stage, OTHER, 1).await;
    let fleet = stage.fleet();
    let target = fleet.instance(OTHER).await.unwrap();
    let (shop, bank) = (fleet.unit("shop", None).await.unwrap().0, fleet.unit("bank", None).await.unwrap().0);
    let begun = tokio::join!(fleet.begin(&shop, &target), fleet.begin(&bank, &target));
    let (begun, refused) = match begun {
        (Ok(begun), Err(refused)) | (Err(refused), Ok(begun)) => (begun, refused),
        both => panic!("{both:?}"),
    };
    assert!(refused.to_string().contains("has all of its 1 units (1 of them on their way)"), "{refused}");
    // Nor is a new unit put there.
    fleet.set_state(ARGOCD, InstanceState::Cordoned).await.unwrap();
    create(&stage.tenants, "/api/v1/namespaces", json!({"metadata": {"name": "later"}})).await;
    let later = uid(&stage.deploy("later", "web", plain()).await);
    stage.until("it waits", async || (waiting(&stage).await == 1).then_some(())).await;
    // A unit that goes back leaves its room to others.
    assert!(fleet.turn_back(&begun.id).await.unwrap());
    assert_eq!(fleet.finish(&begun.id, |_| ()).await.unwrap().step, MoveStep::Returned);
    assert_eq!(stage.until("an Application", async || stage.anywhere(&later).await).await.0, OTHER);
    let entries = fleet.list().await.unwrap();
    let other = entries.iter().find(|entry| entry.candidate.instance.id == target.id).unwrap();
    assert_eq!((other.candidate.environments, other.candidate.coming.units), (1, 0));
}

async fn a_unit_is_not_moved_to_where_nothing_new_is_taken(base: Base) {
    let stage = Stage::new(base).await;
    for name in ["web", "api"] {
        placed(&stage, "shop", name, plain()).await;
    }
    stage.add_instance(OTHER).await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", None).await.unwrap();
    let refused = async || {
        let target = fleet.instance(OTHER).await.unwrap();
        match fleet.begin(&unit, &target).await {
            Err(error @ FleetError::NotTaken { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    fleet.set_state(OTHER, InstanceState::Cordoned).await.unwrap();
    assert!(refused().await.contains("is cordoned\nhint: "));
    fleet.set_state(OTHER, InstanceState::Active).await.unwrap();
    let limits = Limits { max_applications: Some(1), max_environments: None };
    fleet
        .add(&Wanted { namespace: OTHER, limits, reach: Reach::Cluster, create: false, force: false, anew: false })
        .await
        .unwrap();
    assert!(refused().await.contains("has 0 of at most 1 Applications, and 2 would come"));
    assert!(stage.all::<Move>().await.is_empty(), "nothing was begun");
    let limits = Limits { max_applications: Some(2), max_environments: None };
    fleet
        .add(&Wanted { namespace: OTHER, limits, reach: Reach::Cluster, create: false, force: false, anew: false })
        .await
        .unwrap();
    let target = fleet.instance(OTHER).await.unwrap();
    assert_ne!(fleet.begin(&unit, &target).await.unwrap().source, target.id);
    assert_ne!(target.namespace, ARGOCD);
}
