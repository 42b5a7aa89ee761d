#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn defaults_and_foreign_fields_do_not_count_as_a_change() {
    let there = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running"}, "metadata": {
        "name": "a", "uid": "u", "resourceVersion": "7", "labels": {"app": "a", "more": "yes"}},
        "spec": {"nodeName": "n", "containers": [{"name": "a", "image": "i", "imagePullPolicy": "Always",
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}});
    let wanted = json!({"apiVersion": "v1", "kind": "Pod", "status": {}, "metadata": {
        "name": "a", "creationTimestamp": null, "labels": {"app": "a"}, "annotations": {}},
        "spec": {"containers": [{"name": "a", "image": "i", "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}]}});
    assert_eq!(create_difference(&there, &wanted), None);
    let mut other = wanted.clone();
    other["spec"]["containers"][0]["image"] = "j".into();
    assert_eq!(
        create_difference(&there, &other).unwrap(),
        "it exists already and differs at `.spec.containers[0].image`"
    );
    let mut leaving = there;
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(create_difference(&leaving, &wanted).unwrap(), "it exists already and is being deleted");
}

#[test]
fn string_data_of_a_secret_is_compared_as_data() {
    let wanted = |text: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"key": text}});
    let there = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"key": "aHVzaA=="}});
    assert_eq!(create_difference(&there, &wanted("hush")), None);
    let why = create_difference(&there, &wanted("loud")).unwrap();
    assert_eq!(why, "it exists already and differs at `.data.key`", "no value is printed");
}

#[test]
fn update_is_done_only_without_leftover_fields() {
    let map = |revision: &str, data: Value| json!({"metadata": {"name": "a", "resourceVersion": revision}, "data": data, "status": {"x": revision}});
    let wanted = map("7", json!({"a": "1"}));
    assert_eq!(update_difference(&map("9", json!({"a": "1"})), &wanted, None), None);
    assert!(update_difference(&map("9", json!({"a": "1", "b": "2"})), &wanted, None).is_some(), "b was to go");
    assert!(update_difference(&map("9", json!({"a": "1"})), &wanted, Some("status")).is_some());
    assert_eq!(update_difference(&map("7", json!({"a": "2"})), &wanted, Some("status")), None);
}
