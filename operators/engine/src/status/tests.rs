#![allow(clippy::unwrap_used)]

use switchboard_kernel::resource::Resource;

use super::*;
use crate::target::target_objects;

fn config_maps(names: &[(&str, &str)]) -> TargetObjects {
    let objects = names.iter().map(|(name, value)| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}})
    });
    let maps = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
    target_objects("shop", "prod", objects.collect(), |_, _| Ok::<_, ()>(Some(maps.clone()))).unwrap()
}

fn live_objects(targets: &TargetObjects) -> LiveObjects {
    targets
        .objects
        .iter()
        .map(|(key, target)| (key.clone(), (target.version.clone(), Some(target.object.clone()))))
        .collect()
}

fn compare_targets(targets: &TargetObjects, live: &LiveObjects) -> ComparisonResult {
    compare("shop", targets, live, &Project::default_project("argocd"), &DestinationCluster::in_cluster(), false)
}

fn sync_summary(found: &ComparisonResult) -> Vec<(String, &'static str, bool)> {
    found.managed.iter().map(|one| (one.key.name.clone(), one.sync.as_str(), one.prune)).collect()
}

#[test]
fn matching_objects_are_synced_and_healthy() {
    let targets = config_maps(&[("a", "1"), ("b", "1")]);
    let found = compare_targets(&targets, &live_objects(&targets));
    assert_eq!((found.sync, found.health), (SyncStatusCode::Synced, HealthCode::Healthy));
    assert_eq!(
        found.resources()[0],
        json!({"version": "v1", "kind": "ConfigMap", "namespace": "prod", "name": "a", "status": "Synced"})
    );
}

#[test]
fn missing_different_and_extra_objects_are_out_of_sync() {
    let targets = config_maps(&[("a", "1"), ("b", "2")]);
    let mut live = live_objects(&config_maps(&[("a", "0"), ("old", "1")]));
    let found_now = compare_targets(&targets, &live);
    assert_eq!(found_now.sync, SyncStatusCode::OutOfSync);
    assert_eq!(
        sync_summary(&found_now),
        [("a".into(), "OutOfSync", false), ("b".into(), "OutOfSync", false), ("old".into(), "OutOfSync", true),]
    );
    assert_eq!(found_now.resources()[1]["health"]["status"], "Missing");
    live.clear();
    assert_eq!(compare_targets(&targets, &live).health, HealthCode::Missing);
}

#[test]
fn an_object_of_another_application_is_not_pruned_and_reported() {
    let mut live = live_objects(&config_maps(&[("a", "1"), ("b", "1")]));
    for (_, object) in live.values_mut() {
        let object = object.as_mut().unwrap();
        let name = text(object, "/metadata/name").to_string();
        object["metadata"]["annotations"][crate::target::TRACKING] = json!(format!("other:/ConfigMap:prod/{name}"));
    }
    let found = compare_targets(&config_maps(&[("a", "1")]), &live);
    assert_eq!(sync_summary(&found), [("a".into(), "OutOfSync", false)]);
    assert_eq!(
        found.conditions,
        [("SharedResourceWarning", "ConfigMap/a is part of applications shop and other".to_string())]
    );
}

#[test]
fn an_unknown_target_makes_everything_unknown() {
    let live = live_objects(&config_maps(&[("a", "1")]));
    let found = compare(
        "shop",
        &TargetObjects::default(),
        &live,
        &Project::default_project("argocd"),
        &DestinationCluster::in_cluster(),
        true,
    );
    assert_eq!((found.sync, sync_summary(&found)), (SyncStatusCode::Unknown, vec![("a".into(), "Unknown", true)]));
}

#[test]
fn conditions_keep_their_time_until_they_change() {
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
