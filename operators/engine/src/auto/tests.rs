#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use super::*;
use crate::health::Code;
use crate::status::Managed;
use crate::target::Key;

const NOW: &str = "2026-01-01T00:10:00Z";

fn object(name: &str, sync: Sync, prune: bool) -> Managed {
    let key = Key { group: String::new(), kind: "ConfigMap".into(), namespace: "prod".into(), name: name.into() };
    Managed { key, version: "v1".into(), sync, health: None, prune, wave: 0 }
}

fn found(managed: Vec<Managed>) -> Found {
    let odd = managed.iter().any(|one| one.sync != Sync::Synced);
    let sync = if odd { Sync::OutOfSync } else { Sync::Synced };
    Found { managed, sync, health: Code::Healthy, conditions: vec![], images: BTreeSet::new() }
}

fn application(automated: Value) -> Value {
    json!({"spec": {"source": {"repoURL": "r"}, "syncPolicy": {"automated": automated, "syncOptions": ["CreateNamespace=true"]}}})
}

fn attempted(mut application: Value, phase: &str, finished: &str, attempts: i64) -> Value {
    application["status"] = json!({"operationState": {"phase": phase, "message": "no", "finishedAt": finished,
        "operation": {"sync": {"autoHealAttemptsCount": attempts}}, "syncResult": {"revision": "abc", "source": {"repoURL": "r"}}}});
    application
}

fn decided(application: &Value, found: &Found) -> Auto {
    decide(application, found, "abc", time(NOW).unwrap())
}

#[test]
fn out_of_sync_is_synced_to_what_was_compared() {
    let odd = found(vec![object("a", Sync::OutOfSync, false)]);
    let Auto::Start(operation) = decided(&application(json!({"prune": true})), &odd) else { panic!("it starts") };
    assert_eq!(
        operation,
        json!({"initiatedBy": {"automated": true}, "retry": {"limit": 5},
        "sync": {"revision": "abc", "prune": true, "source": {"repoURL": "r"}, "syncOptions": ["CreateNamespace=true"]}})
    );
    assert!(has_sync_option(&operation, "CreateNamespace=true"));
    assert_eq!(decided(&application(Value::Null), &odd), Auto::Nothing);
    assert_eq!(decided(&application(json!({"enabled": false})), &odd), Auto::Nothing);
    assert_eq!(decided(&application(json!({})), &found(vec![object("a", Sync::Synced, false)])), Auto::Nothing);
}

#[test]
fn what_is_too_much_alone_is_no_reason_without_prune_and_all_of_it_is_not_wiped_out() {
    let extra = found(vec![object("a", Sync::Synced, false), object("old", Sync::OutOfSync, true)]);
    assert_eq!(decided(&application(json!({})), &extra), Auto::Nothing);
    assert!(matches!(decided(&application(json!({"prune": true})), &extra), Auto::Start(_)));
    let all = found(vec![object("old", Sync::OutOfSync, true)]);
    let told = "Skipping sync attempt to [abc]: auto-sync will wipe out all resources".to_string();
    assert_eq!(decided(&application(json!({"prune": true})), &all), Auto::Told(told));
    assert!(matches!(decided(&application(json!({"prune": true, "allowEmpty": true})), &all), Auto::Start(_)));
}

#[test]
fn what_was_tried_is_tried_again_only_to_heal() {
    let odd = found(vec![object("a", Sync::OutOfSync, false), object("b", Sync::Synced, false)]);
    let failed = attempted(application(json!({"selfHeal": true})), "Failed", NOW, 0);
    assert_eq!(decided(&failed, &odd), Auto::Told("Failed last sync attempt to [abc]: no".into()));
    assert_eq!(decided(&attempted(application(json!({})), "Succeeded", NOW, 0), &odd), Auto::Nothing);
    let heals = |finished: &str, attempts| {
        decided(&attempted(application(json!({"selfHeal": true})), "Succeeded", finished, attempts), &odd)
    };
    let Auto::Start(first) = heals(NOW, 0) else { panic!("the first repair is made at once") };
    assert_eq!(first["sync"]["resources"], json!([{"kind": "ConfigMap", "name": "a"}]));
    assert_eq!(first["sync"]["autoHealAttemptsCount"], 1);
    assert_eq!(heals(NOW, 1), Auto::Later(Duration::from_secs(2)));
    assert_eq!(heals(NOW, 3), Auto::Later(Duration::from_secs(18)));
    assert_eq!(heals(NOW, 99), Auto::Later(Duration::from_secs(300)));
    assert!(matches!(heals("2026-01-01T00:09:50Z", 2), Auto::Start(_)));
    let Auto::Start(anew) = heals("2026-01-01T00:00:00Z", 99) else { panic!("old repairs are forgotten") };
    assert_eq!(anew["sync"]["autoHealAttemptsCount"], 1);
}
