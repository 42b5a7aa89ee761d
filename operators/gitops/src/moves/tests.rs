#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_sql::RowChange;

use super::fixture::{FleetFixture, UIDS, application_row};
use crate::ids::{MoveStep, OperationState};
use crate::moves::{self, FREEZE_MS, MoveError, PAUSE_MS};
use crate::rows::{Application, ClusterAccess, Operation};

/// Asserts that all Applications are at `two` and not paused, and that `one` is empty.
async fn assert_moved(fixture: &FleetFixture) {
    let row = fixture.move_row().await;
    assert_eq!(row.step, MoveStep::Done, "{row:?}");
    let placement = fixture.placement().await;
    assert_eq!((placement.instance.as_str(), placement.epoch, placement.moving), ("two", 2, None));
    for row in fixture.all::<Application>().await {
        assert_eq!(row.instance.as_str(), "two");
        assert!(row.spec_field.contains("\n  namespace: argocd-two\n"), "{}", row.spec_field);
    }
    let access: Vec<ClusterAccess> = fixture.all().await;
    assert_eq!(access.iter().map(|row| row.instance.as_str()).collect::<Vec<_>>(), ["two"]);
    assert!(fixture.objects.keys().all(|(_, namespace, _)| namespace == "argocd-two"), "{:?}", fixture.objects.keys());
    for uid in UIDS {
        let live = fixture.application("argocd-two", uid).unwrap();
        assert_eq!(live["metadata"]["annotations"], json!({}), "{live}");
        assert_eq!(live["status"]["sync"]["status"], "Synced");
    }
}

/// Asserts that all Applications are at `one` and not paused, and that `two` has none.
async fn assert_rolled_back(fixture: &FleetFixture) {
    let row = fixture.move_row().await;
    assert_eq!(row.step, MoveStep::RolledBack, "{row:?}");
    let placement = fixture.placement().await;
    assert_eq!((placement.instance.as_str(), placement.epoch, placement.moving), ("one", 1, None));
    assert!(fixture.applications("argocd-two").is_empty());
    for uid in UIDS {
        let live = fixture.application("argocd-one", uid).unwrap();
        assert!(!moves::is_owned_by_move(live), "{live}");
    }
}

#[tokio::test]
async fn a_placement_moves() {
    let mut fixture = FleetFixture::new().await;
    fixture.begin().await;
    fixture.run().await;
    assert_moved(&fixture).await;
}

#[tokio::test]
async fn guarantees_a_crash_at_any_point_has_the_same_end_state() {
    let mut whole = FleetFixture::new().await;
    whole.begin().await;
    whole.run().await;
    assert!(whole.done.len() > 12, "{:?}", whole.done);
    for at in 1..=whole.done.len() {
        let mut fixture = FleetFixture::new().await;
        fixture.kill_after = Some(at);
        fixture.begin().await;
        fixture.run().await;
        assert_moved(&fixture).await;
    }
}

#[tokio::test]
async fn guarantees_two_instances_never_deploy_at_once() {
    let mut fixture = FleetFixture::new().await;
    fixture.begin().await;
    loop {
        for uid in UIDS {
            let awake =
                |namespace| fixture.application(namespace, uid).is_some_and(|live| !moves::is_owned_by_move(live));
            assert!(!(awake("argocd-one") && awake("argocd-two")), "{uid} after {:?}", fixture.done);
        }
        let at_source = !fixture.applications("argocd-one").is_empty();
        let flipped = fixture.placement().await.instance.as_str() == "two";
        assert!(!(at_source && flipped), "the rows name the target too early: {:?}", fixture.done);
        if !fixture.round().await {
            return;
        }
    }
}

#[tokio::test]
async fn guarantees_an_application_is_deleted_only_with_its_copy_at_the_target() {
    // The fixture asserts this at every write; here a copy is deleted just before the release.
    let mut fixture = FleetFixture::new().await;
    fixture.begin().await;
    fixture.run_to(MoveStep::Release).await;
    let name = ("Application".to_string(), "argocd-two".to_string(), format!("gitopsdepl-{}", UIDS[0]));
    fixture.objects.remove(&name);
    fixture.run().await;
    assert_moved(&fixture).await;
}

#[tokio::test]
async fn guarantees_only_objects_of_the_instances_are_written() {
    let mut fixture = FleetFixture::new().await;
    fixture.put(json!({ "kind": "ConfigMap", "metadata": { "namespace": "shop", "name": "child" } }));
    let before = fixture.objects[&("ConfigMap".into(), "shop".into(), "child".into())].clone();
    fixture.begin().await;
    fixture.run().await;
    assert_eq!(fixture.objects[&("ConfigMap".into(), "shop".into(), "child".into())], before);
    assert!(
        fixture.done.iter().all(|done| done.starts_with("commit") || done.contains("argocd-")),
        "{:?}",
        fixture.done
    );
}

#[tokio::test]
async fn a_running_operation_finishes_first_and_a_waiting_one_moves_to_the_target() {
    let mut fixture = FleetFixture::new().await;
    fixture.request_operation("begun", "app-1111", OperationState::InProgress).await;
    fixture.request_operation("waiting", "app-2222", OperationState::Waiting).await;
    fixture.begin().await;
    for _ in 0..5 {
        fixture.round().await;
    }
    assert_eq!(fixture.move_row().await.step, MoveStep::Freeze);
    let begun: Vec<Operation> = fixture.all().await;
    fixture.ledger.commit(&[RowChange::delete(&begun[0])]).await.unwrap();
    fixture.run().await;
    assert_moved(&fixture).await;
    let waiting: Vec<Operation> = fixture.all().await;
    assert_eq!(waiting.iter().map(|row| row.instance.as_str()).collect::<Vec<_>>(), ["two"]);
}

#[tokio::test]
async fn an_operation_that_never_finishes_rolls_back_the_move() {
    let mut fixture = FleetFixture::new().await;
    fixture.request_operation("begun", "app-1111", OperationState::InProgress).await;
    fixture.begin().await;
    fixture.now = fixture.now.plus_ms(FREEZE_MS + 1);
    fixture.run().await;
    assert_rolled_back(&fixture).await;
    assert_eq!(fixture.move_row().await.human_readable_state.as_deref(), Some("1 Operations did not finish"));
}

#[tokio::test]
async fn a_sync_at_the_source_finishes_before_its_application_is_paused() {
    let mut fixture = FleetFixture::new().await;
    let mut busy = fixture.application("argocd-one", UIDS[0]).unwrap().clone();
    busy["operation"] = json!({ "sync": {} });
    fixture.put(busy);
    fixture.begin().await;
    for _ in 0..10 {
        fixture.round().await;
    }
    let live = fixture.application("argocd-one", UIDS[0]).unwrap().clone();
    assert!(!moves::is_owned_by_move(&live), "{live}");
    let mut over = live;
    over.as_object_mut().unwrap().remove("operation");
    fixture.put(over);
    fixture.run().await;
    assert_moved(&fixture).await;
}

#[tokio::test]
async fn a_late_sync_resumes_the_application() {
    let mut fixture = FleetFixture::new().await;
    fixture.begin().await;
    fixture.run_to(MoveStep::Release).await;
    let mut busy = fixture.application("argocd-one", UIDS[0]).unwrap().clone();
    busy["operation"] = json!({ "sync": {} });
    fixture.put(busy);
    fixture.run_to(MoveStep::Pause).await;
    fixture.round().await;
    let live = fixture.application("argocd-one", UIDS[0]).unwrap().clone();
    assert!(!moves::is_owned_by_move(&live), "it could not end in its sleep: {live}");
    let mut over = live;
    over.as_object_mut().unwrap().remove("operation");
    fixture.put(over);
    fixture.run().await;
    assert_moved(&fixture).await;
}

#[tokio::test]
async fn a_sync_that_is_retried_forever_is_terminated() {
    let mut fixture = FleetFixture::new().await;
    let mut busy = fixture.application("argocd-one", UIDS[0]).unwrap().clone();
    busy["operation"] = json!({ "sync": {} });
    busy["status"]["operationState"] = json!({ "phase": "Running", "finishedAt": "2026-11-16T08:00:00Z" });
    fixture.put(busy);
    fixture.begin().await;
    fixture.run_to(MoveStep::Pause).await;
    fixture.round().await;
    let mut over = fixture.application("argocd-one", UIDS[0]).unwrap().clone();
    assert_eq!(over["status"]["operationState"]["phase"], "Terminating");
    over["status"]["operationState"]["phase"] = json!("Failed");
    over.as_object_mut().unwrap().remove("operation");
    fixture.put(over);
    fixture.run().await;
    assert_moved(&fixture).await;
}

#[tokio::test]
async fn an_application_with_finalizers_stays_where_it_is() {
    let mut fixture = FleetFixture::new().await;
    let mut bound = fixture.application("argocd-one", UIDS[1]).unwrap().clone();
    bound["metadata"]["finalizers"] = json!(["resources-finalizer.argocd.argoproj.io"]);
    fixture.put(bound);
    fixture.begin().await;
    fixture.run().await;
    assert_rolled_back(&fixture).await;
    assert!(fixture.move_row().await.human_readable_state.unwrap().contains("has finalizers"));
}

#[tokio::test]
async fn a_move_can_be_rolled_back_from_every_step_before_the_cutover() {
    for step in
        [MoveStep::Freeze, MoveStep::Prepare, MoveStep::Copy, MoveStep::Pause, MoveStep::Release, MoveStep::Cutover]
    {
        let mut fixture = FleetFixture::new().await;
        fixture.begin().await;
        fixture.run_to(step).await;
        let row = fixture.move_row().await;
        let back = crate::rows::fleet::Move { step: MoveStep::Rollback, ..row.clone() };
        fixture.ledger.commit(&[RowChange::update(&row, &back)]).await.unwrap();
        fixture.run().await;
        assert_rolled_back(&fixture).await;
    }
}

#[tokio::test]
async fn a_source_that_stays_busy_keeps_the_placement() {
    let mut fixture = FleetFixture::new().await;
    let mut busy = fixture.application("argocd-one", UIDS[0]).unwrap().clone();
    busy["operation"] = json!({ "sync": {} });
    fixture.put(busy);
    fixture.begin().await;
    fixture.run_to(MoveStep::Pause).await;
    fixture.round().await;
    fixture.now = fixture.now.plus_ms(PAUSE_MS);
    fixture.run().await;
    assert_rolled_back(&fixture).await;
}

#[tokio::test]
async fn a_lost_source_does_not_block_a_move() {
    let mut fixture = FleetFixture::new().await;
    fixture.objects.clear();
    fixture.begin().await;
    fixture.run().await;
    assert_moved(&fixture).await;
}

#[tokio::test]
async fn a_target_that_does_not_compare_keeps_the_placement() {
    let mut fixture = FleetFixture::new().await;
    fixture.is_target_running = false;
    fixture.begin().await;
    fixture.run_to(MoveStep::Resume).await;
    fixture.run().await;
    let row = fixture.move_row().await;
    assert_eq!(row.step, MoveStep::Done);
    assert_eq!(fixture.placement().await.instance.as_str(), "two");
}

#[tokio::test]
async fn an_application_created_during_a_move_is_moved() {
    for step in [MoveStep::Prepare, MoveStep::Pause, MoveStep::Cutover, MoveStep::Resume] {
        let mut fixture = FleetFixture::new().await;
        fixture.begin().await;
        fixture.run_to(step).await;
        // Decided before the cutover and committed after it, so the row still names the source.
        let new = "33333333-3333-4333-8333-333333333333";
        let row = application_row(new, &fixture.placement().await.environment);
        fixture.ledger.commit(&[RowChange::insert(&row)]).await.unwrap();
        fixture.request_operation("new", row.id.as_str(), OperationState::Waiting).await;
        fixture.run().await;
        assert_moved(&fixture).await;
        let operations: Vec<Operation> = fixture.all().await;
        assert_eq!(operations[0].instance.as_str(), "two", "{step:?}");
    }
}

#[tokio::test]
async fn required_objects_are_updated_at_the_target_before_it_resumes() {
    for step in [MoveStep::Copy, MoveStep::Pause, MoveStep::Release, MoveStep::Cutover, MoveStep::Resume] {
        let mut fixture = FleetFixture::new().await;
        fixture.begin().await;
        fixture.run_to(step).await;
        fixture.own = "market";
        fixture.run_to(MoveStep::Cleanup).await;
        let project = &fixture.objects[&("AppProject".into(), "argocd-two".into(), "app-project-tenant".into())];
        assert_eq!(project["spec"]["destinations"][0]["namespace"], "market", "{step:?}: {project}");
        let done: Vec<&str> = fixture.done.iter().map(String::as_str).collect();
        let changed = done.iter().position(|one| one.starts_with("update (\"AppProject\"")).unwrap();
        let woken = done.iter().rposition(|one| one.starts_with("update (\"Application\", \"argocd-two\"")).unwrap();
        assert!(changed < woken, "{step:?}: {done:?}");
        fixture.run().await;
        assert_moved(&fixture).await;
    }
}

#[tokio::test]
async fn a_deployment_deleted_during_a_move_is_removed_where_its_application_is() {
    for step in [MoveStep::Copy, MoveStep::Pause, MoveStep::Release, MoveStep::Cutover, MoveStep::Resume] {
        let mut fixture = FleetFixture::new().await;
        fixture.begin().await;
        fixture.run_to(step).await;
        let gone = fixture.all::<Application>().await.into_iter().find(|row| row.name.ends_with(UIDS[0])).unwrap();
        fixture.ledger.commit(&[RowChange::delete(&gone)]).await.unwrap();
        fixture.request_operation(&format!("delete-{}", UIDS[0]), gone.id.as_str(), OperationState::Waiting).await;
        fixture.run().await;
        let operations: Vec<Operation> = fixture.all().await;
        assert_eq!(operations.len(), 1, "{step:?}");
        let at = format!("argocd-{}", operations[0].instance);
        let live = fixture.application(&at, UIDS[0]).unwrap_or_else(|| panic!("{step:?}: nothing to delete at {at}"));
        assert!(!moves::is_owned_by_move(live), "{step:?}");
        let other = if at == "argocd-one" { "argocd-two" } else { "argocd-one" };
        assert!(fixture.application(other, UIDS[0]).is_none(), "{step:?}");
    }
}

#[tokio::test]
async fn a_placement_moves_to_another_instance_with_one_move_at_a_time() {
    let fixture = FleetFixture::new().await;
    let placement = fixture.placement().await;
    let there = moves::begin(&placement, &"one".into(), "m".into(), fixture.now).unwrap_err();
    assert_eq!(there, MoveError::AlreadyThere);
    fixture.begin().await;
    let under_way = moves::begin(&fixture.placement().await, &"two".into(), "n".into(), fixture.now).unwrap_err();
    assert_eq!(under_way, MoveError::InProgress("m".into()));
}
