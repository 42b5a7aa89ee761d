#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Wakes, touches};
use crate::cache::tests::{CONFIG_MAPS, comparisons, config_map, config_maps, holding, see, view};
use crate::cache::{Cache, Change, Observed};
use crate::decision::Cause;
use crate::operator::{OperatorName, Unit, UnitId};
use crate::resource::{Query, Selection};
use crate::view::Reads;

fn unit(name: &str) -> UnitId {
    UnitId { operator: OperatorName::new("shop"), unit: Unit::object("shop", name) }
}

fn names(woken: &[(UnitId, Cause)]) -> Vec<&str> {
    woken.iter().map(|(unit, _)| unit.unit.name()).collect()
}

fn put(cache: &mut Cache, name: &str, revision: u64, labels: &Value) -> Change {
    see(cache, Observed::Put(config_map(name, revision, labels))).remove(0)
}

#[test]
fn what_was_read_wakes_and_nothing_else() {
    let mut cache = holding(&[config_map("a", 1, &json!({})), config_map("b", 2, &json!({}))]);
    let mut wakes = Wakes::default();
    let reading = view(&cache);
    reading.get(&CONFIG_MAPS, "shop", "a").unwrap();
    reading.get(&CONFIG_MAPS, "shop", "new").unwrap();
    wakes.set(&unit("by-name"), &reading.into_reads());
    let listing = view(&cache);
    listing.list(&CONFIG_MAPS, &Selection::namespace("shop").labelled("app=web")).unwrap();
    wakes.set(&unit("by-label"), &listing.into_reads());

    assert_eq!(names(&wakes.woken(&put(&mut cache, "a", 11, &json!({})))), ["by-name"], "an object it read");
    assert_eq!(names(&wakes.woken(&put(&mut cache, "new", 12, &json!({})))), ["by-name"], "the one it missed");
    assert_eq!(names(&wakes.woken(&put(&mut cache, "b", 13, &json!({})))), [""; 0]);
    assert_eq!(names(&wakes.woken(&put(&mut cache, "b", 14, &json!({ "app": "web" })))), ["by-label"], "matches now");
    assert_eq!(names(&wakes.woken(&put(&mut cache, "b", 15, &json!({ "app": "db" })))), ["by-label"], "matched before");
    assert_eq!(names(&wakes.woken(&put(&mut cache, "b", 16, &json!({ "app": "db" })))), [""; 0]);
}

#[test]
fn a_list_of_names_that_begin_so_is_of_these_alone() {
    let mut cache = holding(&[config_map("made-1", 1, &json!({})), config_map("other", 2, &json!({}))]);
    let mut wakes = Wakes::default();
    let reading = view(&cache);
    let found = reading.list(&CONFIG_MAPS, &Selection::namespace("shop").beginning("made-")).unwrap();
    assert_eq!(found.iter().map(|object| &*object.key.name).collect::<Vec<_>>(), ["made-1"]);
    let reads = reading.into_reads();
    wakes.set(&unit("u"), &reads);
    let new = put(&mut cache, "made-2", 11, &json!({}));
    assert_eq!(names(&wakes.woken(&new)), ["u"]);
    assert!(touches(&reads, &new).is_some());
    let other = put(&mut cache, "other", 12, &json!({}));
    assert_eq!(names(&wakes.woken(&other)), [""; 0]);
    assert_eq!(touches(&reads, &other), None);
}

#[test]
fn a_status_that_was_not_asked_for_wakes_nobody() {
    let with = |revision: u64, words: &str, status: u32| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"words": words}, "status": {"count": status},
            "metadata": {"name": "a", "namespace": "shop", "uid": "a", "resourceVersion": revision.to_string()}});
        Observed::Put(object.to_string().into_bytes().into())
    };
    let mut cache = holding(&[]);
    see(&mut cache, with(11, "hello", 0));
    let mut wakes = Wakes::default();
    let (settled, whole) = (view(&cache), view(&cache));
    settled.get_but_for_status(&CONFIG_MAPS, "shop", "a").unwrap();
    settled.get_but_for_status(&CONFIG_MAPS, "shop", "a").unwrap();
    let settled = settled.into_reads();
    wakes.set(&unit("settled"), &settled);
    whole.get(&CONFIG_MAPS, "shop", "a").unwrap();
    whole.get_but_for_status(&CONFIG_MAPS, "shop", "a").unwrap();
    wakes.set(&unit("whole"), &whole.into_reads());

    let counted = see(&mut cache, with(12, "hello", 1)).remove(0);
    assert_eq!(names(&wakes.woken(&counted)), ["whole"]);
    assert_eq!(touches(&settled, &counted), None);
    let changed = see(&mut cache, with(13, "good day", 1)).remove(0);
    assert_eq!(names(&wakes.woken(&changed)), ["settled", "whole"]);
    assert!(touches(&settled, &changed).is_some());
}

#[test]
fn a_cause_names_the_object_or_the_list() {
    let mut cache = holding(&[config_map("a", 1, &json!({}))]);
    let mut wakes = Wakes::default();
    let reading = view(&cache);
    reading.list(&CONFIG_MAPS, &Selection::all()).unwrap();
    wakes.set(&unit("lists"), &reading.reads());
    reading.get(&CONFIG_MAPS, "shop", "a").unwrap();
    wakes.set(&unit("lists-and-gets"), &reading.into_reads());
    let change = put(&mut cache, "a", 11, &json!({}));
    let woken: BTreeMap<_, _> = wakes.woken(&change).into_iter().collect();
    let list = Query { table: config_maps(), selection: Selection::all() };
    assert_eq!(woken[&unit("lists")], Cause::Matched { list, object: change.key.clone(), revision: 11 });
    assert_eq!(woken[&unit("lists-and-gets")], Cause::Changed { object: change.key, revision: 11 });
}

#[test]
fn the_last_reads_count_alone() {
    let mut cache = holding(&[config_map("a", 1, &json!({})), config_map("b", 2, &json!({}))]);
    let mut wakes = Wakes::default();
    for name in ["a", "b"] {
        let reading = view(&cache);
        reading.get(&CONFIG_MAPS, "shop", name).unwrap();
        wakes.set(&unit("u"), &reading.into_reads());
    }
    assert!(wakes.woken(&put(&mut cache, "a", 11, &json!({}))).is_empty());
    let change = put(&mut cache, "b", 12, &json!({}));
    assert_eq!(names(&wakes.woken(&change)), ["u"]);
    assert_eq!(wakes.reads_of(&config_maps()), [OperatorName::new("shop")]);
    wakes.forget(&unit("u"));
    assert!(wakes.woken(&change).is_empty());
    assert!(wakes.reads_of(&config_maps()).is_empty());
    assert_eq!((wakes.tables.len(), wakes.units.len()), (0, 0), "nothing is left behind");
}

#[test]
fn parked_units_wait_for_the_kind() {
    let mut wakes = Wakes::default();
    let reading = view(&Cache::default());
    assert!(reading.get(&CONFIG_MAPS, "shop", "a").is_err());
    wakes.set(&unit("u"), &reading.into_reads());
    assert_eq!(wakes.waiting_for(&config_maps()), [unit("u")]);
    assert_eq!(wakes.reads_of(&config_maps()), [OperatorName::new("shop")], "who waits wants the watch");
    let reading = view(&holding(&[]));
    reading.get(&CONFIG_MAPS, "shop", "a").unwrap();
    wakes.set(&unit("u"), &reading.into_reads());
    assert!(wakes.waiting_for(&config_maps()).is_empty());
}

/// A kernel's cache of so many objects and a thousand units, each of which reads one by name and lists a namespace of its own;
/// then the units that one change wakes, and the names compared from the change's bytes to them.
fn one_change_among(objects: usize) -> (Vec<String>, u64) {
    let bytes = |i| format!(r#"{{"metadata":{{"name":"o{i:06}","namespace":"shop","resourceVersion":"1"}}}}"#).into();
    let mut cache = holding(&(0..objects).map(bytes).collect::<Vec<_>>());
    let mut wakes = Wakes::default();
    for index in 0..1_000 {
        let reading = view(&cache);
        reading.get(&CONFIG_MAPS, "shop", &format!("o{index:06}")).unwrap();
        reading.list(&CONFIG_MAPS, &Selection::namespace(&format!("elsewhere-{index}"))).unwrap();
        wakes.set(&unit(&format!("u{index}")), &reading.into_reads());
    }
    // A view that is read from makes the cache leave it as it was: that is part of the work.
    let reading = view(&cache);
    let (woken, compared) = comparisons(|| wakes.woken(&put(&mut cache, "o000777", 11, &json!({}))));
    assert_eq!(reading.get(&CONFIG_MAPS, "shop", "o000777").unwrap().unwrap().revision, 1);
    (names(&woken).into_iter().map(str::to_string).collect(), compared)
}

/// Must hold 3: with 100,000 objects cached, one changed ConfigMap read by one unit wakes that unit only, and looks at as many
/// names as with 1,000, but for the depth of the tree. The bench `cache` counts instructions.
#[test]
fn of_a_hundred_thousand_one_is_woken() {
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
        |(selector, namespace)| namespace.map_or_else(Selection::all, Selection::namespace).labelled(selector),
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
    fn the_index_wakes_whom_the_change_touches(
        units in proptest::collection::vec((0..6u8, reads()), 0..20),
        changes in proptest::collection::vec((0..5u8, labels(), any::<bool>()), 1..20),
    ) {
        let (mut cache, mut wakes, mut held) = (holding(&[]), Wakes::default(), BTreeMap::new());
        for (index, reads) in units {
            let unit = unit(&format!("u{index}"));
            wakes.set(&unit, &reads);
            held.insert(unit, reads);
        }
        for (step, (name, labels, gone)) in changes.into_iter().enumerate() {
            let object = config_map(&format!("o{name}"), 11 + step as u64, &labels);
            let event = if gone { Observed::Remove(object) } else { Observed::Put(object) };
            for change in see(&mut cache, event) {
                let naive = held.iter().filter_map(|(unit, reads)| Some((unit.clone(), touches(reads, &change)?)));
                prop_assert_eq!(wakes.woken(&change), naive.collect::<Vec<_>>());
            }
        }
        for unit in held.keys() {
            wakes.forget(unit);
        }
        prop_assert_eq!((wakes.tables.len(), wakes.units.len()), (0, 0));
    }
}
