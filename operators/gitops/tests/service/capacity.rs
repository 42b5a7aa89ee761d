//! Instance limits bind placement and moves.

use serde_json::json;
use switchboard_gitops::ids::{InstanceState, MoveStep};
use switchboard_gitops::instance::fleet::{FleetError, InstanceSpec};
use switchboard_gitops::instance::{InstanceLimits, InstanceScope};
use switchboard_gitops::rows::fleet::{Move, Placement};
use switchboard_gitops::rows::{Application, ClusterUser};

use crate::database::{TestDatabase, on_both};
use crate::fixture::{ARGOCD, ServiceFixture, create, plain, uid};
use crate::fleet::{OTHER, deploy_and_find};

on_both! {
    a_placement_is_not_moved_to_a_cordoned_or_full_instance
    an_instance_never_exceeds_its_limits
    moving_placements_count_towards_the_limits
}

/// Sets the placement limit of an instance.
async fn set_limit(fixture: &ServiceFixture, namespace: &str, max_units: i64) {
    let limits = InstanceLimits { max_applications: None, max_environments: Some(max_units) };
    let wanted = InstanceSpec {
        namespace,
        limits,
        reach: InstanceScope::Cluster,
        create: false,
        force: false,
        cluster_recreated: false,
    };
    fixture.fleet().add(&wanted).await.unwrap();
}

/// Number of deployments whose placement waits for capacity.
async fn waiting(fixture: &ServiceFixture) -> usize {
    fixture.unit_states().await.matches("Argo CD instances are full").count()
}

async fn an_instance_never_exceeds_its_limits(database: TestDatabase) {
    const TENANTS: usize = 12;
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    set_limit(&fixture, ARGOCD, 3).await;
    for number in 0..TENANTS {
        let name = format!("tenant-{number}");
        create(&fixture.tenants, "/api/v1/namespaces", json!({"metadata": {"name": name}})).await;
        fixture.deploy(&name, "web", plain()).await;
    }
    // Several of the deployments are decided concurrently.
    fixture.start().await;
    fixture.wait_for("all are decided on", async || (waiting(&fixture).await == TENANTS - 3).then_some(())).await;
    assert_eq!(fixture.all::<Placement>().await.len(), 3);
    assert_eq!(fixture.all::<Application>().await.len(), 3);
    assert_eq!(fixture.all::<ClusterUser>().await.len(), TENANTS, "a tenant that waits has a row");
    // With more capacity, waiting deployments proceed.
    set_limit(&fixture, ARGOCD, 5).await;
    fixture.wait_for("two more", async || (fixture.all::<Placement>().await.len() == 5).then_some(())).await;
    fixture.wait_for("the others wait", async || (waiting(&fixture).await == TENANTS - 5).then_some(())).await;
}

async fn moving_placements_count_towards_the_limits(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.drives_moves = false;
    fixture.start().await;
    for tenant in ["shop", "bank"] {
        deploy_and_find(&fixture, tenant, "web", plain()).await;
    }
    fixture.add_instance(OTHER).await;
    set_limit(&fixture, OTHER, 1).await;
    let fleet = fixture.fleet();
    let target = fleet.instance(OTHER).await.unwrap();
    let (shop, bank) =
        (fleet.find_placement("shop", None).await.unwrap().0, fleet.find_placement("bank", None).await.unwrap().0);
    let begun = tokio::join!(fleet.begin_move(&shop, &target), fleet.begin_move(&bank, &target));
    let (begun, refused) = match begun {
        (Ok(begun), Err(refused)) | (Err(refused), Ok(begun)) => (begun, refused),
        both => panic!("{both:?}"),
    };
    assert!(refused.to_string().contains("has reached its limit of 1 placements (1 of them incoming)"), "{refused}");
    // A cordoned instance takes no new placement either.
    fleet.set_state(ARGOCD, InstanceState::Cordoned).await.unwrap();
    create(&fixture.tenants, "/api/v1/namespaces", json!({"metadata": {"name": "later"}})).await;
    let later = uid(&fixture.deploy("later", "web", plain()).await);
    fixture.wait_for("it waits", async || (waiting(&fixture).await == 1).then_some(())).await;
    // A rolled-back placement frees its capacity.
    assert!(fleet.roll_back_move(&begun.id).await.unwrap());
    assert_eq!(fleet.finish_move(&begun.id, |_| ()).await.unwrap().step, MoveStep::RolledBack);
    assert_eq!(fixture.wait_for("an Application", async || fixture.find_application(&later).await).await.0, OTHER);
    let entries = fleet.list().await.unwrap();
    let other = entries.iter().find(|entry| entry.candidate.instance.id == target.id).unwrap();
    assert_eq!((other.candidate.environments, other.candidate.incoming.placements), (1, 0));
}

async fn a_placement_is_not_moved_to_a_cordoned_or_full_instance(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    for name in ["web", "api"] {
        deploy_and_find(&fixture, "shop", name, plain()).await;
    }
    fixture.add_instance(OTHER).await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", None).await.unwrap();
    let refused = async || {
        let target = fleet.instance(OTHER).await.unwrap();
        match fleet.begin_move(&unit, &target).await {
            Err(error @ FleetError::TargetRefused { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    fleet.set_state(OTHER, InstanceState::Cordoned).await.unwrap();
    assert!(refused().await.contains("is cordoned\nhint: "));
    fleet.set_state(OTHER, InstanceState::Active).await.unwrap();
    let limits = InstanceLimits { max_applications: Some(1), max_environments: None };
    fleet
        .add(&InstanceSpec {
            namespace: OTHER,
            limits,
            reach: InstanceScope::Cluster,
            create: false,
            force: false,
            cluster_recreated: false,
        })
        .await
        .unwrap();
    assert!(refused().await.contains("has 0 of at most 1 Applications, and the move would add 2"));
    assert!(fixture.all::<Move>().await.is_empty(), "no move was started");
    let limits = InstanceLimits { max_applications: Some(2), max_environments: None };
    fleet
        .add(&InstanceSpec {
            namespace: OTHER,
            limits,
            reach: InstanceScope::Cluster,
            create: false,
            force: false,
            cluster_recreated: false,
        })
        .await
        .unwrap();
    let target = fleet.instance(OTHER).await.unwrap();
    assert_ne!(fleet.begin_move(&unit, &target).await.unwrap().source, target.id);
    assert_ne!(target.namespace, ARGOCD);
}
