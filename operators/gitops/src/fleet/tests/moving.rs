use serde_json::json;
use switchboard_ledger::Change;
use switchboard_ledger::ids::{MoveStep, OperationState};
use switchboard_ledger::rows::{Application, ClusterAccess, Operation};

use super::field::{Field, UIDS, application_row};
use crate::fleet::moving::{self, CannotMove, FREEZE_MS, PAUSE_MS};

/// Everything is at `two`, awake, and nothing is left at `one`.
async fn assert_moved(field: &Field) {
    let row = field.move_row().await;
    assert_eq!(row.step, MoveStep::Done, "{row:?}");
    let placement = field.placement().await;
    assert_eq!((placement.instance.as_str(), placement.epoch, placement.moving), ("two", 2, None));
    for row in field.all::<Application>().await {
        assert_eq!(row.instance.as_str(), "two");
        assert!(row.spec_field.contains("\n  namespace: argocd-two\n"), "{}", row.spec_field);
    }
    let access: Vec<ClusterAccess> = field.all().await;
    assert_eq!(access.iter().map(|row| row.instance.as_str()).collect::<Vec<_>>(), ["two"]);
    assert!(field.objects.keys().all(|(_, namespace, _)| namespace == "argocd-two"), "{:?}", field.objects.keys());
    for uid in UIDS {
        let live = field.application("argocd-two", uid).unwrap();
        assert_eq!(live["metadata"]["annotations"], json!({}), "{live}");
        assert_eq!(live["status"]["sync"]["status"], "Synced");
    }
}

/// Everything is at `one`, awake, and nothing of the Applications at `two`.
async fn assert_returned(field: &Field) {
    let row = field.move_row().await;
    assert_eq!(row.step, MoveStep::Returned, "{row:?}");
    let placement = field.placement().await;
    assert_eq!((placement.instance.as_str(), placement.epoch, placement.moving), ("one", 1, None));
    assert!(field.applications("argocd-two").is_empty());
    for uid in UIDS {
        let live = field.application("argocd-one", uid).unwrap();
        assert!(!moving::is_held(live), "{live}");
    }
}

#[tokio::test]
async fn a_unit_moves() {
    let mut field = Field::new().await;
    field.begin().await;
    field.run().await;
    assert_moved(&field).await;
}

#[tokio::test]
async fn guarantees_a_kill_at_any_point_ends_the_same() {
    let mut whole = Field::new().await;
    whole.begin().await;
    whole.run().await;
    assert!(whole.done.len() > 12, "{:?}", whole.done);
    for at in 1..=whole.done.len() {
        let mut field = Field::new().await;
        field.kill_after = Some(at);
        field.begin().await;
        field.run().await;
        assert_moved(&field).await;
    }
}

#[tokio::test]
async fn guarantees_two_never_deploy_at_once() {
    let mut field = Field::new().await;
    field.begin().await;
    loop {
        for uid in UIDS {
            let awake = |namespace| field.application(namespace, uid).is_some_and(|live| !moving::is_held(live));
            assert!(!(awake("argocd-one") && awake("argocd-two")), "{uid} after {:?}", field.done);
        }
        let at_source = !field.applications("argocd-one").is_empty();
        let flipped = field.placement().await.instance.as_str() == "two";
        assert!(!(at_source && flipped), "the rows name the target too early: {:?}", field.done);
        if !field.round().await {
            return;
        }
    }
}

#[tokio::test]
async fn guarantees_an_application_goes_only_when_its_copy_is_there() {
    // `Field` asserts it at every act; here a copy is taken away at the last moment.
    let mut field = Field::new().await;
    field.begin().await;
    field.run_to(MoveStep::Release).await;
    let name = ("Application".to_string(), "argocd-two".to_string(), format!("gitopsdepl-{}", UIDS[0]));
    field.objects.remove(&name);
    field.run().await;
    assert_moved(&field).await;
}

#[tokio::test]
async fn guarantees_nothing_but_the_instances_is_written() {
    let mut field = Field::new().await;
    field.put(json!({ "kind": "ConfigMap", "metadata": { "namespace": "shop", "name": "child" } }));
    let before = field.objects[&("ConfigMap".into(), "shop".into(), "child".into())].clone();
    field.begin().await;
    field.run().await;
    assert_eq!(field.objects[&("ConfigMap".into(), "shop".into(), "child".into())], before);
    assert!(field.done.iter().all(|done| done.starts_with("commit") || done.contains("argocd-")), "{:?}", field.done);
}

#[tokio::test]
async fn an_operation_that_has_begun_ends_first_and_one_that_has_not_waits_for_the_target() {
    let mut field = Field::new().await;
    field.ask("begun", "app-1111", OperationState::InProgress).await;
    field.ask("waiting", "app-2222", OperationState::Waiting).await;
    field.begin().await;
    for _ in 0..5 {
        field.round().await;
    }
    assert_eq!(field.move_row().await.step, MoveStep::Freeze);
    let begun: Vec<Operation> = field.all().await;
    field.ledger.commit(&[Change::delete(&begun[0])]).await.unwrap();
    field.run().await;
    assert_moved(&field).await;
    let waiting: Vec<Operation> = field.all().await;
    assert_eq!(waiting.iter().map(|row| row.instance.as_str()).collect::<Vec<_>>(), ["two"]);
}

#[tokio::test]
async fn an_operation_that_never_ends_ends_the_move() {
    let mut field = Field::new().await;
    field.ask("begun", "app-1111", OperationState::InProgress).await;
    field.begin().await;
    field.now = field.now.plus_ms(FREEZE_MS + 1);
    field.run().await;
    assert_returned(&field).await;
    assert_eq!(field.move_row().await.human_readable_state.as_deref(), Some("1 Operations did not end"));
}

#[tokio::test]
async fn a_sync_at_the_source_ends_before_its_application_sleeps() {
    let mut field = Field::new().await;
    let mut busy = field.application("argocd-one", UIDS[0]).unwrap().clone();
    busy["operation"] = json!({ "sync": {} });
    field.put(busy);
    field.begin().await;
    for _ in 0..10 {
        field.round().await;
    }
    let live = field.application("argocd-one", UIDS[0]).unwrap().clone();
    assert!(!moving::is_held(&live), "{live}");
    let mut over = live;
    over.as_object_mut().unwrap().remove("operation");
    field.put(over);
    field.run().await;
    assert_moved(&field).await;
}

#[tokio::test]
async fn a_sync_that_slipped_in_wakes_the_application_again() {
    let mut field = Field::new().await;
    field.begin().await;
    field.run_to(MoveStep::Release).await;
    let mut busy = field.application("argocd-one", UIDS[0]).unwrap().clone();
    busy["operation"] = json!({ "sync": {} });
    field.put(busy);
    field.run_to(MoveStep::Pause).await;
    field.round().await;
    let live = field.application("argocd-one", UIDS[0]).unwrap().clone();
    assert!(!moving::is_held(&live), "it could not end in its sleep: {live}");
    let mut over = live;
    over.as_object_mut().unwrap().remove("operation");
    field.put(over);
    field.run().await;
    assert_moved(&field).await;
}

#[tokio::test]
async fn a_sync_that_is_tried_again_for_ever_is_ended() {
    let mut field = Field::new().await;
    let mut busy = field.application("argocd-one", UIDS[0]).unwrap().clone();
    busy["operation"] = json!({ "sync": {} });
    busy["status"]["operationState"] = json!({ "phase": "Running", "finishedAt": "2026-11-16T08:00:00Z" });
    field.put(busy);
    field.begin().await;
    field.run_to(MoveStep::Pause).await;
    field.round().await;
    let mut over = field.application("argocd-one", UIDS[0]).unwrap().clone();
    assert_eq!(over["status"]["operationState"]["phase"], "Terminating");
    over["status"]["operationState"]["phase"] = json!("Failed");
    over.as_object_mut().unwrap().remove("operation");
    field.put(over);
    field.run().await;
    assert_moved(&field).await;
}

#[tokio::test]
async fn an_application_with_finalizers_stays_where_it_is() {
    let mut field = Field::new().await;
    let mut bound = field.application("argocd-one", UIDS[1]).unwrap().clone();
    bound["metadata"]["finalizers"] = json!(["resources-finalizer.argocd.argoproj.io"]);
    field.put(bound);
    field.begin().await;
    field.run().await;
    assert_returned(&field).await;
    assert!(field.move_row().await.human_readable_state.unwrap().contains("has finalizers"));
}

#[tokio::test]
async fn a_move_that_cannot_go_on_goes_back_from_every_step() {
    for step in
        [MoveStep::Freeze, MoveStep::Prepare, MoveStep::Copy, MoveStep::Pause, MoveStep::Release, MoveStep::Flip]
    {
        let mut field = Field::new().await;
        field.begin().await;
        field.run_to(step).await;
        let row = field.move_row().await;
        let back = switchboard_ledger::rows::fleet::Move { step: MoveStep::Return, ..row.clone() };
        field.ledger.commit(&[Change::update(&row, &back)]).await.unwrap();
        field.run().await;
        assert_returned(&field).await;
    }
}

#[tokio::test]
async fn a_source_that_is_busy_for_too_long_keeps_the_unit() {
    let mut field = Field::new().await;
    let mut busy = field.application("argocd-one", UIDS[0]).unwrap().clone();
    busy["operation"] = json!({ "sync": {} });
    field.put(busy);
    field.begin().await;
    field.run_to(MoveStep::Pause).await;
    field.round().await;
    field.now = field.now.plus_ms(PAUSE_MS);
    field.run().await;
    assert_returned(&field).await;
}

#[tokio::test]
async fn a_source_that_was_lost_is_no_obstacle() {
    let mut field = Field::new().await;
    field.objects.clear();
    field.begin().await;
    field.run().await;
    assert_moved(&field).await;
}

#[tokio::test]
async fn a_target_that_does_not_compare_has_the_unit_all_the_same() {
    let mut field = Field::new().await;
    field.target_lives = false;
    field.begin().await;
    field.run_to(MoveStep::Wake).await;
    field.run().await;
    let row = field.move_row().await;
    assert_eq!(row.step, MoveStep::Done);
    assert_eq!(field.placement().await.instance.as_str(), "two");
}

#[tokio::test]
async fn an_application_that_came_while_the_unit_moved_is_with_the_others() {
    for step in [MoveStep::Prepare, MoveStep::Pause, MoveStep::Flip, MoveStep::Wake] {
        let mut field = Field::new().await;
        field.begin().await;
        field.run_to(step).await;
        // Decided on before the flip, committed after it: it still names the source.
        let new = "33333333-3333-4333-8333-333333333333";
        let row = application_row(new, &field.placement().await.environment);
        field.ledger.commit(&[Change::insert(&row)]).await.unwrap();
        field.ask("new", row.id.as_str(), OperationState::Waiting).await;
        field.run().await;
        assert_moved(&field).await;
        let operations: Vec<Operation> = field.all().await;
        assert_eq!(operations[0].instance.as_str(), "two", "{step:?}");
    }
}

#[tokio::test]
async fn what_the_target_needs_is_as_it_should_be_when_it_wakes() {
    for step in [MoveStep::Copy, MoveStep::Pause, MoveStep::Release, MoveStep::Flip, MoveStep::Wake] {
        let mut field = Field::new().await;
        field.begin().await;
        field.run_to(step).await;
        field.own = "market";
        field.run_to(MoveStep::Clean).await;
        let project = &field.objects[&("AppProject".into(), "argocd-two".into(), "app-project-tenant".into())];
        assert_eq!(project["spec"]["destinations"][0]["namespace"], "market", "{step:?}: {project}");
        let done: Vec<&str> = field.done.iter().map(String::as_str).collect();
        let changed = done.iter().position(|one| one.starts_with("update (\"AppProject\"")).unwrap();
        let woken = done.iter().rposition(|one| one.starts_with("update (\"Application\", \"argocd-two\"")).unwrap();
        assert!(changed < woken, "{step:?}: {done:?}");
        field.run().await;
        assert_moved(&field).await;
    }
}

#[tokio::test]
async fn a_deployment_that_was_deleted_meanwhile_is_deleted_where_its_application_is() {
    for step in [MoveStep::Copy, MoveStep::Pause, MoveStep::Release, MoveStep::Flip, MoveStep::Wake] {
        let mut field = Field::new().await;
        field.begin().await;
        field.run_to(step).await;
        let gone = field.all::<Application>().await.into_iter().find(|row| row.name.ends_with(UIDS[0])).unwrap();
        field.ledger.commit(&[Change::delete(&gone)]).await.unwrap();
        field.ask(&format!("delete-{}", UIDS[0]), gone.id.as_str(), OperationState::Waiting).await;
        field.run().await;
        let operations: Vec<Operation> = field.all().await;
        assert_eq!(operations.len(), 1, "{step:?}");
        let at = format!("argocd-{}", operations[0].instance);
        let live = field.application(&at, UIDS[0]).unwrap_or_else(|| panic!("{step:?}: nothing to delete at {at}"));
        assert!(!moving::is_held(live), "{step:?}");
        let other = if at == "argocd-one" { "argocd-two" } else { "argocd-one" };
        assert!(field.application(other, UIDS[0]).is_none(), "{step:?}");
    }
}

#[tokio::test]
async fn a_unit_moves_to_another_instance_and_once_at_a_time() {
    let field = Field::new().await;
    let placement = field.placement().await;
    let there = moving::begin(&placement, &"one".into(), "m".into(), field.now).unwrap_err();
    assert_eq!(there, CannotMove::There);
    field.begin().await;
    let under_way = moving::begin(&field.placement().await, &"two".into(), "n".into(), field.now).unwrap_err();
    assert_eq!(under_way, CannotMove::UnderWay("m".into()));
}
