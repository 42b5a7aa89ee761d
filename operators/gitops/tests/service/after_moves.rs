//! Objects that stay at the source of a move exactly as long as they are needed.

use std::sync::Arc;

use switchboard_gitops::argocd::project_name;
use switchboard_gitops::ids::{MoveStep, OperationId, OperationResource};
use switchboard_gitops::moves::CLEANUP_MS;
use switchboard_gitops::operation::{self, OperationRequest};
use switchboard_gitops::random_id;
use switchboard_gitops::rows::fleet::{Move, Placement};
use switchboard_gitops::rows::{Application, EngineInstance, Operation};
use switchboard_sql::{DbTimestamp, RowChange};

use crate::database::{TestDatabase, on_both};
use crate::fixture::{ARGO, ARGOCD, DEPLOYMENTS, GROUP, ServiceFixture, plain};
use crate::fleet::{OTHER, advance_to, deploy_and_find, deploy_to_environment, move_placement};

on_both! {
    a_running_deletion_keeps_its_secrets_after_a_move
    a_project_is_not_recreated_at_the_source_of_a_move
    a_move_ends_before_stuck_deletions_at_its_source
    objects_at_an_unreachable_target_are_removed_later
    an_instance_with_stuck_removals_is_removed_by_force
}

/// Number of Secrets and projects of the service in the namespace of an Argo CD instance.
async fn argocd_objects(fixture: &ServiceFixture, at: &str) -> usize {
    let secrets = fixture.argocd_secrets().await;
    let projects = fixture.list_objects(&format!("{ARGO}/appprojects")).await;
    let all = secrets.iter().chain(&projects).filter(|one| one["metadata"]["namespace"] == *at);
    all.filter(|one| one["metadata"]["name"] != "default").count()
}

/// Deploys two deployments to an environment of the first Argo CD instance and starts deleting one, which gets stuck.
async fn with_stuck_deletion(fixture: &ServiceFixture) -> String {
    fixture.environment("shop", "one", "token-one").await;
    deploy_to_environment(fixture, "one", "web").await;
    let (api, _) = deploy_to_environment(fixture, "one", "api").await;
    fixture.wait_until_settled().await;
    fixture.add_instance(OTHER).await;
    delete_without_end(fixture, "api", &api).await;
    api
}

/// Deletes a deployment of `shop` at the first Argo CD instance, which does not finish the deletion.
pub async fn delete_without_end(fixture: &ServiceFixture, name: &str, uid: &str) {
    fixture.fake_argocd.stuck(true);
    fixture.delete("shop", DEPLOYMENTS, name).await;
    fixture
        .wait_for("a deletion that does not end", async || {
            fixture.application(uid).await.filter(|one| one["metadata"]["deletionTimestamp"].is_string())
        })
        .await;
}

/// Argo CD deletes no resources of an Application whose project or cluster is deleted.
async fn a_running_deletion_keeps_its_secrets_after_a_move(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let api = with_stuck_deletion(&fixture).await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", Some("one")).await.unwrap();
    fleet.begin_move(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    let step = async |step: MoveStep| (fixture.all::<Move>().await[0].step == step).then_some(());
    fixture.wait_for("the last step", async || step(MoveStep::Cleanup).await).await;
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    assert_eq!(argocd_objects(&fixture, ARGOCD).await, 2, "the Secret of the cluster and the project");
    assert!(step(MoveStep::Cleanup).await.is_some(), "it waits");
    fixture.fake_argocd.stuck(false);
    fixture.wait_for("the end of the move", async || step(MoveStep::Done).await).await;
    assert!(fixture.application(&api).await.is_none());
    assert_eq!(fixture.cascades(), 1, "with what it deployed");
    assert_eq!(argocd_objects(&fixture, ARGOCD).await, 0);
    fixture.wait_until_settled().await;
    assert_eq!(argocd_objects(&fixture, ARGOCD).await, 0, "and nothing is created again");
}

/// An operation requested before a move targets the source of the move.
async fn a_project_is_not_recreated_at_the_source_of_a_move(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.wait_until_settled().await;
    let source = fixture.all::<EngineInstance>().await.remove(0);
    fixture.add_instance(OTHER).await;
    assert_eq!(move_placement(&fixture, "shop", None, OTHER).await.step, MoveStep::Done);
    fixture.wait_until_settled().await;
    let user = fixture.all::<Placement>().await.remove(0).user;
    let wish = OperationRequest {
        instance: &source.id,
        resource: OperationResource::Application,
        resource_id: user.as_str(),
        owner: &user,
    };
    let late = operation::row(&wish, OperationId::from(random_id::new()), DbTimestamp::default());
    fixture.ledger.commit(&[RowChange::insert(&late)]).await.unwrap();
    fixture
        .wait_for("its end", async || {
            let all: Vec<Operation> = fixture.all().await;
            all.into_iter().find(|row| row.id == late.id && !switchboard_gitops::related_rows::is_open(row))
        })
        .await;
    let projects = fixture.list_objects(&format!("{ARGO}/appprojects")).await;
    let ours = projects.iter().filter(|one| one["metadata"]["name"] == *project_name(&user));
    let places: Vec<_> = ours.map(|one| one["metadata"]["namespace"].as_str().unwrap()).collect();
    assert_eq!(places, [OTHER]);
}

/// A finalizer of another controller can block an Application forever.
async fn a_move_ends_before_stuck_deletions_at_its_source(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.drives_moves = false;
    fixture.start().await;
    let api = with_stuck_deletion(&fixture).await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", Some("one")).await.unwrap();
    let row = fleet.begin_move(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    advance_to(&fixture, &row, MoveStep::Cleanup).await;
    let late = move || DbTimestamp::from_unix_us(jiff::Timestamp::now().as_microsecond() + 2 * CLEANUP_MS * 1000);
    let moved = fixture.fleet().with_clock(Arc::new(late)).finish_move(&row.id, |_| ()).await.unwrap();
    assert_eq!(moved.step, MoveStep::Done);
    assert!(moved.human_readable_state.unwrap_or_default().contains("still use"), "the list has what is left");
    assert_eq!(argocd_objects(&fixture, ARGOCD).await, 2);
    fixture.fake_argocd.stuck(false);
    fixture.wait_for("nothing left", async || (argocd_objects(&fixture, ARGOCD).await == 0).then_some(())).await;
    assert!(fixture.application(&api).await.is_none());
    assert_eq!(fixture.cascades(), 1, "with what it deployed");
    fixture.wait_until_settled().await;
    assert_eq!(argocd_objects(&fixture, OTHER).await, 2);
}

/// A placement that is rolled back does not wait for its target.
async fn objects_at_an_unreachable_target_are_removed_later(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.drives_moves = false;
    fixture.start().await;
    fixture.environment("shop", "one", "token-one").await;
    let (web, _) = deploy_to_environment(&fixture, "one", "web").await;
    fixture.wait_until_settled().await;
    fixture.add_instance(OTHER).await;
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", Some("one")).await.unwrap();
    let row = fleet.begin_move(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    advance_to(&fixture, &row, MoveStep::Pause).await;
    assert_eq!(argocd_objects(&fixture, OTHER).await, 2, "it is prepared");
    let (row, placement) = (fixture.all::<Move>().await.remove(0), fixture.all::<Placement>().await.remove(0));
    let given_up = Move { step: MoveStep::RolledBack, ..row.clone() };
    let free = Placement { moving: None, ..placement.clone() };
    // Operations at the source meanwhile do not affect the copy.
    let application = fixture.all::<Application>().await.remove(0);
    let wish = OperationRequest {
        instance: &row.source,
        resource: OperationResource::Application,
        resource_id: application.id.as_str(),
        owner: &row.user,
    };
    let asked = operation::row(&wish, OperationId::from(random_id::new()), DbTimestamp::default());
    let changes = [RowChange::insert(&asked), RowChange::update(&row, &given_up), RowChange::update(&placement, &free)];
    fixture.ledger.commit(&changes).await.unwrap();
    fixture.wait_for("nothing left", async || (argocd_objects(&fixture, OTHER).await == 0).then_some(())).await;
    assert_eq!(argocd_objects(&fixture, ARGOCD).await, 2);
    assert_eq!(fixture.wait_for("one of it", async || fixture.find_application(&web).await).await.0, ARGOCD);
    fixture.wait_until_settled().await;
    assert_eq!(fixture.cascades(), 0);
}

/// Argo CD can be lost for good, so that no removal is ever confirmed.
async fn an_instance_with_stuck_removals_is_removed_by_force(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let (web, _) = deploy_and_find(&fixture, "shop", "web", plain()).await;
    fixture.wait_until_settled().await;
    fixture.add_instance(OTHER).await;
    delete_without_end(&fixture, "web", &web).await;
    // Simulates a placement that was moved away while removals continue.
    let gone: Vec<RowChange> = fixture.all::<Placement>().await.iter().map(RowChange::delete).collect();
    fixture.ledger.commit(&gone).await.unwrap();
    let fleet = fixture.fleet();
    let refused = fleet.remove(ARGOCD, false).await.unwrap_err().to_string();
    assert!(refused.contains("--force"), "{refused}");
    fleet.remove(ARGOCD, true).await.unwrap();
    let left: Vec<_> = fixture.all::<EngineInstance>().await.into_iter().map(|one| one.namespace).collect();
    assert_eq!(left, [OTHER]);
    assert!(fixture.all::<Operation>().await.iter().all(|row| !switchboard_gitops::related_rows::is_open(row)));
    let notifications = fixture.list_objects(&format!("{GROUP}/namespaces/{ARGOCD}/operations")).await;
    assert!(notifications.is_empty(), "no agent would process it: {notifications:?}");
    assert_eq!(deploy_and_find(&fixture, "shop", "api", plain()).await.1, OTHER);
}
