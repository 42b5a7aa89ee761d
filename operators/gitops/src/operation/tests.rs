use switchboard_sql::RowChange;

use crate::flow::KubernetesWrite;
use crate::flow::fixture::START;
use crate::ids::*;
use crate::kinds;
use crate::operation::{self, DEADLINE_MS, KEEP_COMPLETED_MS, KEEP_FAILED_MS, OperationRequest};
use crate::rows::{EngineInstance, Operation};

fn row(id: &str, state: OperationState) -> Operation {
    let (instance, owner) = (EngineInstanceId::from("ei"), UserId::from("u"));
    let wish = OperationRequest {
        instance: &instance,
        resource: OperationResource::Application,
        resource_id: "app",
        owner: &owner,
    };
    Operation { state, ..operation::row(&wish, id.into(), START) }
}

fn instance() -> EngineInstance {
    EngineInstance { id: "ei".into(), namespace: "argocd".into(), namespace_uid: "uid".into(), cluster: "ec".into() }
}

fn object(namespace: &str, name: &str, id: &str) -> kinds::OperationObject {
    kinds::OperationObject {
        metadata: kinds::ObjectMeta::new(namespace, name, "uid"),
        spec: crate::operation::kind::OperationSpec { operation_id: id.into() },
    }
}

/// Defect 3: in managed-gitops one Operation replaces another, whose client waits forever.
#[test]
fn operations_waiting_at_the_read_finish_together() {
    let later = START.plus_ms(10);
    let first = row("a", OperationState::InProgress);
    let second = row("b", OperationState::Waiting);
    let after = Operation { created_on: later.plus_ms(1), ..row("c", OperationState::Waiting) };
    let other = Operation { resource_id: "other".into(), ..row("d", OperationState::Waiting) };
    let rows = [first.clone(), second.clone(), after, other];
    let changes = operation::finish(&rows, &first, later, Ok(()), later);
    let over: Vec<String> = changes.iter().map(|change| change.key().to_string()).collect();
    assert_eq!(over, ["a", "b"], "what was asked for later is looked at later");
    let done = Operation { state: OperationState::Completed, last_state_update: later, ..second.clone() };
    assert_eq!(changes[1], RowChange::update(&second, &done));
}

#[test]
fn a_failure_has_a_reason() {
    let first = row("a", OperationState::InProgress);
    let changes = operation::finish(std::slice::from_ref(&first), &first, START, Err("why"), START);
    let failed = Operation { state: OperationState::Failed, human_readable_state: Some("why".into()), ..first.clone() };
    assert_eq!(changes, [RowChange::update(&first, &failed)]);
}

#[test]
fn an_operation_is_overdue_after_ten_minutes() {
    let open = row("a", OperationState::InProgress);
    assert!(!operation::is_overdue(&open, START.plus_ms(DEADLINE_MS)));
    assert!(operation::is_overdue(&open, START.plus_ms(DEADLINE_MS + 1)));
    assert!(!operation::is_overdue(&row("a", OperationState::Completed), START.plus_ms(DEADLINE_MS * 2)));
}

/// After a crash between row and object, the next garbage collection creates the object.
#[test]
fn a_row_without_an_object_gets_one_in_the_namespace_of_its_argo_cd() {
    let rows = [row("a", OperationState::Waiting)];
    let decision = operation::garbage_collect(&rows, &[], &[instance()], START);
    assert_eq!(
        decision.writes,
        [KubernetesWrite::Create(crate::operation::kind::object(&"a".into(), "argocd", false))]
    );
    // The spec identifies the row, not the name.
    let rung = operation::garbage_collect(&rows, &[object("argocd", "test-operation", "a")], &[instance()], START);
    assert!(rung.writes.is_empty());
    // Defect 1: an object in the tenant's namespace does not count.
    let elsewhere = operation::garbage_collect(&rows, &[object("shop", "operation-a", "a")], &[instance()], START);
    assert_eq!(elsewhere.writes.len(), 1);
}

#[test]
fn an_object_without_an_open_row_is_deleted_in_instance_namespaces() {
    let objects = [object("argocd", "operation-x", "x"), object("elsewhere", "operation-y", "y")];
    let decision = operation::garbage_collect(&[], &objects, &[instance()], START);
    let gone: Vec<&str> = decision
        .writes
        .iter()
        .map(|write| match write {
            KubernetesWrite::Delete(target) => target.name.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(gone, ["operation-x"]);
}

/// Defect 13: managed-gitops never deletes failed Operations.
#[test]
fn finished_operations_are_deleted_after_their_retention() {
    let done = row("a", OperationState::Completed);
    let failed = row("b", OperationState::Failed);
    let brief = Operation { gc_expiration_s: Some(5), ..row("c", OperationState::Failed) };
    let rows = [done.clone(), failed.clone(), brief.clone()];
    let at = |ms: i64| {
        let decision = operation::garbage_collect(&rows, &[], &[instance()], START.plus_ms(ms));
        decision.changes.iter().map(|change| change.key().to_string()).collect::<Vec<_>>()
    };
    assert!(at(4000).is_empty());
    assert_eq!(at(6000), ["c"]);
    assert_eq!(at(KEEP_COMPLETED_MS + 1), ["a", "c"]);
    assert_eq!(at(KEEP_FAILED_MS + 1), ["a", "b", "c"]);
    assert!(
        operation::garbage_collect(&rows[..1], &[], &[instance()], START).requeue_after_ms.is_some(),
        "the next sweep is due"
    );
}

#[test]
fn one_waiting_operation_is_enough() {
    let (instance, owner) = (EngineInstanceId::from("ei"), UserId::from("u"));
    let wish = OperationRequest {
        instance: &instance,
        resource: OperationResource::Application,
        resource_id: "app",
        owner: &owner,
    };
    let ask = |rows: &[Operation]| operation::request(rows, &wish, || "new".into(), START);
    assert_eq!(ask(&[row("a", OperationState::Waiting)]), None);
    assert!(ask(&[row("a", OperationState::InProgress)]).is_some(), "it may have read the row as it was");
    assert!(ask(&[]).is_some());
    let ask = |rows: &[Operation]| operation::request_or_renew(rows, &wish, || "new".into(), START);
    let waiting = row("a", OperationState::Waiting);
    // An agent that has read the old state finds the row changed.
    let touched = Operation { last_state_update: START.plus_ms(1), ..waiting.clone() };
    assert_eq!(ask(std::slice::from_ref(&waiting)), RowChange::update(&waiting, &touched));
    let new = ask(&[]);
    assert_eq!(new.key().to_string(), "new");
    assert_eq!(ask(&[row("a", OperationState::InProgress)]), new, "it may have read the row as it was");
}

#[test]
fn rows_of_other_clients_wait_for_an_object() {
    let is_ours = |id: &str| operation::is_created_by_service(&id.into());
    assert!(is_ours("603d72f5-d4d5-43be-a71c-cf00f6884f24"));
    assert!(is_ours("delete-603d72f5-d4d5-43be-a71c-cf00f6884f24"));
    assert!(is_ours("stop-603d72f5-d4d5-43be-a71c-cf00f6884f24"));
    // managed-gitops's tests write rows with these ids and expect that they are ignored without an Operation object.
    for id in
        ["test-operation", "", "delete-", "603d72f5-d4d5-43be-a71c-cf00f6884f2", "603d72f5xd4d5-43be-a71c-cf00f6884f24"]
    {
        assert!(!is_ours(id), "{id}");
    }
}
