//! What stays behind a unit that moves, for as long as it is needed and no longer.

use std::sync::Arc;

use switchboard_gitops::argo::project_name;
use switchboard_gitops::fleet::moving::CLEAN_MS;
use switchboard_gitops::flow::operation::{self, Wish};
use switchboard_ledger::ids::{MoveStep, OperationId, OperationResource};
use switchboard_ledger::rows::fleet::{Move, Placement};
use switchboard_ledger::rows::{Application, EngineInstance, Operation};
use switchboard_ledger::{Change, Moment};
use switchboard_service::ids;

use crate::base::{Base, on_both};
use crate::fleet::{OTHER, carried, placed, to_environment, until_step};
use crate::stage::{ARGO, ARGOCD, DEPLOYMENTS, GROUP, Stage, plain};

on_both! {
    what_is_being_deleted_keeps_what_it_needs_behind_its_unit
    a_project_is_not_made_again_where_its_unit_was
    a_move_ends_though_what_uses_its_source_stays_and_the_rest_goes_behind_it
    what_was_prepared_where_nothing_could_be_taken_away_goes_later
    an_instance_that_never_ends_its_removals_is_removed_by_force
}

/// Secrets and projects of ours in the namespace of an Argo CD.
async fn belongings(stage: &Stage, at: &str) -> usize {
    let secrets = stage.secrets_of_argo().await;
    let projects = stage.listed(&format!("{ARGO}/appprojects")).await;
    let all = secrets.iter().chain(&projects).filter(|one| one["metadata"]["namespace"] == *at);
    all.filter(|one| one["metadata"]["name"] != "default").count()
}

/// Has one of two deployments to an environment of the first Argo CD be deleted without an end.
async fn with_a_deletion_that_does_not_end(stage: &Stage) -> String {
    stage.environment("shop", "one", "token-one").await;
    to_environment(stage, "one", "web").await;
    let (api, _) = to_environment(stage, "one", "api").await;
    stage.settled().await;
    stage.add_instance(OTHER).await;
    deleted_without_an_end(stage, "api", &api).await;
    api
}

/// Deletes a deployment of `shop` at the first Argo CD, which does not get done with it.
pub async fn deleted_without_an_end(stage: &Stage, name: &str, uid: &str) {
    stage.argo.stuck(true);
    stage.delete("shop", DEPLOYMENTS, name).await;
    stage
        .until("a deletion that does not end", async || {
            stage.application(uid).await.filter(|one| one["metadata"]["deletionTimestamp"].is_string())
        })
        .await;
}

/// Argo CD deletes nothing of an Application whose project or cluster is gone.
async fn what_is_being_deleted_keeps_what_it_needs_behind_its_unit(base: Base) {
    let stage = Stage::new(base).await;
    let api = with_a_deletion_that_does_not_end(&stage).await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", Some("one")).await.unwrap();
    fleet.begin(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    let step = async |step: MoveStep| (stage.all::<Move>().await[0].step == step).then_some(());
    stage.until("the last step", async || step(MoveStep::Clean).await).await;
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    assert_eq!(belongings(&stage, ARGOCD).await, 2, "the Secret of the cluster and the project");
    assert!(step(MoveStep::Clean).await.is_some(), "it waits");
    stage.argo.stuck(false);
    stage.until("the end of the move", async || step(MoveStep::Done).await).await;
    assert!(stage.application(&api).await.is_none());
    assert_eq!(stage.cascades(), 1, "with what it deployed");
    assert_eq!(belongings(&stage, ARGOCD).await, 0);
    stage.settled().await;
    assert_eq!(belongings(&stage, ARGOCD).await, 0, "nor does anything come back");
}

/// Whoever asked for a project before its unit went does so at the Argo CD that the unit was on.
async fn a_project_is_not_made_again_where_its_unit_was(base: Base) {
    let stage = Stage::new(base).await;
    placed(&stage, "shop", "web", plain()).await;
    stage.settled().await;
    let source = stage.all::<EngineInstance>().await.remove(0);
    stage.add_instance(OTHER).await;
    assert_eq!(carried(&stage, "shop", None, OTHER).await.step, MoveStep::Done);
    stage.settled().await;
    let user = stage.all::<Placement>().await.remove(0).user;
    let wish = Wish {
        instance: &source.id,
        resource: OperationResource::Application,
        resource_id: user.as_str(),
        owner: &user,
    };
    let late = operation::row(&wish, OperationId::from(ids::new()), Moment::default());
    stage.ledger.commit(&[Change::insert(&late)]).await.unwrap();
    stage
        .until("its end", async || {
            let all: Vec<Operation> = stage.all().await;
            all.into_iter().find(|row| row.id == late.id && !switchboard_service::rows::is_open(row))
        })
        .await;
    let projects = stage.listed(&format!("{ARGO}/appprojects")).await;
    let ours = projects.iter().filter(|one| one["metadata"]["name"] == *project_name(&user));
    let places: Vec<_> = ours.map(|one| one["metadata"]["namespace"].as_str().unwrap()).collect();
    assert_eq!(places, [OTHER]);
}

/// Somebody else's finalizer may hold an Application for ever.
async fn a_move_ends_though_what_uses_its_source_stays_and_the_rest_goes_behind_it(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.carries = false;
    stage.start().await;
    let api = with_a_deletion_that_does_not_end(&stage).await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", Some("one")).await.unwrap();
    let row = fleet.begin(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    until_step(&stage, &row, MoveStep::Clean).await;
    let late = move || Moment::from_unix_us(jiff::Timestamp::now().as_microsecond() + 2 * CLEAN_MS * 1000);
    let moved = stage.fleet().timed(Arc::new(late)).finish(&row.id, |_| ()).await.unwrap();
    assert_eq!(moved.step, MoveStep::Done);
    assert!(moved.human_readable_state.unwrap_or_default().contains("still use"), "it says what is left");
    assert_eq!(belongings(&stage, ARGOCD).await, 2);
    stage.argo.stuck(false);
    stage.until("nothing left", async || (belongings(&stage, ARGOCD).await == 0).then_some(())).await;
    assert!(stage.application(&api).await.is_none());
    assert_eq!(stage.cascades(), 1, "with what it deployed");
    stage.settled().await;
    assert_eq!(belongings(&stage, OTHER).await, 2);
}

/// A unit that goes back does not wait for its target.
async fn what_was_prepared_where_nothing_could_be_taken_away_goes_later(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.carries = false;
    stage.start().await;
    stage.environment("shop", "one", "token-one").await;
    let (web, _) = to_environment(&stage, "one", "web").await;
    stage.settled().await;
    stage.add_instance(OTHER).await;
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", Some("one")).await.unwrap();
    let row = fleet.begin(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
    until_step(&stage, &row, MoveStep::Pause).await;
    assert_eq!(belongings(&stage, OTHER).await, 2, "it is prepared");
    let (row, placement) = (stage.all::<Move>().await.remove(0), stage.all::<Placement>().await.remove(0));
    let given_up = Move { step: MoveStep::Returned, ..row.clone() };
    let free = Placement { moving: None, ..placement.clone() };
    // What is asked of the source meanwhile is nothing to the copy.
    let application = stage.all::<Application>().await.remove(0);
    let wish = Wish {
        instance: &row.source,
        resource: OperationResource::Application,
        resource_id: application.id.as_str(),
        owner: &row.user,
    };
    let asked = operation::row(&wish, OperationId::from(ids::new()), Moment::default());
    let changes = [Change::insert(&asked), Change::update(&row, &given_up), Change::update(&placement, &free)];
    stage.ledger.commit(&changes).await.unwrap();
    stage.until("nothing left", async || (belongings(&stage, OTHER).await == 0).then_some(())).await;
    assert_eq!(belongings(&stage, ARGOCD).await, 2);
    assert_eq!(stage.until("one of it", async || stage.anywhere(&web).await).await.0, ARGOCD);
    stage.settled().await;
    assert_eq!(stage.cascades(), 0);
}

/// Argo CD may be gone for good, and with it who would say that something was removed.
async fn an_instance_that_never_ends_its_removals_is_removed_by_force(base: Base) {
    let stage = Stage::new(base).await;
    let (web, _) = placed(&stage, "shop", "web", plain()).await;
    stage.settled().await;
    stage.add_instance(OTHER).await;
    deleted_without_an_end(&stage, "web", &web).await;
    // As if it had been moved away: what is being removed stays behind.
    let gone: Vec<Change> = stage.all::<Placement>().await.iter().map(Change::delete).collect();
    stage.ledger.commit(&gone).await.unwrap();
    let fleet = stage.fleet();
    let refused = fleet.remove(ARGOCD, false).await.unwrap_err().to_string();
    assert!(refused.contains("--force"), "{refused}");
    fleet.remove(ARGOCD, true).await.unwrap();
    let left: Vec<_> = stage.all::<EngineInstance>().await.into_iter().map(|one| one.namespace).collect();
    assert_eq!(left, [OTHER]);
    assert!(stage.all::<Operation>().await.iter().all(|row| !switchboard_service::rows::is_open(row)));
    let rings = stage.listed(&format!("{GROUP}/namespaces/{ARGOCD}/operations")).await;
    assert!(rings.is_empty(), "nobody would answer: {rings:?}");
    assert_eq!(placed(&stage, "shop", "api", plain()).await.1, OTHER);
}
