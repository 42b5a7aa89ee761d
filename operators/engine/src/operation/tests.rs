#![allow(clippy::unwrap_used)]

use super::*;

fn now() -> Timestamp {
    parse_time("2026-01-01T10:00:05Z").unwrap()
}

fn key(name: &str) -> ResourceKey {
    ResourceKey { group: String::new(), kind: "ConfigMap".into(), namespace: "prod".into(), name: name.into() }
}

fn task(name: &str, wave: i64, what: SyncAction) -> SyncTask {
    SyncTask { key: key(name), version: "v1".into(), wave, action: what, denial: None, refusal: None, images: vec![] }
}

fn apply(name: &str, wave: i64, same: bool) -> SyncTask {
    task(name, wave, SyncAction::Apply { in_sync: same, health: None, awaits_definition: false })
}

fn prune(name: &str, there: bool) -> SyncTask {
    task(name, 0, SyncAction::Prune { present: there, terminating: false, retained: false })
}

fn state(operation: Value) -> Value {
    let mut state = begin(&operation, parse_time("2026-01-01T10:00:00Z").unwrap());
    state["syncResult"] = json!({"revision": "abc", "source": {}});
    state
}

fn over(step: OperationStep) -> (String, String, Vec<(String, String)>) {
    let OperationStep::Finish(state) = step else { panic!("it is over: {step:?}") };
    let results = list(&state, "/syncResult/resources");
    let results = results
        .map(|one| (text(one, "/name").to_string(), format!("{} {}", text(one, "/status"), text(one, "/message"))));
    (text(&state, "/phase").to_string(), text(&state, "/message").to_string(), results.collect())
}

#[test]
fn differences_are_applied_and_the_operation_finishes() {
    let state = state(json!({"sync": {}}));
    assert_eq!(
        next_step(&state, vec![apply("a", 0, false), apply("b", 0, true)], now()),
        OperationStep::Write(vec![key("a")])
    );
    let (phase, message, results) = over(next_step(&state, vec![apply("a", 0, true), apply("b", 0, true)], now()));
    assert_eq!((phase.as_str(), message.as_str()), ("Succeeded", "successfully synced (all tasks run)"));
    assert_eq!(results[0], ("a".into(), "Synced configmap/a serverside-applied".into()));
    assert_eq!(over(next_step(&state, vec![], now())).1, "successfully synced (no more tasks)");
}

#[test]
fn an_object_that_the_server_changes_does_not_block_a_sync() {
    let late = parse_time("2026-01-01T10:00:11Z").unwrap();
    assert_eq!(over(next_step(&state(json!({"sync": {}})), vec![apply("a", 0, false)], late)).0, "Succeeded");
}

#[test]
fn waves_are_applied_in_order_and_wait_for_health() {
    let state = state(json!({"sync": {}}));
    let first = |same, health| task("first", -1, SyncAction::Apply { in_sync: same, health, awaits_definition: false });
    assert_eq!(
        next_step(&state, vec![apply("a", 0, false), first(false, None)], now()),
        OperationStep::Write(vec![key("first")])
    );
    let waits = next_step(&state, vec![apply("a", 0, false), first(true, Some(HealthCode::Progressing))], now());
    let OperationStep::Update(waits) = waits else { panic!("{waits:?}") };
    assert_eq!(waits["message"], "waiting for healthy state of /ConfigMap/first");
    assert_eq!(
        next_step(&waits, vec![apply("a", 0, false), first(true, Some(HealthCode::Progressing))], now()),
        OperationStep::Wait(POLL_INTERVAL)
    );
    assert_eq!(
        next_step(&state, vec![apply("a", 0, false), first(true, Some(HealthCode::Healthy))], now()),
        OperationStep::Write(vec![key("a")])
    );
    assert_eq!(
        over(next_step(&state, vec![apply("a", 0, false), first(true, Some(HealthCode::Degraded))], now())).0,
        "Failed"
    );
}

#[test]
fn extra_objects_are_pruned_last_and_only_if_enabled() {
    let with = state(json!({"sync": {"prune": true}}));
    assert_eq!(
        next_step(&with, vec![apply("a", 0, false), prune("old", true)], now()),
        OperationStep::Write(vec![key("a")])
    );
    assert_eq!(
        next_step(&with, vec![apply("a", 0, true), prune("old", true)], now()),
        OperationStep::Write(vec![key("old")])
    );
    let going = task("old", 0, SyncAction::Prune { present: true, terminating: true, retained: false });
    assert_eq!(next_step(&with, vec![going], now()), OperationStep::Wait(POLL_INTERVAL));
    let (.., results) = over(next_step(&with, vec![prune("old", false)], now()));
    assert_eq!(results, [("old".to_string(), "Pruned pruned".to_string())]);
    let (.., results) = over(next_step(&state(json!({"sync": {}})), vec![prune("old", true)], now()));
    assert_eq!(results[0].1, "PruneSkipped ignored (requires pruning)");
}

#[test]
fn a_denied_object_fails_the_whole_sync() {
    let mut denied = apply("a", 0, false);
    denied.denial = Some("resource :Namespace is not permitted in project team".into());
    let (phase, message, results) =
        over(next_step(&state(json!({"sync": {}})), vec![denied, apply("b", 0, false)], now()));
    assert_eq!(phase, "Failed");
    assert_eq!(
        message,
        "one or more synchronization tasks are not valid: resource :Namespace is not permitted in project team"
    );
    assert!(results[0].1.starts_with("SyncFailed resource"));
}

#[test]
fn a_refused_object_fails_the_sync_and_is_retried() {
    let mut refused = apply("a", 0, false);
    refused.refusal = Some("admission says no".into());
    let (phase, message, _) = over(next_step(&state(json!({"sync": {}})), vec![refused.clone()], now()));
    assert_eq!(
        (phase.as_str(), message.as_str()),
        ("Failed", "one or more objects failed to apply, reason: admission says no")
    );
    let retried = state(json!({"sync": {}, "retry": {"limit": 1}}));
    let OperationStep::Update(later) = next_step(&retried, vec![refused.clone()], now()) else {
        panic!("it is tried again")
    };
    assert_eq!((text(&later, "/phase"), &later["retryCount"]), ("Running", &json!(1)));
    assert!(text(&later, "/message").ends_with("admission says no. Retrying attempt #1 at 10:00AM."), "{later}");
    assert_eq!(pending_step(&later, now()), Some(OperationStep::Wait(Duration::from_secs(5))));
    let at = parse_time("2026-01-01T10:00:10Z").unwrap();
    let Some(OperationStep::Update(again)) = pending_step(&later, at) else { panic!("its time has come") };
    assert_eq!((text(&again, "/message"), again.get("syncResult")), ("Retrying operation. Attempt #1", None));
    let (phase, message, _) = over(next_step(&again, vec![refused], at));
    assert!(phase == "Failed" && message.ends_with("(retried 1 times)."), "{message}");
}

#[test]
fn an_operation_can_be_terminated_and_partial() {
    let mut ending = state(json!({"sync": {}}));
    ending["phase"] = json!("Terminating");
    let Some(OperationStep::Finish(ended)) = pending_step(&ending, now()) else { panic!("it ends") };
    assert_eq!((text(&ended, "/phase"), text(&ended, "/message")), ("Failed", "Operation terminated"));
    let some = state(json!({"sync": {"resources": [{"kind": "ConfigMap", "name": "b"}]}}));
    assert_eq!(
        next_step(&some, vec![apply("a", 0, false), apply("b", 0, false)], now()),
        OperationStep::Write(vec![key("b")])
    );
}

#[test]
fn the_revision_is_recorded_first() {
    let application = json!({"spec": {"source": {"repoURL": "r", "targetRevision": "main"}}});
    let fresh = begin(&json!({"sync": {}}), now());
    let (source, revision) = source(&application, &fresh);
    assert_eq!(revision, "main");
    let state = pin_revision(&fresh, source, "abc").unwrap();
    assert_eq!(super::source(&application, &state).1, "abc");
    assert_eq!(pin_revision(&state, source, "abc"), None);
    let asked = begin(&json!({"sync": {"revision": "v1"}}), now());
    assert_eq!(super::source(&application, &asked).1, "v1");
}
