//! Whoever moves a unit is bound by what is said of an instance.

use switchboard_gitops::fleet::setup::{Limits, Reach};
use switchboard_ledger::ids::InstanceState;
use switchboard_ledger::rows::fleet::Move;
use switchboard_service::fleet::{FleetError, Wanted};

use crate::base::{Base, on_both};
use crate::fleet::{OTHER, placed};
use crate::stage::{ARGOCD, Stage, plain};

on_both! {
    a_unit_is_not_moved_to_where_nothing_new_is_taken
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
