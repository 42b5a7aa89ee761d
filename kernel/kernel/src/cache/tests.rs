#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Cache, CacheError, ObjectChange, TableEvent, TableSize};
use crate::operator::{AccessRule, DecideError};
use crate::resource::{ListQuery, Resource, Selection, TableKey};
use crate::timestamp::Timestamp;
use crate::topology::{ClusterName, Topology};
use crate::view::{Reader, View};

thread_local! {
    static COMPARISONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts a comparison of two names: the cost that could grow with the number of objects.
pub fn compared() {
    COMPARISONS.set(COMPARISONS.get() + 1);
}

/// Returns the number of name comparisons on this thread during a call.
pub fn comparisons<T>(of: impl FnOnce() -> T) -> (T, u64) {
    let before = COMPARISONS.get();
    let result = of();
    (result, COMPARISONS.get() - before)
}

pub const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");

pub fn config_maps() -> TableKey {
    TableKey { cluster: ClusterName::new("home"), resource: Arc::new(CONFIG_MAPS) }
}

pub fn config_map(name: &str, revision: u64, labels: &Value) -> Bytes {
    let metadata =
        json!({ "namespace": "shop", "name": name, "resourceVersion": revision.to_string(), "labels": labels });
    Bytes::from(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }).to_string())
}

pub fn see(cache: &mut Cache, event: TableEvent) -> Vec<ObjectChange> {
    cache.observe(&config_maps(), event).unwrap().changes
}

/// Returns a cache with these objects, at revision 10.
pub fn holding(objects: &[Bytes]) -> Cache {
    let mut cache = Cache::default();
    see(&mut cache, TableEvent::Begin);
    for object in objects {
        see(&mut cache, TableEvent::Put(object.clone()));
    }
    assert!(cache.observe(&config_maps(), TableEvent::Synced { revision: 10 }).unwrap().became_readable);
    cache
}

pub fn view(cache: &Cache) -> View {
    let topology = Arc::new(Topology::standalone(&ClusterName::new("home")));
    View::new(cache.snapshot(), topology, Arc::new(BTreeSet::from([AccessRule::every(&CONFIG_MAPS)])), Timestamp(0))
}

fn names(cache: &Cache, selection: Selection) -> Vec<String> {
    let query = ListQuery { table: config_maps(), selection };
    let selector = query.selection.selector().unwrap();
    cache.snapshot().list(&query, &selector).unwrap().iter().map(|o| o.key.name.to_string()).collect()
}

/// Formats changes: `+a@3` created, `~a@3` changed, `-a@3` deleted.
fn told(changes: &[ObjectChange]) -> Vec<String> {
    let sign = |change: &ObjectChange| match (&change.before, &change.after) {
        (None, Some(_)) => '+',
        (Some(_), Some(_)) => '~',
        _ => '-',
    };
    changes.iter().map(|change| format!("{}{}@{}", sign(change), change.key.name, change.revision)).collect()
}

#[test]
fn a_list_is_seen_when_it_is_complete() {
    let mut cache = Cache::default();
    see(&mut cache, TableEvent::Begin);
    assert!(see(&mut cache, TableEvent::Put(config_map("a", 3, &json!({})))).is_empty());
    assert!(!cache.is_readable(&config_maps()));
    assert!(matches!(view(&cache).get(&CONFIG_MAPS, "shop", "a"), Err(DecideError::NotCached(_))));
    let observation = cache.observe(&config_maps(), TableEvent::Synced { revision: 10 }).unwrap();
    assert!(observation.became_readable);
    assert_eq!(told(&observation.changes), ["+a@3"]);
    assert_eq!(names(&cache, Selection::all()), ["a"]);
    assert_eq!(cache.revision(&ClusterName::new("home")), 10);
}

#[test]
fn a_second_list_reports_only_differences() {
    let none = json!({});
    let held = [config_map("a", 1, &none), config_map("b", 2, &none), config_map("c", 3, &none)];
    let mut cache = holding(&held);
    let before = view(&cache).get(&CONFIG_MAPS, "shop", "a").unwrap().unwrap();
    see(&mut cache, TableEvent::Begin);
    let came =
        [(config_map("a", 1, &none), ""), (config_map("c", 12, &none), "~c@12"), (config_map("d", 11, &none), "+d@11")];
    for (object, expected) in came {
        assert_eq!(told(&see(&mut cache, TableEvent::Put(object))).concat(), expected);
        let asked = view(&cache).list(&CONFIG_MAPS, &Selection::all());
        assert_eq!(asked.is_ok(), expected.is_empty(), "no reader sees a mixture of old and new");
    }
    let observation = cache.observe(&config_maps(), TableEvent::Synced { revision: 20 }).unwrap();
    assert!(observation.became_readable, "waiting units continue");
    assert_eq!(told(&observation.changes), ["-b@20"]);
    assert_eq!(names(&cache, Selection::all()), ["a", "c", "d"]);
    let after = view(&cache).get(&CONFIG_MAPS, "shop", "a").unwrap().unwrap();
    assert!(Arc::ptr_eq(&before.json, &after.json), "what did not change is shared");
}

#[test]
fn a_recreated_cluster_replaces_the_cached_objects() {
    let mut cache = holding(&[config_map("a", 9, &json!({}))]);
    see(&mut cache, TableEvent::Begin);
    assert_eq!(told(&see(&mut cache, TableEvent::Put(config_map("a", 4, &json!({ "new": "yes" }))))), ["~a@4"]);
    see(&mut cache, TableEvent::Synced { revision: 4 });
    assert_eq!(names(&cache, Selection::all().with_labels("new=yes")), ["a"]);
    assert_eq!(cache.revision(&ClusterName::new("home")), 4);
}

#[test]
fn an_incomplete_list_removes_nothing() {
    let none = json!({});
    let mut cache = holding(&[config_map("a", 1, &none), config_map("b", 2, &none)]);
    see(&mut cache, TableEvent::Begin);
    see(&mut cache, TableEvent::Put(config_map("b", 12, &none)));
    see(&mut cache, TableEvent::Begin);
    assert!(!cache.is_readable(&config_maps()), "half of a list was taken in");
    see(&mut cache, TableEvent::Put(config_map("a", 1, &none)));
    assert_eq!(told(&see(&mut cache, TableEvent::Synced { revision: 20 })), ["-b@20"]);
}

#[test]
fn old_objects_are_replaced_during_a_list() {
    let none = json!({});
    let mut cache = holding(&[config_map("a", 1, &none), config_map("b", 2, &none)]);
    let held =
        |cache: &Cache, name| Arc::downgrade(&view(cache).get(&CONFIG_MAPS, "shop", name).unwrap().unwrap().json);
    let (a, b) = (held(&cache, "a"), held(&cache, "b"));
    see(&mut cache, TableEvent::Begin);
    see(&mut cache, TableEvent::Put(config_map("a", 11, &none)));
    assert_eq!((a.strong_count(), b.strong_count()), (0, 1), "one world is held, not two");
}

#[test]
fn snapshots_are_shared_while_nothing_changes() {
    let mut cache = holding(&[config_map("a", 1, &json!({}))]);
    let before = cache.snapshot();
    assert!(Arc::ptr_eq(&before, &cache.snapshot()));
    see(&mut cache, TableEvent::Put(config_map("a", 11, &json!({}))));
    assert!(!Arc::ptr_eq(&before, &cache.snapshot()));
}

#[test]
fn old_events_change_nothing() {
    let none = json!({});
    let mut cache = holding(&[config_map("a", 5, &none)]);
    assert!(see(&mut cache, TableEvent::Put(config_map("a", 5, &none))).is_empty());
    assert!(see(&mut cache, TableEvent::Put(config_map("a", 4, &none))).is_empty());
    assert!(see(&mut cache, TableEvent::Remove(config_map("a", 4, &none))).is_empty());
    assert!(see(&mut cache, TableEvent::Remove(config_map("b", 4, &none))).is_empty());
    assert_eq!(told(&see(&mut cache, TableEvent::Put(config_map("a", 12, &none)))), ["~a@12"]);
    assert_eq!(told(&see(&mut cache, TableEvent::Remove(config_map("a", 13, &none)))), ["-a@13"]);
    assert_eq!(cache.size(&config_maps()), TableSize::default());
}

#[test]
fn a_kind_that_is_not_served_reads_as_empty() {
    let mut cache = holding(&[config_map("a", 5, &json!({}))]);
    assert_eq!(told(&see(&mut cache, TableEvent::NotServed)), ["-a@10"]);
    assert!(cache.is_readable(&config_maps()) && !cache.is_served(&config_maps()));
    assert_eq!(view(&cache).get(&CONFIG_MAPS, "shop", "a").unwrap().map(|o| o.revision), None);
    see(&mut cache, TableEvent::Begin);
    see(&mut cache, TableEvent::Synced { revision: 11 });
    assert!(cache.is_served(&config_maps()));
    let unseen = TableKey { cluster: ClusterName::new("other"), ..config_maps() };
    assert!(cache.observe(&unseen, TableEvent::NotServed).unwrap().became_readable, "waiting units continue");
}

#[test]
fn a_forgotten_kind_stays_forgotten() {
    let mut cache = holding(&[config_map("a", 5, &json!({}))]);
    cache.forget(&config_maps());
    assert!(see(&mut cache, TableEvent::Put(config_map("a", 15, &json!({})))).is_empty());
    assert!(!cache.is_readable(&config_maps()));
    assert_eq!(cache.tables().count(), 0);
}

#[test]
fn cached_objects_have_a_kind_and_no_managed_fields() {
    let text = r#" {"metadata": {"managedFields":[{"manager":"x"}], "name":"a","namespace":"shop","resourceVersion":"7"}, "data":{"k":"\u00e4"}}"#;
    let cache = holding(&[Bytes::from_static(text.as_bytes())]);
    let object = view(&cache).get(&CONFIG_MAPS, "shop", "a").unwrap().unwrap();
    let metadata = json!({ "name": "a", "namespace": "shop", "resourceVersion": "7" });
    let kept = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "k": "ä" } });
    assert_eq!(object.value(), kept);
    assert_eq!(cache.size(&config_maps()), TableSize { objects: 1, bytes: object.json.len() as u64 });
}

#[test]
fn hostile_bytes_are_refused_and_nothing_is_lost() {
    let mut cache = holding(&[config_map("a", 5, &json!({}))]);
    let hostile: [(&[u8], &str); 8] = [
        (b"", "unreadable"),
        (b"{\"metadata\":", "unreadable"),
        (b"\xff\xfe", "unreadable"),
        (b"[]", "unreadable"),
        (b"{\"metadata\":{\"name\":7}}", "unreadable"),
        (b"{\"metadata\":{\"name\":\"\",\"resourceVersion\":\"12\"}}", "name"),
        (b"{\"metadata\":{\"resourceVersion\":\"12\"}}", "name"),
        (b"{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"x\"}}", "resourceVersion"),
    ];
    for (bytes, wrong) in hostile {
        for event in [TableEvent::Put(Bytes::from_static(bytes)), TableEvent::Remove(Bytes::from_static(bytes))] {
            let error = cache.observe(&config_maps(), event).unwrap_err();
            assert!(error.to_string().contains("configmaps on cluster home"), "{error}");
            match error {
                CacheError::Unreadable { .. } => assert_eq!(wrong, "unreadable"),
                CacheError::Incomplete { field, .. } => assert_eq!(wrong, field),
            }
        }
    }
    assert_eq!(names(&cache, Selection::all()), ["a"]);
}

#[test]
fn lists_select_by_namespace_and_label() {
    let elsewhere = r#"{"metadata":{"name":"a","namespace":"zoo","resourceVersion":"7","labels":{"app":"web"}}}"#;
    let cache = holding(&[
        config_map("b", 1, &json!({ "app": "web" })),
        config_map("c", 2, &json!({ "app": "db" })),
        Bytes::from_static(elsewhere.as_bytes()),
    ]);
    assert_eq!(names(&cache, Selection::all()), ["b", "c", "a"]);
    assert_eq!(names(&cache, Selection::namespace("shop")), ["b", "c"]);
    assert_eq!(names(&cache, Selection::namespace("sho")), [""; 0]);
    assert_eq!(names(&cache, Selection::all().with_labels("app=web")), ["b", "a"]);
    assert_eq!(names(&cache, Selection::namespace("shop").with_labels("app!=web")), ["c"]);
}

#[test]
fn guarantees_a_view_does_not_change() {
    let mut cache = holding(&[config_map("a", 5, &json!({ "v": "old" }))]);
    let view = view(&cache);
    let read = |view: &View| {
        let all = view.list(&CONFIG_MAPS, &Selection::all()).unwrap();
        let absent = view.get(&CONFIG_MAPS, "shop", "b").unwrap().is_none();
        (all.iter().map(|o| (o.key.name.to_string(), o.value())).collect::<Vec<_>>(), absent)
    };
    let before = read(&view);
    see(&mut cache, TableEvent::Put(config_map("a", 11, &json!({ "v": "new" }))));
    see(&mut cache, TableEvent::Put(config_map("b", 12, &json!({}))));
    assert_eq!(read(&view), before);
    see(&mut cache, TableEvent::Begin);
    see(&mut cache, TableEvent::Synced { revision: 20 });
    assert_eq!(read(&view), before);
    cache.forget(&config_maps());
    assert_eq!(read(&view), before);
}

#[test]
fn guarantees_every_read_is_tracked() {
    let cache = holding(&[config_map("a", 5, &json!({ "app": "web" })), config_map("b", 6, &json!({}))]);
    let inputs = [CONFIG_MAPS, Resource::cluster_scoped("", "v1", "Namespace", "namespaces")];
    let topology = Arc::new(Topology::standalone(&ClusterName::new("home")));
    let declared = Arc::new(inputs.iter().map(AccessRule::every).collect::<BTreeSet<_>>());
    let view = View::new(cache.snapshot(), topology, declared, Timestamp(0));
    view.get(&CONFIG_MAPS, "shop", "a").unwrap().unwrap();
    assert!(view.get(&CONFIG_MAPS, "shop", "missing").unwrap().is_none());
    let selection = Selection::namespace("shop").with_labels("app=web");
    assert_eq!(view.list(&CONFIG_MAPS, &selection).unwrap().len(), 1);
    assert!(matches!(view.get(&inputs[1], "", "shop"), Err(DecideError::NotCached(_))));
    let reads = view.into_reads();
    let gets: Vec<_> = reads.gets.iter().map(|(key, revision)| (key.to_string(), *revision)).collect();
    assert_eq!(gets, [("configmaps/shop/a".to_string(), Some(5)), ("configmaps/shop/missing".to_string(), None)]);
    let lists: Vec<_> = reads.lists.iter().map(|(query, found)| (query.to_string(), found.len())).collect();
    assert_eq!(lists, [("configmaps in shop with app=web".to_string(), 1)]);
    assert_eq!(reads.missing.iter().map(|t| t.resource.to_string()).collect::<Vec<_>>(), ["namespaces"]);
}
