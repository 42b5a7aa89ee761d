//! Who asks about the fleet by a name gets what is meant by it, or is told that several are; who is refused has changed nothing.

use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_gitops::fleet::setup::{Limits, Reach};
use switchboard_ledger::Change;
use switchboard_ledger::ids::{InstanceState, MoveStep};
use switchboard_ledger::rows::fleet::Placement;
use switchboard_ledger::rows::*;
use switchboard_service::Store;
use switchboard_service::fleet::{Engine, Fleet, FleetError, Placed, Wanted};

use crate::base::{Base, on_both};
use crate::fleet::{OTHER, placed};
use crate::stage::{ARGOCD, Stage, create, plain, send, uid};

on_both! {
    tenants_of_one_name_are_moved_by_the_uids_of_their_namespaces
    environments_of_one_name_are_moved_by_their_uids
    units_are_told_with_where_they_are_and_who_keeps_an_instance
    an_instance_is_told_by_its_cluster
    an_add_that_is_refused_changes_nothing
}

fn to_prod() -> Value {
    let mut spec = plain();
    spec["destination"] = json!({"environment": "prod", "namespace": "web"});
    spec
}

async fn namespace_uid(stage: &Stage) -> String {
    uid(&send(&stage.tenants, "GET", "/api/v1/namespaces/shop", Value::Null).await.unwrap())
}

fn uids_of(told: &FleetError) -> &[String] {
    match told {
        FleetError::Several { uids, .. } => uids,
        other => panic!("{other}"),
    }
}

/// Two backends over one database, each with a tenant `shop`.
async fn tenants_of_one_name_are_moved_by_the_uids_of_their_namespaces(base: Base) {
    let mut first = Stage::set(base, true).await;
    first.settings.shared = true;
    first.start().await;
    let second = first.beside().await;
    let mut uids = Vec::new();
    for stage in [&first, &second] {
        stage.environment("shop", "prod", "token").await;
        placed(stage, "shop", "web", to_prod()).await;
        uids.push(namespace_uid(stage).await);
    }
    first.add_instance(OTHER).await;
    let fleet = first.fleet();
    let told = fleet.unit("shop", Some("prod")).await.unwrap_err();
    let mut both = uids.clone();
    both.sort();
    assert_eq!(uids_of(&told), both);
    let words = told.to_string();
    assert!(words.starts_with("could not tell which tenant is meant: 2 are called `shop`, by uid `"), "{words}");
    // Whoever shows units to be moved calls them by what a move takes.
    let names = fleet.names().await.unwrap();
    for of in &uids {
        let (unit, placement) = fleet.unit(of, Some("prod")).await.unwrap();
        let user: Vec<ClusterUser> = first.all().await;
        let user = user.iter().find(|user| user.id == unit.user).unwrap();
        assert_eq!((&user.user_name, &names.tenant(&placement.user)), (of, of));
        assert_eq!(names.environment(&placement.environment).as_deref(), Some("prod"));
    }
    // One of them moves, and the other stays.
    let (unit, _) = fleet.unit(&uids[1], Some("prod")).await.unwrap();
    let row = fleet.begin(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    let row = fleet.finish(&row.id, |_| {}).await.unwrap();
    assert_eq!(row.step, MoveStep::Done, "{row:?}");
    let at: Vec<(String, String)> =
        fleet.units().await.unwrap().into_iter().map(|unit| (unit.tenant_uid, unit.instance)).collect();
    for pair in [(uids[0].clone(), ARGOCD.to_string()), (uids[1].clone(), OTHER.to_string())] {
        assert!(at.contains(&pair), "{pair:?} is not in {at:?}");
    }
    // Without the other one the name is enough, though its row is there.
    let gone: Vec<Placement> = first.all().await;
    let gone = gone.iter().find(|row| row.user == unit.user).unwrap();
    first.ledger.commit(&[Change::delete(gone)]).await.unwrap();
    let (left, _) = fleet.unit("shop", Some("prod")).await.unwrap();
    assert_ne!(left.user, unit.user);
}

/// One that was deleted stays while what is deployed to it moves; somebody may have made another of its name meanwhile.
async fn environments_of_one_name_are_moved_by_their_uids(base: Base) {
    let mut stage = Stage::apart(base).await;
    stage.environment("shop", "prod", "token").await;
    stage.environment("shop", "next", "token").await;
    placed(&stage, "shop", "web", to_prod()).await;
    let mut spec = to_prod();
    spec["destination"]["environment"] = "next".into();
    placed(&stage, "shop", "api", spec).await;
    stage.settled().await;
    stage.kill().await;
    let rows: Vec<ApiToDatabase> = stage.all().await;
    let next = rows.iter().find(|row| row.name == "next").unwrap();
    let renamed = ApiToDatabase { name: "prod".into(), ..next.clone() };
    stage.ledger.commit(&[Change::delete(next), Change::insert(&renamed)]).await.unwrap();
    let fleet = stage.fleet();
    let told = fleet.unit("shop", Some("prod")).await.unwrap_err();
    assert!(told.to_string().starts_with("could not tell which environment is meant: 2 are called `prod`"), "{told}");
    assert!(uids_of(&told).contains(&next.resource_uid.to_string()), "{told}");
    let names = fleet.names().await.unwrap();
    for of in uids_of(&told) {
        let (unit, _) = fleet.unit("shop", Some(of)).await.unwrap();
        assert_eq!(names.environment(&unit.environment).as_deref(), Some(of.as_str()));
    }
}

async fn units_are_told_with_where_they_are_and_who_keeps_an_instance(base: Base) {
    let stage = Stage::new(base).await;
    stage.environment("shop", "prod", "token").await;
    placed(&stage, "shop", "web", plain()).await;
    placed(&stage, "shop", "api", plain()).await;
    placed(&stage, "shop", "far", to_prod()).await;
    placed(&stage, "bank", "vault", plain()).await;
    stage.settled().await;
    let fleet = stage.fleet();
    let units = fleet.units().await.unwrap();
    let short = |unit: &Placed| (unit.tenant.clone(), unit.environment.clone(), unit.applications);
    assert_eq!(
        units.iter().map(short).collect::<Vec<_>>(),
        [("bank".into(), None, 1), ("shop".into(), None, 2), ("shop".into(), Some("prod".into()), 1)]
    );
    assert_eq!(units[1].tenant_uid, namespace_uid(&stage).await);
    assert!(units.iter().all(|unit| unit.instance == ARGOCD && unit.moving.is_none()), "{units:?}");
    // Who is to move them away is told which.
    let told = fleet.remove(ARGOCD, false).await.unwrap_err().to_string();
    assert!(told.contains("it has 3 units: `bank`, `shop`, `shop --environment prod`\n"), "{told}");
    assert!(told.contains("`switchboard gitops fleet list --units`"), "{told}");
    // One that is on its way is told with where to.
    stage.add_instance(OTHER).await;
    let (unit, _) = fleet.unit("bank", None).await.unwrap();
    let quiet =
        Fleet::new(Store::new(stage.ledger.clone(), tokio::runtime::Handle::current()), stage.engine.clone(), true);
    let target = quiet.instance(OTHER).await.unwrap();
    let row = quiet.begin(&unit, &target).await.unwrap();
    let moving = fleet.units().await.unwrap();
    let said = |units: &[Placed]| units.iter().find(|unit| unit.tenant == "bank").unwrap().moving.clone();
    // An agent may have carried it there by now.
    let over = stage.all::<Placement>().await.iter().all(|row| row.moving.is_none());
    assert!(over || said(&moving).as_deref() == Some(OTHER), "{moving:?}");
    fleet.finish(&row.id, |_| {}).await.unwrap();
    assert_eq!(said(&fleet.units().await.unwrap()), None);
}

/// Namespaces of one name, on two clusters.
async fn an_instance_is_told_by_its_cluster(base: Base) {
    let first = Stage::set(base, true).await;
    let second = first.engine_beside().await;
    for stage in [&first, &second] {
        let system = send(&stage.engine, "GET", "/api/v1/namespaces/kube-system", Value::Null).await.unwrap();
        let member = stage.fleet().set_state(ARGOCD, InstanceState::Cordoned).await.unwrap();
        let entries = stage.fleet().list().await.unwrap();
        let entry = entries.iter().find(|entry| entry.candidate.instance.id == member.instance).unwrap();
        assert_eq!(Value::from(entry)["cluster"], system["metadata"]["uid"]);
    }
}

/// On a cluster that no Argo CD was on.
async fn an_add_that_is_refused_changes_nothing(base: Base) {
    let cluster = Cluster::ephemeral().await;
    cluster.start_controllers();
    let client = cluster.client();
    let ledger = base.ready().await;
    let fleet = Fleet::new(Store::new(ledger.clone(), tokio::runtime::Handle::current()), client.clone(), true);
    let limits = Limits { max_applications: None, max_environments: None };
    let wanted = Wanted { namespace: "third", limits, reach: Reach::Cluster, create: false, force: false, anew: false };
    let kinds = async || {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        send(&client, "GET", path, Value::Null).await.unwrap()["items"].as_array().unwrap().len()
    };
    let before = ledger.export().await.unwrap();
    assert!(matches!(fleet.add(&wanted).await, Err(FleetError::NoNamespace(_))));
    assert_eq!(kinds().await, 0, "there is no such namespace");
    create(&client, "/api/v1/namespaces", json!({"metadata": {"name": "third"}})).await;
    Engine::new(client.clone()).mark("third", Some("another")).await.unwrap();
    for create in [false, true] {
        let told = fleet.add(&Wanted { create, ..wanted }).await;
        assert!(matches!(told, Err(FleetError::OfAnother(_))));
        assert_eq!(kinds().await, 0, "it is another database's");
    }
    let odd = fleet.add(&Wanted { namespace: "No_Name", create: true, ..wanted }).await;
    assert!(matches!(odd, Err(FleetError::Engine(_))));
    assert_eq!(kinds().await, 0, "there can be no such namespace");
    assert_eq!(ledger.export().await.unwrap(), before, "nor is anything written down");
    fleet.add(&Wanted { force: true, ..wanted }).await.unwrap();
    assert_eq!(kinds().await, 2);
}
