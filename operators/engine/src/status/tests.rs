#![allow(clippy::unwrap_used)]

use switchboard_kernel::resource::Resource;

use super::*;
use crate::target::targets;

fn wanted(names: &[(&str, &str)]) -> Targets {
    let objects = names.iter().map(|(name, value)| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}})
    });
    let maps = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
    targets("shop", "prod", objects.collect(), |_, _| Ok::<_, ()>(Some(maps.clone()))).unwrap()
}

fn there(targets: &Targets) -> Live {
    targets
        .wanted
        .iter()
        .map(|(key, target)| (key.clone(), (target.version.clone(), Some(target.object.clone()))))
        .collect()
}

fn found(targets: &Targets, live: &Live) -> Found {
    compare("shop", targets, live, &Project::default_project("argocd"), &Cluster::here(), false)
}

fn of(found: &Found) -> Vec<(String, &'static str, bool)> {
    found.managed.iter().map(|one| (one.key.name.clone(), one.sync.word(), one.prune)).collect()
}

#[test]
fn what_is_as_wanted_is_synced_and_healthy() {
    let targets = wanted(&[("a", "1"), ("b", "1")]);
    let found = found(&targets, &there(&targets));
    assert_eq!((found.sync, found.health), (Sync::Synced, Code::Healthy));
    assert_eq!(
        found.resources()[0],
        json!({"version": "v1", "kind": "ConfigMap", "namespace": "prod", "name": "a", "status": "Synced"})
    );
}

#[test]
fn what_is_missing_other_or_too_much_is_out_of_sync() {
    let targets = wanted(&[("a", "1"), ("b", "2")]);
    let mut live = there(&wanted(&[("a", "0"), ("old", "1")]));
    let found_now = found(&targets, &live);
    assert_eq!(found_now.sync, Sync::OutOfSync);
    assert_eq!(
        of(&found_now),
        [("a".into(), "OutOfSync", false), ("b".into(), "OutOfSync", false), ("old".into(), "OutOfSync", true),]
    );
    assert_eq!(found_now.resources()[1]["health"]["status"], "Missing");
    live.clear();
    assert_eq!(found(&targets, &live).health, Code::Missing);
}

#[test]
fn an_object_of_another_application_is_neither_pruned_nor_taken_silently() {
    let mut live = there(&wanted(&[("a", "1"), ("b", "1")]));
    for (_, object) in live.values_mut() {
        let object = object.as_mut().unwrap();
        let name = text(object, "/metadata/name").to_string();
        object["metadata"]["annotations"][crate::target::TRACKING] = json!(format!("other:/ConfigMap:prod/{name}"));
    }
    let found = found(&wanted(&[("a", "1")]), &live);
    assert_eq!(of(&found), [("a".into(), "OutOfSync", false)]);
    assert_eq!(
        found.conditions,
        [("SharedResourceWarning", "ConfigMap/a is part of applications shop and other".to_string())]
    );
}

#[test]
fn a_target_that_is_not_known_makes_everything_unknown() {
    let live = there(&wanted(&[("a", "1")]));
    let found =
        compare("shop", &Targets::default(), &live, &Project::default_project("argocd"), &Cluster::here(), true);
    assert_eq!((found.sync, of(&found)), (Sync::Unknown, vec![("a".into(), "Unknown", true)]));
}

#[test]
fn conditions_keep_their_time_until_they_say_something_else() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let mut status = json!({});
    set_conditions(&mut status, &["ComparisonError"], &[("ComparisonError", "a".into())], at(0));
    set_conditions(&mut status, &["SyncError"], &[("SyncError", "s".into())], at(5));
    set_conditions(&mut status, &["ComparisonError"], &[("ComparisonError", "a".into())], at(9));
    let times: Vec<&str> = list(&status, "/conditions").map(|one| text(one, "/lastTransitionTime")).collect();
    assert_eq!(times, ["1970-01-01T00:00:00Z", "1970-01-01T00:00:05Z"]);
    set_conditions(&mut status, &["ComparisonError", "SyncError"], &[], at(10));
    assert_eq!(status, json!({}));
}
