use switchboard_ledger::Change;
use switchboard_ledger::ids::*;
use switchboard_ledger::rows::{EngineInstance, Operation};

use super::world::START;
use crate::flow::Write;
use crate::flow::operation::{self, DEADLINE_MS, KEEP_COMPLETED_MS, KEEP_FAILED_MS, Wish};
use crate::kinds;

fn row(id: &str, state: OperationState) -> Operation {
    let (instance, owner) = (EngineInstanceId::from("ei"), UserId::from("u"));
    let wish =
        Wish { instance: &instance, resource: OperationResource::Application, resource_id: "app", owner: &owner };
    Operation { state, ..operation::row(&wish, id.into(), START) }
}

fn instance() -> EngineInstance {
    EngineInstance { id: "ei".into(), namespace: "argocd".into(), namespace_uid: "uid".into(), cluster: "ec".into() }
}

fn object(namespace: &str, name: &str, id: &str) -> kinds::Operation {
    kinds::Operation {
        metadata: kinds::Meta::named(namespace, name, "uid"),
        spec: kinds::operation::OperationSpec { operation_id: id.into() },
    }
}

/// Defect 3: the original lets one take another's place, and whoever waits for that one waits for ever.
#[test]
fn all_that_waited_when_the_agent_looked_are_over_with_it() {
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
    assert_eq!(changes[1], Change::update(&second, &done));
}

#[test]
fn a_failure_says_why() {
    let first = row("a", OperationState::InProgress);
    let changes = operation::finish(std::slice::from_ref(&first), &first, START, Err("why"), START);
    let failed = Operation { state: OperationState::Failed, human_readable_state: Some("why".into()), ..first.clone() };
    assert_eq!(changes, [Change::update(&first, &failed)]);
}

#[test]
fn whoever_waits_does_so_for_ten_minutes() {
    let open = row("a", OperationState::InProgress);
    assert!(!operation::is_overdue(&open, START.plus_ms(DEADLINE_MS)));
    assert!(operation::is_overdue(&open, START.plus_ms(DEADLINE_MS + 1)));
    assert!(!operation::is_overdue(&row("a", OperationState::Completed), START.plus_ms(DEADLINE_MS * 2)));
}

/// A crash between the row and its object is mended at the next look, not an hour later.
#[test]
fn a_row_without_an_object_gets_one_where_its_argo_cd_is() {
    let rows = [row("a", OperationState::Waiting)];
    let decision = operation::tidy(&rows, &[], &[instance()], START);
    assert_eq!(decision.writes, [Write::Create(kinds::operation::object(&"a".into(), "argocd", false))]);
    // By what it says, not by its name.
    let rung = operation::tidy(&rows, &[object("argocd", "test-operation", "a")], &[instance()], START);
    assert!(rung.writes.is_empty());
    // Defect 1: an object in the tenant's namespace is not one.
    let elsewhere = operation::tidy(&rows, &[object("shop", "operation-a", "a")], &[instance()], START);
    assert_eq!(elsewhere.writes.len(), 1);
}

#[test]
fn an_object_without_an_open_row_goes_unless_it_is_nobodys() {
    let objects = [object("argocd", "operation-x", "x"), object("elsewhere", "operation-y", "y")];
    let decision = operation::tidy(&[], &objects, &[instance()], START);
    let gone: Vec<&str> = decision
        .writes
        .iter()
        .map(|write| match write {
            Write::Delete(target) => target.name.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(gone, ["operation-x"]);
}

/// Defect 13: the original never removes what failed.
#[test]
fn what_is_over_goes_in_time() {
    let done = row("a", OperationState::Completed);
    let failed = row("b", OperationState::Failed);
    let brief = Operation { gc_expiration_s: Some(5), ..row("c", OperationState::Failed) };
    let rows = [done.clone(), failed.clone(), brief.clone()];
    let at = |ms: i64| {
        let decision = operation::tidy(&rows, &[], &[instance()], START.plus_ms(ms));
        decision.changes.iter().map(|change| change.key().to_string()).collect::<Vec<_>>()
    };
    assert!(at(4000).is_empty());
    assert_eq!(at(6000), ["c"]);
    assert_eq!(at(KEEP_COMPLETED_MS + 1), ["a", "c"]);
    assert_eq!(at(KEEP_FAILED_MS + 1), ["a", "b", "c"]);
    assert!(operation::tidy(&rows[..1], &[], &[instance()], START).again_ms.is_some(), "somebody looks then");
}

#[test]
fn one_that_waits_is_enough() {
    let (instance, owner) = (EngineInstanceId::from("ei"), UserId::from("u"));
    let wish =
        Wish { instance: &instance, resource: OperationResource::Application, resource_id: "app", owner: &owner };
    let ask = |rows: &[Operation]| operation::ask(rows, &wish, || "new".into(), START);
    assert_eq!(ask(&[row("a", OperationState::Waiting)]), None);
    assert!(ask(&[row("a", OperationState::InProgress)]).is_some(), "it may have read the row as it was");
    assert!(ask(&[]).is_some());
    let ask = |rows: &[Operation]| operation::ask_anew(rows, &wish, || "new".into(), START);
    let waiting = row("a", OperationState::Waiting);
    // Whoever has looked, and is about to say so, says it of a row that is another by now.
    let touched = Operation { last_state_update: START.plus_ms(1), ..waiting.clone() };
    assert_eq!(ask(std::slice::from_ref(&waiting)), Change::update(&waiting, &touched));
    let new = ask(&[]);
    assert_eq!(new.key().to_string(), "new");
    assert_eq!(ask(&[row("a", OperationState::InProgress)]), new, "it may have read the row as it was");
}

#[test]
fn rows_of_others_wait_for_a_ring() {
    let is_ours = |id: &str| operation::is_of_service(&id.into());
    assert!(is_ours("603d72f5-d4d5-43be-a71c-cf00f6884f24"));
    assert!(is_ours("delete-603d72f5-d4d5-43be-a71c-cf00f6884f24"));
    assert!(is_ours("stop-603d72f5-d4d5-43be-a71c-cf00f6884f24"));
    // The original's tests write rows with these, and expect that nothing happens unless something rings for them.
    for id in
        ["test-operation", "", "delete-", "603d72f5-d4d5-43be-a71c-cf00f6884f2", "603d72f5xd4d5-43be-a71c-cf00f6884f24"]
    {
        assert!(!is_ours(id), "{id}");
    }
}
