#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::json;
use switchboard_kernel::resource::{ObjectKey, TableKey};
use switchboard_kernel::topology::ClusterName;

use super::*;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");

fn wanted(data: Value) -> Mutation {
    Mutation::create(&CONFIG_MAPS, json!({"metadata": {"generateName": "key-", "namespace": "shop"}, "data": data}))
}

fn made(datas: &[Value]) -> GeneratedObjects {
    let one = |(index, data): (usize, &Value)| {
        let name = format!("key-{index}");
        let metadata = json!({"name": name, "namespace": "shop", "generateName": "key-", "uid": "u", "labels": {}});
        let json = json!({"metadata": metadata, "data": data}).to_string().into_bytes();
        let table = TableKey { cluster: ClusterName::new("a"), resource: Arc::new(CONFIG_MAPS) };
        let key = ObjectKey { table, namespace: "shop".into(), name: name.into() };
        (ClusterType::Configuration, CONFIG_MAPS, Object { key, revision: 1, json: json.into() })
    };
    GeneratedObjects { existing: datas.iter().enumerate().map(one).collect(), topology: apart() }
}

fn apart() -> Arc<Topology> {
    Arc::new(Topology::of(["a", "b", "c"].map(ClusterName::new)))
}

#[test]
fn an_equal_object_is_not_made_again() {
    assert_eq!(made(&[json!({"key": "a"})]).decide(&wanted(json!({"key": "a"})), &[]), CreateDecision::Exists);
}

#[test]
fn of_a_long_prefix_the_name_keeps_what_fits() {
    let prefix = "p".repeat(70);
    assert_eq!(name_prefix(&prefix).len(), 58);
    let mut made = made(&[json!({})]);
    let object = json!({"metadata": {"generateName": prefix}}).to_string().into_bytes();
    made.existing[0].2.json = object.into();
    made.existing[0].2.key.name = format!("{}xyz12", name_prefix(&prefix)).into();
    assert!(is_generated_with(&made.existing[0].2, &prefix));
}

#[test]
fn of_objects_that_differ_in_values_alone_only_a_few_are_made() {
    let alike = [json!({"key": "a"}), json!({"key": "b"}), json!({"key": "c"})];
    assert_eq!(made(&alike[..2]).decide(&wanted(json!({"key": "z"})), &[]), CreateDecision::Create);
    let CreateDecision::TooMany(why) = made(&alike).decide(&wanted(json!({"key": "z"})), &[]) else {
        panic!("one more was made")
    };
    assert!(why.contains("named key-* in every run: 3 exist"), "{why}");
}

#[test]
fn objects_of_another_shape_or_name_do_not_count() {
    let other = [json!({"cert": "a"}), json!({"cert": "b"}), json!({"cert": "c"})];
    assert_eq!(made(&other).decide(&wanted(json!({"key": "z"})), &[]), CreateDecision::Create);
    let named = Mutation::create(&CONFIG_MAPS, json!({"metadata": {"name": "web", "namespace": "shop"}}));
    assert_eq!(made(&other).decide(&named, &[]), CreateDecision::Create);
}

#[test]
fn what_one_run_makes_counts_as_well() {
    let planned: Vec<Mutation> = ["a", "b", "c"].into_iter().map(|key| wanted(json!({"key": key}))).collect();
    assert_eq!(made(&[]).decide(&wanted(json!({"key": "z"})), &planned[..2]), CreateDecision::Create);
    assert_eq!(made(&[]).decide(&wanted(json!({"key": "a"})), &planned[..2]), CreateDecision::Exists);
    assert!(matches!(made(&[]).decide(&wanted(json!({"key": "z"})), &planned), CreateDecision::TooMany(_)));
    let both = made(&[json!({"key": "x"}), json!({"key": "y"})]);
    assert!(matches!(both.decide(&wanted(json!({"key": "z"})), &planned[..1]), CreateDecision::TooMany(_)));
    let elsewhere: Vec<Mutation> = planned.into_iter().map(|one| one.on(ClusterType::Management)).collect();
    assert_eq!(made(&[]).decide(&wanted(json!({"key": "z"})), &elsewhere), CreateDecision::Create);
    let one = GeneratedObjects::empty(Arc::new(Topology::standalone(&ClusterName::new("a"))));
    assert!(
        matches!(one.decide(&wanted(json!({"key": "z"})), &elsewhere), CreateDecision::TooMany(_)),
        "on one cluster they are"
    );
}

#[test]
fn an_object_that_is_found_at_two_places_that_are_one_counts_once() {
    let of = |topology: Arc<Topology>| {
        let mut all = GeneratedObjects::empty(topology);
        let found = made(&[json!({"key": "a"}), json!({"key": "b"})]).existing;
        for (place, (_, resource, object)) in
            ClusterType::ALL.into_iter().flat_map(|at| found.iter().map(move |one| (at, one)))
        {
            all.record(place, resource, object.clone());
        }
        all
    };
    let one = of(Arc::new(Topology::standalone(&ClusterName::new("a"))));
    assert_eq!((one.existing.len(), of(apart()).existing.len()), (2, 6));
    assert_eq!(one.decide(&wanted(json!({"key": "z"})).on(ClusterType::Management), &[]), CreateDecision::Create);
    assert_eq!(one.decide(&wanted(json!({"key": "a"})).on(ClusterType::Management), &[]), CreateDecision::Exists);
}

#[test]
fn objects_of_another_version_count() {
    let mut made = made(&[json!({"key": "a"}), json!({"key": "b"}), json!({"key": "c"})]);
    made.existing.iter_mut().for_each(|(_, resource, _)| resource.version = "v2".into());
    assert!(matches!(made.decide(&wanted(json!({"key": "z"})), &[]), CreateDecision::TooMany(_)));
}
