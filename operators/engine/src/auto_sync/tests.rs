#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use super::*;
use crate::status::ManagedResource;
use crate::target::ResourceKey;
use switchboard_object::health::HealthCode;

const NOW: &str = "2026-01-01T00:10:00Z";

fn object(name: &str, sync: SyncStatusCode, prune: bool) -> ManagedResource {
    let key =
        ResourceKey { group: String::new(), kind: "ConfigMap".into(), namespace: "prod".into(), name: name.into() };
    ManagedResource { key, version: "v1".into(), sync, health: None, prune, wave: 0 }
}

fn found(managed: Vec<ManagedResource>) -> ComparisonResult {
    let odd = managed.iter().any(|one| one.sync != SyncStatusCode::Synced);
    let sync = if odd { SyncStatusCode::OutOfSync } else { SyncStatusCode::Synced };
    ComparisonResult { managed, sync, health: HealthCode::Healthy, conditions: vec![], images: BTreeSet::new() }
}

fn application(automated: Value) -> Value {
    json!({"spec": {"source": {"repoURL": "r"}, "syncPolicy": {"automated": automated, "syncOptions": ["CreateNamespace=true"]}}})
}

fn attempted(mut application: Value, phase: &str, finished: &str, attempts: i64) -> Value {
    application["status"] = json!({"operationState": {"phase": phase, "message": "no", "finishedAt": finished,
        "operation": {"sync": {"autoHealAttemptsCount": attempts}}, "syncResult": {"revision": "abc", "source": {"repoURL": "r"}}}});
    application
}

fn decided(application: &Value, found: &ComparisonResult) -> AutoSyncDecision {
    decide(application, found, "abc", parse_time(NOW).unwrap())
}

#[test]
fn an_automated_sync_uses_the_compared_revision() {
    let odd = found(vec![object("a", SyncStatusCode::OutOfSync, false)]);
    let AutoSyncDecision::StartSync(operation) = decided(&application(json!({"prune": true})), &odd) else {
        panic!("it starts")
    };
    assert_eq!(
        operation,
        json!({"initiatedBy": {"automated": true}, "retry": {"limit": 5},
        "sync": {"revision": "abc", "prune": true, "source": {"repoURL": "r"}, "syncOptions": ["CreateNamespace=true"]}})
    );
    assert!(has_sync_option(&operation, "CreateNamespace=true"));
    assert_eq!(decided(&application(Value::Null), &odd), AutoSyncDecision::Nothing);
    assert_eq!(decided(&application(json!({"enabled": false})), &odd), AutoSyncDecision::Nothing);
    assert_eq!(
        decided(&application(json!({})), &found(vec![object("a", SyncStatusCode::Synced, false)])),
        AutoSyncDecision::Nothing
    );
}

#[test]
fn extra_objects_alone_start_no_sync_without_prune_and_never_wipe_everything() {
    let extra = found(vec![object("a", SyncStatusCode::Synced, false), object("old", SyncStatusCode::OutOfSync, true)]);
    assert_eq!(decided(&application(json!({})), &extra), AutoSyncDecision::Nothing);
    assert!(matches!(decided(&application(json!({"prune": true})), &extra), AutoSyncDecision::StartSync(_)));
    let all = found(vec![object("old", SyncStatusCode::OutOfSync, true)]);
    let told = "Skipping sync attempt to [abc]: auto-sync will wipe out all resources".to_string();
    assert_eq!(decided(&application(json!({"prune": true})), &all), AutoSyncDecision::SyncError(told));
    assert!(matches!(
        decided(&application(json!({"prune": true, "allowEmpty": true})), &all),
        AutoSyncDecision::StartSync(_)
    ));
}

#[test]
fn an_attempted_revision_is_synced_again_only_by_self_heal() {
    let odd = found(vec![object("a", SyncStatusCode::OutOfSync, false), object("b", SyncStatusCode::Synced, false)]);
    let failed = attempted(application(json!({"selfHeal": true})), "Failed", NOW, 0);
    assert_eq!(decided(&failed, &odd), AutoSyncDecision::SyncError("Failed last sync attempt to [abc]: no".into()));
    assert_eq!(decided(&attempted(application(json!({})), "Succeeded", NOW, 0), &odd), AutoSyncDecision::Nothing);
    let heals = |finished: &str, attempts| {
        decided(&attempted(application(json!({"selfHeal": true})), "Succeeded", finished, attempts), &odd)
    };
    let AutoSyncDecision::StartSync(first) = heals(NOW, 0) else { panic!("the first repair is made at once") };
    assert_eq!(first["sync"]["resources"], json!([{"kind": "ConfigMap", "name": "a"}]));
    assert_eq!(first["sync"]["autoHealAttemptsCount"], 1);
    assert_eq!(heals(NOW, 1), AutoSyncDecision::RetryAfter(Duration::from_secs(2)));
    assert_eq!(heals(NOW, 3), AutoSyncDecision::RetryAfter(Duration::from_secs(18)));
    assert_eq!(heals(NOW, 99), AutoSyncDecision::RetryAfter(Duration::from_secs(300)));
    assert!(matches!(heals("2026-01-01T00:09:50Z", 2), AutoSyncDecision::StartSync(_)));
    let AutoSyncDecision::StartSync(again) = heals("2026-01-01T00:00:00Z", 99) else {
        panic!("old repairs are forgotten")
    };
    assert_eq!(again["sync"]["autoHealAttemptsCount"], 1);
}
