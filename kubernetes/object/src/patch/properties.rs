#![allow(clippy::unwrap_used)]
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::schema::{Definitions, Schema};
use crate::{Map, Value};

/// Generates objects without nulls, like stored objects.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0..9i64).prop_map(Value::from),
        "[a-c]".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-d]", inner, 0..4).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map> {
    proptest::collection::btree_map("[a-e]", value(), 0..5).prop_map(|m| m.into_iter().collect())
}

/// Returns the operations that turn `from` into `to`: adds, removals and replacements.
fn operations(from: &Map, to: &Map) -> Value {
    let mut list = Vec::new();
    for (key, old) in from.iter().filter(|(key, _)| !to.contains_key(*key)) {
        list.push(json!({"op": "test", "path": format!("/{key}"), "value": old}));
        list.push(json!({"op": "remove", "path": format!("/{key}")}));
    }
    for (key, new) in to {
        let op = if from.contains_key(key) { "replace" } else { "add" };
        list.push(json!({"op": op, "path": format!("/{key}"), "value": new}));
    }
    Value::Array(list)
}

fn items() -> impl Strategy<Value = Value> {
    let names = proptest::sample::subsequence(vec!["a", "b", "c", "d", "e"], 0..5).prop_shuffle();
    (names, proptest::collection::vec(0..9i64, 5)).prop_map(|(names, values)| {
        names.iter().zip(values).map(|(name, value)| json!({"name": name, "value": value})).collect()
    })
}

fn merge_list_schema() -> Schema {
    Schema::from_json(&json!({"type": "object", "properties": {
        "items": {"type": "array", "items": {"type": "object"},
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"},
        "words": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
    }}))
}

proptest! {
    #[test]
    fn a_merge_patch_of_the_difference_gives_the_target(from in object(), to in object()) {
        let patch = merge::diff(&from, &to);
        let patched = merge::apply(Value::Object(from), Value::Object(patch)).unwrap();
        prop_assert_eq!(patched, Value::Object(to));
    }

    #[test]
    fn a_merge_patch_applied_twice_is_applied_once(target in object(), patch in object()) {
        let once = merge::apply(Value::Object(target), Value::Object(patch.clone())).unwrap();
        let twice = merge::apply(once.clone(), Value::Object(patch)).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn a_json_patch_and_its_inverse_cancel(from in object(), to in object()) {
        let there = json::apply(Value::Object(from.clone()), &operations(&from, &to)).unwrap();
        prop_assert_eq!(&there, &Value::Object(to.clone()));
        let back = json::apply(there, &operations(&to, &from)).unwrap();
        prop_assert_eq!(back, Value::Object(from));
    }

    #[test]
    fn a_strategic_patch_applied_twice_is_applied_once(live in items(), new in items(), words in proptest::collection::btree_set("[a-e]", 0..4)) {
        let (definitions, schema) = (Definitions::default(), merge_list_schema());
        let words: Vec<String> = words.into_iter().collect();
        let patch = json!({"items": new, "words": words});
        let apply = |target: Value| strategic::apply(&definitions, &schema, target, patch.clone()).unwrap();
        let once = apply(json!({"items": live, "words": ["c", "a"]}));
        prop_assert_eq!(&apply(once.clone()), &once);
        let names = |list: &Value| list.as_array().into_iter().flatten().map(|i| i["name"].clone()).collect::<Vec<_>>();
        for name in names(&live).iter().chain(&names(&new)) {
            prop_assert_eq!(names(&once["items"]).iter().filter(|n| *n == name).count(), 1);
        }
    }

    #[test]
    fn without_lists_a_strategic_patch_is_a_merge_patch(target in flat(), patch in flat()) {
        let by_strategy = strategic::apply(&Definitions::default(), &Schema::default(), target.clone(), patch.clone()).unwrap();
        prop_assert_eq!(by_strategy, merge::apply(target, patch).unwrap());
    }
}

fn flat() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![(0..9i64).prop_map(Value::from), "[a-c]".prop_map(Value::from)];
    let tree = leaf.prop_recursive(3, 16, 4, |inner| {
        proptest::collection::btree_map("[a-d]", inner, 0..4).prop_map(|m| Value::Object(m.into_iter().collect()))
    });
    proptest::collection::btree_map("[a-d]", tree, 0..4).prop_map(|m| Value::Object(m.into_iter().collect()))
}
