#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn every_row_names_a_field_that_exists() {
    for (definition, rows) in TABLE.iter() {
        for (field, _) in rows {
            let known = go_struct::fields(definition).iter().any(|f| f.name == *field);
            assert!(known, "{definition} has no field {field}");
        }
    }
}

#[test]
fn defaulting_twice_changes_nothing() {
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i",
        "livenessProbe": {"httpGet": {"port": 1}}}], "volumes": [{"name": "v"}]}});
    let mut once = json!({"metadata": {"name": "d"}, "spec": {"template": template}});
    apply("api.apps.v1.Deployment", &mut once);
    let mut twice = once.clone();
    apply("api.apps.v1.Deployment", &mut twice);
    assert_eq!(once, twice);
}

#[test]
fn the_tag_decides_when_an_image_is_pulled() {
    let cases = [
        ("web", "Always"),
        ("web:latest", "Always"),
        ("web:1", "IfNotPresent"),
        ("host:5000/team/web", "Always"),
        ("host:5000/team/web:2", "IfNotPresent"),
        ("web@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "IfNotPresent"),
        ("", "IfNotPresent"),
        ("Not An Image", "IfNotPresent"),
    ];
    for (image, policy) in cases {
        let mut container = json!({"name": "c", "image": image});
        apply("api.core.v1.Container", &mut container);
        assert_eq!(container["imagePullPolicy"], policy, "{image}");
    }
}

#[test]
fn explicit_zeros_of_pointers_are_kept() {
    let mut spec = json!({"replicas": 0, "revisionHistoryLimit": 0});
    apply("api.apps.v1.DeploymentSpec", &mut spec);
    assert_eq!((&spec["replicas"], &spec["revisionHistoryLimit"]), (&json!(0), &json!(0)));
}
