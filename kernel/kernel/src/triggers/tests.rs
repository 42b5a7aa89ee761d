#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{TriggerIndex, cause_of};
use crate::cache::tests::{CONFIG_MAPS, comparisons, config_map, config_maps, holding, see, view};
use crate::cache::{Cache, ObjectChange, TableEvent};
use crate::decision::Cause;
use crate::operator::{OperatorName, Unit, UnitId};
use crate::resource::{ListQuery, Selection};
use crate::view::Reads;

fn unit(name: &str) -> UnitId {
    UnitId { operator: OperatorName::new("shop"), unit: Unit::object("shop", name) }
}

fn names(triggered: &[(UnitId, Cause)]) -> Vec<&str> {
    triggered.iter().map(|(unit, _)| unit.unit.name()).collect()
}

fn put(cache: &mut Cache, name: &str, revision: u64, labels: &Value) -> ObjectChange {
    see(cache, TableEvent::Put(config_map(name, revision, labels))).remove(0)
}

#[test]
fn reads_trigger_and_nothing_else() {
    let mut cache = holding(&[config_map("a", 1, &json!({})), config_map("b", 2, &json!({}))]);
    let mut triggers = TriggerIndex::default();
    let reading = view(&cache);
    reading.get(&CONFIG_MAPS, "shop", "a").unwrap();
    reading.get(&CONFIG_MAPS, "shop", "new").unwrap();
    triggers.set(&unit("by-name"), &reading.into_reads());
    let listing = view(&cache);
    listing.list(&CONFIG_MAPS, &Selection::namespace("shop").with_labels("app=web")).unwrap();
    triggers.set(&unit("by-label"), &listing.into_reads());

    assert_eq!(names(&triggers.triggered(&put(&mut cache, "a", 11, &json!({})))), ["by-name"], "an object it read");
    assert_eq!(names(&triggers.triggered(&put(&mut cache, "new", 12, &json!({})))), ["by-name"], "the one it missed");
    assert_eq!(names(&triggers.triggered(&put(&mut cache, "b", 13, &json!({})))), [""; 0]);
    assert_eq!(
        names(&triggers.triggered(&put(&mut cache, "b", 14, &json!({ "app": "web" })))),
        ["by-label"],
        "matches now"
    );
    assert_eq!(
        names(&triggers.triggered(&put(&mut cache, "b", 15, &json!({ "app": "db" })))),
        ["by-label"],
        "matched before"
    );
    assert_eq!(names(&triggers.triggered(&put(&mut cache, "b", 16, &json!({ "app": "db" })))), [""; 0]);
}

#[test]
fn a_list_with_a_prefix_has_only_matching_names() {
    let mut cache = holding(&[config_map("made-1", 1, &json!({})), config_map("other", 2, &json!({}))]);
    let mut triggers = TriggerIndex::default();
    let reading = view(&cache);
    let found = reading.list(&CONFIG_MAPS, &Selection::namespace("shop").with_prefix("made-")).unwrap();
    assert_eq!(found.iter().map(|object| &*object.key.name).collect::<Vec<_>>(), ["made-1"]);
    let reads = reading.into_reads();
    triggers.set(&unit("u"), &reads);
    let new = put(&mut cache, "made-2", 11, &json!({}));
    assert_eq!(names(&triggers.triggered(&new)), ["u"]);
    assert!(cause_of(&reads, &new).is_some());
    let other = put(&mut cache, "other", 12, &json!({}));
    assert_eq!(names(&triggers.triggered(&other)), [""; 0]);
    assert_eq!(cause_of(&reads, &other), None);
}

#[test]
fn an_ignored_status_triggers_no_unit() {
    let with = |revision: u64, words: &str, status: u32| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"words": words}, "status": {"count": status},
            "metadata": {"name": "a", "namespace": "shop", "uid": "a", "resourceVersion": revision.to_string()}});
        TableEvent::Put(object.to_string().into_bytes().into())
    };
    let mut cache = holding(&[]);
    see(&mut cache, with(11, "hello", 0));
    let mut triggers = TriggerIndex::default();
    let (settled, whole) = (view(&cache), view(&cache));
    settled.get_ignoring_status(&CONFIG_MAPS, "shop", "a").unwrap();
    settled.get_ignoring_status(&CONFIG_MAPS, "shop", "a").unwrap();
    let settled = settled.into_reads();
    triggers.set(&unit("settled"), &settled);
    whole.get(&CONFIG_MAPS, "shop", "a").unwrap();
    whole.get_ignoring_status(&CONFIG_MAPS, "shop", "a").unwrap();
    triggers.set(&unit("whole"), &whole.into_reads());

    let counted = see(&mut cache, with(12, "hello", 1)).remove(0);
    assert_eq!(names(&triggers.triggered(&counted)), ["whole"]);
    assert_eq!(cause_of(&settled, &counted), None);
    let changed = see(&mut cache, with(13, "good day", 1)).remove(0);
    assert_eq!(names(&triggers.triggered(&changed)), ["settled", "whole"]);
    assert!(cause_of(&settled, &changed).is_some());
}

#[test]
fn a_cause_names_the_object_or_the_list() {
    let mut cache = holding(&[config_map("a", 1, &json!({}))]);
    let mut triggers = TriggerIndex::default();
    let reading = view(&cache);
    reading.list(&CONFIG_MAPS, &Selection::all()).unwrap();
    triggers.set(&unit("lists"), &reading.reads());
    reading.get(&CONFIG_MAPS, "shop", "a").unwrap();
    triggers.set(&unit("lists-and-gets"), &reading.into_reads());
    let change = put(&mut cache, "a", 11, &json!({}));
    let triggered: BTreeMap<_, _> = triggers.triggered(&change).into_iter().collect();
    let list = ListQuery { table: config_maps(), selection: Selection::all() };
    assert_eq!(triggered[&unit("lists")], Cause::Matched { list, object: change.key.clone(), revision: 11 });
    assert_eq!(triggered[&unit("lists-and-gets")], Cause::Changed { object: change.key, revision: 11 });
}

#[test]
fn the_last_reads_count_alone() {
    let mut cache = holding(&[config_map("a", 1, &json!({})), config_map("b", 2, &json!({}))]);
    let mut triggers = TriggerIndex::default();
    for name in ["a", "b"] {
        let reading = view(&cache);
        reading.get(&CONFIG_MAPS, "shop", name).unwrap();
        triggers.set(&unit("u"), &reading.into_reads());
    }
    assert!(triggers.triggered(&put(&mut cache, "a", 11, &json!({}))).is_empty());
    let change = put(&mut cache, "b", 12, &json!({}));
    assert_eq!(names(&triggers.triggered(&change)), ["u"]);
    assert_eq!(triggers.readers(&config_maps()), [OperatorName::new("shop")]);
    triggers.forget(&unit("u"));
    assert!(triggers.triggered(&change).is_empty());
    assert!(triggers.readers(&config_maps()).is_empty());
    assert_eq!((triggers.tables.len(), triggers.units.len()), (0, 0), "nothing is left behind");
}

#[test]
fn units_wait_for_missing_kinds() {
    let mut triggers = TriggerIndex::default();
    let reading = view(&Cache::default());
    assert!(reading.get(&CONFIG_MAPS, "shop", "a").is_err());
    triggers.set(&unit("u"), &reading.into_reads());
    assert_eq!(triggers.waiting_for(&config_maps()), [unit("u")]);
    assert_eq!(triggers.readers(&config_maps()), [OperatorName::new("shop")], "who waits wants the watch");
    let reading = view(&holding(&[]));
    reading.get(&CONFIG_MAPS, "shop", "a").unwrap();
    triggers.set(&unit("u"), &reading.into_reads());
    assert!(triggers.waiting_for(&config_maps()).is_empty());
}

/// Creates a cache with this many objects, and a thousand units that each read one object by name and list one
/// namespace. Returns the units that one change triggers, and the number of name comparisons for it.
fn one_change_among(objects: usize) -> (Vec<String>, u64) {
    let bytes = |i| format!(r#"{{"metadata":{{"name":"o{i:06}","namespace":"shop","resourceVersion":"1"}}}}"#).into();
    let mut cache = holding(&(0..objects).map(bytes).collect::<Vec<_>>());
    let mut triggers = TriggerIndex::default();
    for index in 0..1_000 {
        let reading = view(&cache);
        reading.get(&CONFIG_MAPS, "shop", &format!("o{index:06}")).unwrap();
        reading.list(&CONFIG_MAPS, &Selection::namespace(&format!("elsewhere-{index}"))).unwrap();
        triggers.set(&unit(&format!("u{index}")), &reading.into_reads());
    }
    // A live view makes the cache copy what it changes, which is part of the cost.
    let reading = view(&cache);
    let (triggered, compared) = comparisons(|| triggers.triggered(&put(&mut cache, "o000777", 11, &json!({}))));
    assert_eq!(reading.get(&CONFIG_MAPS, "shop", "o000777").unwrap().unwrap().revision, 1);
    (names(&triggered).into_iter().map(str::to_string).collect(), compared)
}

/// Requirement 3: with 100,000 cached objects, a change of one ConfigMap read by one unit triggers only that unit, and
/// compares as many names as with 1,000 objects, except for the depth of the tree. The bench `cache` counts
/// instructions.
#[test]
fn of_a_hundred_thousand_units_one_is_triggered() {
    let (few, few_compared) = one_change_among(1_000);
    let (many, many_compared) = one_change_among(100_000);
    assert_eq!((few, many), (vec!["u777".to_string()], vec!["u777".to_string()]));
    assert!(few_compared > 0, "nothing was counted");
    assert!(
        many_compared <= 2 * few_compared,
        "{few_compared} names compared among 1,000, {many_compared} among 100,000"
    );
}

fn labels() -> impl Strategy<Value = Value> {
    let label = (prop_oneof![Just("app"), Just("tier")], prop_oneof![Just("web"), Just("db")]);
    proptest::collection::btree_map(label.clone().prop_map(|l| l.0), label.prop_map(|l| l.1), 0..3)
        .prop_map(|map| json!(map))
}

fn selection() -> impl Strategy<Value = Selection> {
    let selectors =
        ["", "app=web", "app=db", "app in (web)", "app in (web,db)", "app!=web", "tier", "!tier", "tier=db,app=web"];
    let namespaces = [None, Some("shop"), Some("zoo")];
    (proptest::sample::select(selectors.to_vec()), proptest::sample::select(namespaces.to_vec())).prop_map(
        |(selector, namespace)| namespace.map_or_else(Selection::all, Selection::namespace).with_labels(selector),
    )
}

fn reads() -> impl Strategy<Value = Reads> {
    let gets = proptest::collection::vec(0..5u8, 0..3);
    (gets, proptest::collection::vec(selection(), 0..3)).prop_map(|(gets, lists)| {
        let reading = view(&holding(&[]));
        for name in gets {
            reading.get(&CONFIG_MAPS, "shop", &format!("o{name}")).unwrap();
        }
        for selection in lists {
            reading.list(&CONFIG_MAPS, &selection).unwrap();
        }
        reading.into_reads()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_triggers_the_units_a_change_concerns(
        units in proptest::collection::vec((0..6u8, reads()), 0..20),
        changes in proptest::collection::vec((0..5u8, labels(), any::<bool>()), 1..20),
    ) {
        let (mut cache, mut triggers, mut held) = (holding(&[]), TriggerIndex::default(), BTreeMap::new());
        for (index, reads) in units {
            let unit = unit(&format!("u{index}"));
            triggers.set(&unit, &reads);
            held.insert(unit, reads);
        }
        for (step, (name, labels, gone)) in changes.into_iter().enumerate() {
            let object = config_map(&format!("o{name}"), 11 + step as u64, &labels);
            let event = if gone { TableEvent::Remove(object) } else { TableEvent::Put(object) };
            for change in see(&mut cache, event) {
                let naive = held.iter().filter_map(|(unit, reads)| Some((unit.clone(), cause_of(reads, &change)?)));
                prop_assert_eq!(triggers.triggered(&change), naive.collect::<Vec<_>>());
            }
        }
        for unit in held.keys() {
            triggers.forget(unit);
        }
        prop_assert_eq!((triggers.tables.len(), triggers.units.len()), (0, 0));
    }
}
