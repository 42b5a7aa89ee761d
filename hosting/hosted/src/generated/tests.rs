#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::json;
use switchboard_kernel::place::ClusterName;
use switchboard_kernel::resource::{ObjectKey, TableKey};

use super::*;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");

fn wanted(data: Value) -> Mutation {
    Mutation::create(&CONFIG_MAPS, json!({"metadata": {"generateName": "key-", "namespace": "shop"}, "data": data}))
}

fn made(datas: &[Value]) -> Made {
    let one = |(index, data): (usize, &Value)| {
        let name = format!("key-{index}");
        let metadata = json!({"name": name, "namespace": "shop", "generateName": "key-", "uid": "u", "labels": {}});
        let json = json!({"metadata": metadata, "data": data}).to_string().into_bytes();
        let table = TableKey { cluster: ClusterName::new("a"), resource: Arc::new(CONFIG_MAPS) };
        let key = ObjectKey { table, namespace: "shop".into(), name: name.into() };
        (Place::Configuration, CONFIG_MAPS, Object { key, revision: 1, json: json.into() })
    };
    Made { there: datas.iter().enumerate().map(one).collect(), topology: apart() }
}

fn apart() -> Arc<Topology> {
    Arc::new(Topology::of(["a", "b", "c"].map(ClusterName::new)))
}

#[test]
fn an_equal_object_is_not_made_again() {
    assert_eq!(made(&[json!({"key": "a"})]).judge(&wanted(json!({"key": "a"})), &[]), Verdict::There);
}

#[test]
fn of_a_long_prefix_the_name_keeps_what_fits() {
    let prefix = "p".repeat(70);
    assert_eq!(kept(&prefix).len(), 58);
    let mut made = made(&[json!({})]);
    let object = json!({"metadata": {"generateName": prefix}}).to_string().into_bytes();
    made.there[0].2.json = object.into();
    made.there[0].2.key.name = format!("{}xyz12", kept(&prefix)).into();
    assert!(made_with(&made.there[0].2, &prefix));
}

#[test]
fn of_objects_that_differ_in_values_alone_only_a_few_are_made() {
    let alike = [json!({"key": "a"}), json!({"key": "b"}), json!({"key": "c"})];
    assert_eq!(made(&alike[..2]).judge(&wanted(json!({"key": "z"})), &[]), Verdict::Make);
    let Verdict::TooMany(why) = made(&alike).judge(&wanted(json!({"key": "z"})), &[]) else {
        panic!("one more was made")
    };
    assert!(why.contains("key-* of configmaps again and again: 3 are there"), "{why}");
}

#[test]
fn objects_of_another_shape_or_name_do_not_count() {
    let other = [json!({"cert": "a"}), json!({"cert": "b"}), json!({"cert": "c"})];
    assert_eq!(made(&other).judge(&wanted(json!({"key": "z"})), &[]), Verdict::Make);
    let named = Mutation::create(&CONFIG_MAPS, json!({"metadata": {"name": "web", "namespace": "shop"}}));
    assert_eq!(made(&other).judge(&named, &[]), Verdict::Make);
}

#[test]
fn what_one_run_makes_counts_as_well() {
    let planned: Vec<Mutation> = ["a", "b", "c"].into_iter().map(|key| wanted(json!({"key": key}))).collect();
    assert_eq!(made(&[]).judge(&wanted(json!({"key": "z"})), &planned[..2]), Verdict::Make);
    assert_eq!(made(&[]).judge(&wanted(json!({"key": "a"})), &planned[..2]), Verdict::There);
    assert!(matches!(made(&[]).judge(&wanted(json!({"key": "z"})), &planned), Verdict::TooMany(_)));
    let both = made(&[json!({"key": "x"}), json!({"key": "y"})]);
    assert!(matches!(both.judge(&wanted(json!({"key": "z"})), &planned[..1]), Verdict::TooMany(_)));
    let elsewhere: Vec<Mutation> = planned.into_iter().map(|one| one.at(Place::Management)).collect();
    assert_eq!(made(&[]).judge(&wanted(json!({"key": "z"})), &elsewhere), Verdict::Make);
    let one = Made::nothing(Arc::new(Topology::standalone(&ClusterName::new("a"))));
    assert!(
        matches!(one.judge(&wanted(json!({"key": "z"})), &elsewhere), Verdict::TooMany(_)),
        "on one cluster they are"
    );
}

#[test]
fn an_object_that_is_found_at_two_places_that_are_one_counts_once() {
    let of = |topology: Arc<Topology>| {
        let mut all = Made::nothing(topology);
        let found = made(&[json!({"key": "a"}), json!({"key": "b"})]).there;
        for (place, (_, resource, object)) in
            Place::ALL.into_iter().flat_map(|at| found.iter().map(move |one| (at, one)))
        {
            all.note(place, resource, object.clone());
        }
        all
    };
    let one = of(Arc::new(Topology::standalone(&ClusterName::new("a"))));
    assert_eq!((one.there.len(), of(apart()).there.len()), (2, 6));
    assert_eq!(one.judge(&wanted(json!({"key": "z"})).at(Place::Management), &[]), Verdict::Make);
    assert_eq!(one.judge(&wanted(json!({"key": "a"})).at(Place::Management), &[]), Verdict::There);
}

#[test]
fn objects_of_another_version_count() {
    let mut made = made(&[json!({"key": "a"}), json!({"key": "b"}), json!({"key": "c"})]);
    made.there.iter_mut().for_each(|(_, resource, _)| resource.version = "v2".into());
    assert!(matches!(made.judge(&wanted(json!({"key": "z"})), &[]), Verdict::TooMany(_)));
}
