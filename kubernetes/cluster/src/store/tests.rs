#![allow(clippy::unwrap_used)]

mod model;

use super::*;

fn body(text: &'static str) -> impl FnOnce(u64) -> Bytes {
    move |revision| Bytes::from(format!("{text}@{revision}"))
}

fn key(name: &str) -> StoreKey {
    StoreKey::new("root", "configmaps", "shop", name)
}

const PREFIX: &str = "root/configmaps/";

#[tokio::test]
async fn the_first_write_is_revision_two_as_in_etcd() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    assert_eq!(store.revision(), 1);
    let record = store.put(key("a"), ExpectedState::Absent, body("x")).await.unwrap();
    assert_eq!(record, StoredObject { revision: 2, bytes: "x@2".into() });
    assert_eq!(store.get(&key("a")), Some(record));
}

#[tokio::test]
async fn a_conflict_returns_the_stored_object() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    let stored = store.put(key("a"), ExpectedState::Absent, body("x")).await.unwrap();
    let Err(WriteError::Conflict { current }) = store.put(key("a"), ExpectedState::Absent, body("y")).await else {
        panic!()
    };
    assert_eq!(current, Some(stored));
    let Err(WriteError::Conflict { current }) = store.delete(key("b"), 2, body("y")).await else { panic!() };
    assert_eq!(current, None);
    assert_eq!(store.revision(), 2);
}

#[tokio::test]
async fn guarantees_pages_fit_together() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    for name in ["a", "b", "c", "d"] {
        store.put(key(name), ExpectedState::Absent, body("x")).await.unwrap();
    }
    let first = store.list(PREFIX, None, 2, None).unwrap();
    assert_eq!((first.records.len(), first.remaining, first.revision), (2, 2, 5));
    store.delete(key("c"), 4, body("gone")).await.unwrap();
    store.put(key("d"), ExpectedState::Revision(5), body("y")).await.unwrap();
    store.put(key("e"), ExpectedState::Absent, body("z")).await.unwrap();
    let last = first.records.last().unwrap().0.clone();
    let second = store.list(PREFIX, Some(last.as_str()), 0, Some(first.revision)).unwrap();
    let shown: Vec<_> = second.records.iter().map(|(key, record)| (key.name(), &record.bytes[..])).collect();
    assert_eq!(shown, [("c", &b"x@4"[..]), ("d", &b"x@5"[..])]);
    assert_eq!(second.remaining, 0);
}

#[tokio::test]
async fn guarantees_a_watch_misses_nothing() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    store.put(key("a"), ExpectedState::Absent, body("x")).await.unwrap();
    let mut watch = store.watch(PREFIX, 1).unwrap();
    store.put(StoreKey::new("root", "secrets", "shop", "a"), ExpectedState::Absent, body("s")).await.unwrap();
    store.delete(key("a"), 2, body("gone")).await.unwrap();
    let batch = watch.next().await.unwrap();
    let seen: Vec<_> = batch.changes.iter().map(|change| (change.revision, &change.object()[..])).collect();
    assert_eq!(seen, [(2, &b"x@2"[..]), (4, &b"gone@4"[..])]);
    let writer = store.clone();
    let later = tokio::spawn(async move { writer.put(key("b"), ExpectedState::Absent, body("x")).await });
    assert_eq!(watch.next().await.unwrap().changes[0].revision, 5);
    later.await.unwrap().unwrap();
    assert_eq!(watch.progress().unwrap().revision, 5);
}

#[tokio::test]
async fn a_watcher_that_lags_behind_the_history_ends() {
    let store = ObjectStore::in_memory(StoreLimits { history_changes: 2, ..StoreLimits::default() });
    let mut busy = store.watch(PREFIX, 1).unwrap();
    let mut idle = store.watch("root/secrets/", 1).unwrap();
    for name in ["a", "b", "c"] {
        store.put(key(name), ExpectedState::Absent, body("x")).await.unwrap();
    }
    assert_eq!(busy.next().await.unwrap_err(), ReadError::Compacted { oldest: 2 });
    store.put(StoreKey::new("root", "secrets", "shop", "a"), ExpectedState::Absent, body("s")).await.unwrap();
    assert_eq!(idle.next().await.unwrap().changes.len(), 1, "only changes of its own prefix matter to a watcher");
    assert_eq!(store.watch(PREFIX, 1).unwrap_err(), ReadError::Compacted { oldest: 3 });
    assert_eq!(store.list(PREFIX, None, 0, Some(2)).unwrap_err(), ReadError::Compacted { oldest: 3 });
    assert_eq!(store.watch(PREFIX, 9).unwrap_err(), ReadError::Future { current: 5 });
}

#[tokio::test]
async fn changes_expire_by_age() {
    let store = ObjectStore::in_memory(StoreLimits { history_age: Duration::from_secs(300), ..StoreLimits::default() });
    store.put(key("a"), ExpectedState::Absent, body("x")).await.unwrap();
    store.tick(Duration::from_secs(10));
    store.put(key("b"), ExpectedState::Absent, body("x")).await.unwrap();
    store.tick(Duration::from_secs(309));
    assert_eq!(store.compacted(), 0);
    store.tick(Duration::from_secs(310));
    assert_eq!(store.compacted(), 2, "the change made after the first tick stays");
}

#[tokio::test]
async fn a_watch_ends_when_the_store_closes() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    let mut watch = store.watch("", 1).unwrap();
    let waiting = tokio::spawn(async move { watch.next().await });
    tokio::task::yield_now().await;
    drop(store);
    assert_eq!(waiting.await.unwrap().unwrap_err(), ReadError::Closed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn guarantees_one_of_many_writers_wins() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    store.put(key("a"), ExpectedState::Absent, body("x")).await.unwrap();
    let writers: Vec<_> = (0..32)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.put(key("a"), ExpectedState::Revision(2), body("y")).await.is_ok() })
        })
        .collect();
    let mut winners = 0;
    for writer in writers {
        winners += u32::from(writer.await.unwrap());
    }
    assert_eq!((winners, store.revision()), (1, 3));
}

#[tokio::test]
async fn watchers_of_the_same_form_share_an_encoding() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    let mut watches: Vec<StoreWatch> =
        [PREFIX, PREFIX, "root/configmaps/sh"].map(|p| store.watch(p, 1).unwrap()).into();
    let made = std::cell::Cell::new(0);
    let mut show = |at: usize, form: &str| {
        let batch = watches[at].progress().unwrap();
        watches[at].shared_encoding(&batch, form, || {
            made.set(made.get() + 1);
            format!("{form} {:?}", batch.changes.iter().map(|c| c.revision).collect::<Vec<_>>()).into()
        })
    };
    store.put(key("a"), ExpectedState::Absent, body("x")).await.unwrap();
    assert_eq!((show(0, "whole"), made.get()), ("whole [2]".into(), 1));
    assert_eq!((show(1, "whole"), made.get()), ("whole [2]".into(), 1), "made once");
    assert_eq!((show(2, "whole"), made.get()), ("whole [2]".into(), 2), "another prefix may show other changes");
    store.put(key("b"), ExpectedState::Absent, body("x")).await.unwrap();
    assert_eq!((show(0, "whole"), made.get()), ("whole [3]".into(), 3), "another change");
    assert_eq!((show(1, "table"), made.get()), ("table [3]".into(), 4), "another form");
}

#[tokio::test]
async fn a_fork_is_independent_of_its_origin() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    let stored = store.put(key("a"), ExpectedState::Absent, body("x")).await.unwrap();
    let fork = store.fork();
    assert_eq!((fork.revision(), fork.get(&key("a"))), (2, Some(stored)));
    let mut watch = fork.watch(PREFIX, fork.revision()).unwrap();
    fork.put(key("b"), ExpectedState::Absent, body("y")).await.unwrap();
    store.put(key("c"), ExpectedState::Absent, body("z")).await.unwrap();
    assert_eq!(watch.progress().unwrap().changes.len(), 1);
    assert_eq!((fork.get(&key("c")), store.get(&key("b"))), (None, None));
    assert_eq!(fork.watch(PREFIX, 1).unwrap_err(), ReadError::Compacted { oldest: 2 });
}
