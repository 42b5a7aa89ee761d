//! Names in fleet commands: an ambiguous name is rejected, and a rejected command changes nothing.

use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_gitops::Store;
use switchboard_gitops::ids::{InstanceState, MoveStep};
use switchboard_gitops::instance::fleet::{EngineClient, Fleet, FleetError, InstanceSpec, PlacementInfo};
use switchboard_gitops::instance::{InstanceLimits, InstanceScope};
use switchboard_gitops::rows::fleet::Placement;
use switchboard_gitops::rows::*;
use switchboard_sql::RowChange;

use crate::database::{TestDatabase, on_both};
use crate::fixture::{ARGOCD, ServiceFixture, create, plain, send, uid};
use crate::fleet::{OTHER, deploy_and_find};

on_both! {
    tenants_of_the_same_name_are_moved_by_uid
    environments_of_the_same_name_are_moved_by_uid
    placements_are_listed_with_their_instance
    an_instance_is_listed_with_its_cluster
    a_rejected_add_changes_nothing
}

fn to_prod() -> Value {
    let mut spec = plain();
    spec["destination"] = json!({"environment": "prod", "namespace": "web"});
    spec
}

async fn namespace_uid(fixture: &ServiceFixture) -> String {
    uid(&send(&fixture.tenants, "GET", "/api/v1/namespaces/shop", Value::Null).await.unwrap())
}

fn uids_of(reported: &FleetError) -> &[String] {
    match reported {
        FleetError::Ambiguous { uids, .. } => uids,
        other => panic!("{other}"),
    }
}

/// Two backends on one database, each with a tenant `shop`.
async fn tenants_of_the_same_name_are_moved_by_uid(database: TestDatabase) {
    let mut first = ServiceFixture::without_roles(database, true).await;
    first.settings.shared_database = true;
    first.start().await;
    let second = first.second_backend().await;
    let mut uids = Vec::new();
    for fixture in [&first, &second] {
        fixture.environment("shop", "prod", "token").await;
        deploy_and_find(fixture, "shop", "web", to_prod()).await;
        uids.push(namespace_uid(fixture).await);
    }
    first.add_instance(OTHER).await;
    let fleet = first.fleet();
    let reported = fleet.find_placement("shop", Some("prod")).await.unwrap_err();
    let mut both = uids.clone();
    both.sort();
    assert_eq!(uids_of(&reported), both);
    let words = reported.to_string();
    assert!(words.starts_with("could not select one tenant: 2 have the name `shop`, with the uids `"), "{words}");
    // Placements are listed with the names that a move accepts.
    let names = fleet.placement_names().await.unwrap();
    for of in &uids {
        let (unit, placement) = fleet.find_placement(of, Some("prod")).await.unwrap();
        let user: Vec<ClusterUser> = first.all().await;
        let user = user.iter().find(|user| user.id == unit.user).unwrap();
        assert_eq!((&user.user_name, &names.tenant(&placement.user)), (of, of));
        assert_eq!(names.environment(&placement.environment).as_deref(), Some("prod"));
    }
    // One of them is moved, the other stays.
    let (unit, _) = fleet.find_placement(&uids[1], Some("prod")).await.unwrap();
    let row = fleet.begin_move(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    let row = fleet.finish_move(&row.id, |_| {}).await.unwrap();
    assert_eq!(row.step, MoveStep::Done, "{row:?}");
    let at: Vec<(String, String)> =
        fleet.placements().await.unwrap().into_iter().map(|unit| (unit.tenant_uid, unit.instance)).collect();
    for pair in [(uids[0].clone(), ARGOCD.to_string()), (uids[1].clone(), OTHER.to_string())] {
        assert!(at.contains(&pair), "{pair:?} is not in {at:?}");
    }
    // Without the other placement the name is unambiguous, though the other tenant's row still exists.
    let gone: Vec<Placement> = first.all().await;
    let gone = gone.iter().find(|row| row.user == unit.user).unwrap();
    first.ledger.commit(&[RowChange::delete(gone)]).await.unwrap();
    let (left, _) = fleet.find_placement("shop", Some("prod")).await.unwrap();
    assert_ne!(left.user, unit.user);
}

/// A deleted environment stays while its deployments move, and the user can have created another one with the same name
/// meanwhile.
async fn environments_of_the_same_name_are_moved_by_uid(database: TestDatabase) {
    let mut fixture = ServiceFixture::on_two_clusters(database).await;
    fixture.environment("shop", "prod", "token").await;
    fixture.environment("shop", "next", "token").await;
    deploy_and_find(&fixture, "shop", "web", to_prod()).await;
    let mut spec = to_prod();
    spec["destination"]["environment"] = "next".into();
    deploy_and_find(&fixture, "shop", "api", spec).await;
    fixture.wait_until_settled().await;
    fixture.kill().await;
    let rows: Vec<ApiToDatabase> = fixture.all().await;
    let next = rows.iter().find(|row| row.name == "next").unwrap();
    let renamed = ApiToDatabase { name: "prod".into(), ..next.clone() };
    fixture.ledger.commit(&[RowChange::delete(next), RowChange::insert(&renamed)]).await.unwrap();
    let fleet = fixture.fleet();
    let reported = fleet.find_placement("shop", Some("prod")).await.unwrap_err();
    assert!(reported.to_string().starts_with("could not select one environment: 2 have the name `prod`"), "{reported}");
    assert!(uids_of(&reported).contains(&next.resource_uid.to_string()), "{reported}");
    let names = fleet.placement_names().await.unwrap();
    for of in uids_of(&reported) {
        let (unit, _) = fleet.find_placement("shop", Some(of)).await.unwrap();
        assert_eq!(names.environment(&unit.environment).as_deref(), Some(of.as_str()));
    }
}

async fn placements_are_listed_with_their_instance(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    fixture.environment("shop", "prod", "token").await;
    deploy_and_find(&fixture, "shop", "web", plain()).await;
    deploy_and_find(&fixture, "shop", "api", plain()).await;
    deploy_and_find(&fixture, "shop", "far", to_prod()).await;
    deploy_and_find(&fixture, "bank", "vault", plain()).await;
    fixture.wait_until_settled().await;
    let fleet = fixture.fleet();
    let units = fleet.placements().await.unwrap();
    let short = |unit: &PlacementInfo| (unit.tenant.clone(), unit.environment.clone(), unit.applications);
    assert_eq!(
        units.iter().map(short).collect::<Vec<_>>(),
        [("bank".into(), None, 1), ("shop".into(), None, 2), ("shop".into(), Some("prod".into()), 1)]
    );
    assert_eq!(units[1].tenant_uid, namespace_uid(&fixture).await);
    assert!(units.iter().all(|unit| unit.instance == ARGOCD && unit.moving.is_none()), "{units:?}");
    // The error lists the placements to move away.
    let reported = fleet.remove(ARGOCD, false).await.unwrap_err().to_string();
    assert!(reported.contains("it has 3 placements: `bank`, `shop`, `shop --environment prod`\n"), "{reported}");
    assert!(reported.contains("`switchboard gitops fleet list --placements`"), "{reported}");
    // A moving placement is listed with its target.
    fixture.add_instance(OTHER).await;
    let (unit, _) = fleet.find_placement("bank", None).await.unwrap();
    let quiet =
        Fleet::new(Store::new(fixture.ledger.clone(), tokio::runtime::Handle::current()), fixture.engine.clone(), true);
    let target = quiet.instance(OTHER).await.unwrap();
    let row = quiet.begin_move(&unit, &target).await.unwrap();
    let moving = fleet.placements().await.unwrap();
    let said = |units: &[PlacementInfo]| units.iter().find(|unit| unit.tenant == "bank").unwrap().moving.clone();
    // An agent can have completed the move by now.
    let over = fixture.all::<Placement>().await.iter().all(|row| row.moving.is_none());
    assert!(over || said(&moving).as_deref() == Some(OTHER), "{moving:?}");
    fleet.finish_move(&row.id, |_| {}).await.unwrap();
    assert_eq!(said(&fleet.placements().await.unwrap()), None);
}

/// Namespaces of the same name, on two clusters.
async fn an_instance_is_listed_with_its_cluster(database: TestDatabase) {
    let first = ServiceFixture::without_roles(database, true).await;
    let second = first.second_engine().await;
    for fixture in [&first, &second] {
        let system = send(&fixture.engine, "GET", "/api/v1/namespaces/kube-system", Value::Null).await.unwrap();
        let member = fixture.fleet().set_state(ARGOCD, InstanceState::Cordoned).await.unwrap();
        let entries = fixture.fleet().list().await.unwrap();
        let entry = entries.iter().find(|entry| entry.candidate.instance.id == member.instance).unwrap();
        assert_eq!(Value::from(entry)["cluster"], system["metadata"]["uid"]);
    }
}

/// The cluster has no Argo CD yet.
async fn a_rejected_add_changes_nothing(database: TestDatabase) {
    let cluster = Cluster::ephemeral().await;
    cluster.start_controllers();
    let client = cluster.client();
    let ledger = database.ready().await;
    let fleet = Fleet::new(Store::new(ledger.clone(), tokio::runtime::Handle::current()), client.clone(), true);
    let limits = InstanceLimits { max_applications: None, max_environments: None };
    let wanted = InstanceSpec {
        namespace: "third",
        limits,
        reach: InstanceScope::Cluster,
        create: false,
        force: false,
        cluster_recreated: false,
    };
    let kinds = async || {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        send(&client, "GET", path, Value::Null).await.unwrap()["items"].as_array().unwrap().len()
    };
    let before = ledger.export().await.unwrap();
    assert!(matches!(fleet.add(&wanted).await, Err(FleetError::NoNamespace(_))));
    assert_eq!(kinds().await, 0, "the namespace does not exist");
    create(&client, "/api/v1/namespaces", json!({"metadata": {"name": "third"}})).await;
    EngineClient::new(client.clone()).set_namespace_owner("third", Some("another")).await.unwrap();
    for create in [false, true] {
        let reported = fleet.add(&InstanceSpec { create, ..wanted }).await;
        assert!(matches!(reported, Err(FleetError::OtherDatabase(_))));
        assert_eq!(kinds().await, 0, "it belongs to another database");
    }
    let odd = fleet.add(&InstanceSpec { namespace: "No_Name", create: true, ..wanted }).await;
    assert!(matches!(odd, Err(FleetError::Engine(_))));
    assert_eq!(kinds().await, 0, "the name is invalid");
    assert_eq!(ledger.export().await.unwrap(), before, "and no row is written");
    fleet.add(&InstanceSpec { force: true, ..wanted }).await.unwrap();
    assert_eq!(kinds().await, 2);
}
