#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Condvar, Mutex};

use bytes::Bytes;

use super::frame::{FRAME_HEADER_BYTES, FileHeader, FileKind, HEADER_BYTES};
use super::log::{LogMedium, WriteAheadLog};
use super::*;
use crate::store::state::StoreState;
use crate::store::{
    ExpectedState, ObjectStore, SharedStore, StoreHandle, StoreKey, StoreLimits, StorePage, StoredObject, WriteError,
};

fn key(name: &str) -> StoreKey {
    StoreKey::new("root", "configmaps", "shop", name)
}

fn body(text: &str) -> impl FnOnce(u64) -> Bytes + Send + use<> {
    let text = text.to_owned();
    move |revision| Bytes::from(format!("{text}@{revision}"))
}

async fn create(store: &ObjectStore, name: &str) -> StoredObject {
    store.put(key(name), ExpectedState::Absent, body(name)).await.unwrap()
}

fn everything(store: &ObjectStore) -> StorePage {
    store.list("", None, 0, None).unwrap()
}

fn open(dir: &tempfile::TempDir) -> ObjectStore {
    ObjectStore::open(dir.path(), StoreLimits::default()).unwrap()
}

fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn acknowledged_writes_survive_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    create(&store, "a").await;
    let b = create(&store, "b").await;
    store.put(key("a"), ExpectedState::Revision(2), body("changed")).await.unwrap();
    store.delete(key("b"), b.revision, body("gone")).await.unwrap();
    let before = everything(&store);
    drop(store);
    let store = open(&dir);
    assert_eq!(everything(&store), before);
    assert_eq!(store.revision(), 5);
    create(&store, "c").await;
    let mut watch = store.watch("root/configmaps/", 3).unwrap();
    let seen: Vec<_> = watch.next().await.unwrap().changes.iter().map(|change| change.object().clone()).collect();
    assert_eq!(seen, ["changed@4", "gone@5", "c@6"], "a watch goes on across the restart without gap or repeat");
}

#[tokio::test]
async fn one_process_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let error = ObjectStore::open(dir.path(), StoreLimits::default()).unwrap_err();
    let path = dir.path().join("lock");
    assert_eq!(error.to_string(), format!("the data directory is in use: another process holds {}", path.display()));
    drop(store);
    open(&dir);
}

#[tokio::test]
async fn a_newer_format_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = log_path(dir.path(), 1);
    std::fs::write(&path, FileHeader { kind: FileKind::Log, salt: 1, revision: 1 }.encode_as(7)).unwrap();
    let error = ObjectStore::open(dir.path(), StoreLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("{} has format version 7, but this version reads at most 1", path.display()));
}

#[tokio::test]
async fn a_store_with_a_removed_log_is_not_treated_as_new() {
    let dir = tempfile::tempdir().unwrap();
    create(&open(&dir), "a").await;
    let log = log_path(dir.path(), 1);
    std::fs::remove_file(&log).unwrap();
    let error = ObjectStore::open(dir.path(), StoreLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("{} is missing", log.display()));
    assert_eq!(files(dir.path()), ["lock"], "and no empty one takes its place");
}

#[tokio::test]
async fn an_unfinished_store_is_created_again() {
    let dir = tempfile::tempdir().unwrap();
    // State after a crash during the very first start.
    std::fs::write(dir.path().join("lock"), "").unwrap();
    create(&open(&dir), "a").await;
}

/// Returns a log of several flushes of different sizes, and the list after each revision.
async fn sample() -> (Vec<u8>, Vec<StorePage>) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let mut states = vec![everything(&store)];
    for step in 0..6u64 {
        match step {
            3 => drop(store.delete(key("n1"), 3, body("gone")).await.unwrap()),
            5 => drop(store.put(key("n0"), ExpectedState::Revision(2), body("again")).await.unwrap()),
            _ => drop(create(&store, &format!("n{step}")).await),
        }
        states.push(everything(&store));
    }
    drop(store);
    (std::fs::read(log_path(dir.path(), 1)).unwrap(), states)
}

fn reopened(log: &[u8]) -> Result<StorePage, OpenError> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(log_path(dir.path(), 1), log).unwrap();
    let store = ObjectStore::open(dir.path(), StoreLimits::default())?;
    Ok(everything(&store))
}

/// Replays a log without files, fast enough for a check of every byte.
fn replayed(mut log: &[u8]) -> Result<StorePage, replay::ReplayError> {
    let mut state = StoreState::new();
    replay::log(&mut log, true, &mut state, &StoreLimits::default())?;
    Ok(state.list("", None, 0, None).unwrap())
}

#[tokio::test]
async fn a_log_cut_at_any_byte_holds_a_prefix_of_what_was_acknowledged() {
    let (log, states) = sample().await;
    let mut reached = std::collections::BTreeSet::new();
    for length in HEADER_BYTES..=log.len() {
        let page = replayed(&log[..length]).unwrap();
        assert!(states.contains(&page), "cut at {length}: a state that never was");
        reached.insert(page.revision);
        if length % 101 == 0 {
            assert_eq!(reopened(&log[..length]).unwrap(), page);
        }
    }
    assert_eq!(reached.len(), states.len(), "every acknowledged state is reached by some cut");
    for length in 0..HEADER_BYTES {
        assert!(replayed(&log[..length]).is_err(), "cut at {length}: a log gets its name with its header");
    }
}

#[tokio::test]
async fn a_flipped_bit_anywhere_is_detected_or_harmless() {
    let (log, states) = sample().await;
    for at in 0..log.len() * 8 {
        let mut damaged = log.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        match replayed(&damaged) {
            Err(broken) => assert!(broken.offset as usize <= at / 8, "flip at {at} found at {}", broken.offset),
            // Only the last seal has nothing after it, and it carries no write.
            Ok(page) if at / 8 >= log.len() - FRAME_HEADER_BYTES => assert_eq!(&page, states.last().unwrap()),
            other => panic!("flip at {at}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn damage_names_file_and_offset() {
    let (mut log, _) = sample().await;
    log[HEADER_BYTES + 3] ^= 1;
    let Err(error) = reopened(&log) else { panic!("damage went unnoticed") };
    let message = error.to_string();
    assert!(message.ends_with("log-00000000000000000001 is damaged at byte 32: frame checksum mismatch"), "{message}");
}

#[tokio::test]
async fn garbage_after_the_log_is_a_torn_write() {
    let (log, states) = sample().await;
    for garbage in [&b"x"[..], &[0; 4096], &[255; 9]] {
        let torn: Vec<u8> = log.iter().chain(garbage).copied().collect();
        assert_eq!(&reopened(&torn).unwrap(), states.last().unwrap());
    }
    // Complete frames of this file cannot be part of a torn write.
    let impossible: Vec<u8> = log.iter().chain(b"x").chain(&log[HEADER_BYTES..]).copied().collect();
    assert!(matches!(reopened(&impossible), Err(OpenError::Damaged { .. })));
}

#[tokio::test]
async fn writes_continue_after_a_torn_write() {
    let (log, _) = sample().await;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(log_path(dir.path(), 1), &log[..log.len() - FRAME_HEADER_BYTES - 3]).unwrap();
    let store = open(&dir);
    assert_eq!(store.revision(), 6);
    create(&store, "next").await;
    drop(store);
    assert_eq!(open(&dir).revision(), 7);
}

#[tokio::test]
async fn a_long_log_is_replaced_by_a_snapshot_and_history_survives() {
    let dir = tempfile::tempdir().unwrap();
    let bounds = StoreLimits { log_bytes: 2_000, history_changes: 20, ..StoreLimits::default() };
    let store = ObjectStore::open(dir.path(), bounds.clone()).unwrap();
    for step in 0..200 {
        create(&store, &format!("n{step:03}")).await;
        if step % 3 == 0 {
            store.delete(key(&format!("n{step:03}")), store.revision(), body("gone")).await.unwrap();
        }
    }
    let (before, past) = (everything(&store), store.list("", None, 0, Some(store.compacted())).unwrap());
    drop(store);
    assert!(files(dir.path()).iter().any(|name| name.starts_with("snapshot-")), "{:?}", files(dir.path()));
    let total: u64 = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(total < 100_000, "old files are removed: {total} bytes in {:?}", files(dir.path()));
    let store = ObjectStore::open(dir.path(), bounds).unwrap();
    assert_eq!(everything(&store), before);
    assert_eq!(store.list("", None, 0, Some(past.revision)).unwrap(), past);
}

#[tokio::test]
async fn a_crash_between_new_log_and_snapshot_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    create(&store, "a").await;
    drop(store);
    drop(WriteAheadLog::create(dir.path(), 2).unwrap());
    std::fs::write(dir.path().join("snapshot-00000000000000000002.tmp"), b"half").unwrap();
    let store = open(&dir);
    create(&store, "b").await;
    let before = everything(&store);
    drop(store);
    assert_eq!(everything(&open(&dir)), before);
    assert_eq!(files(dir.path()).len(), 3, "the unfinished snapshot is gone: {:?}", files(dir.path()));
    // The older log must not have a torn end, and no log may be missing.
    let first = log_path(dir.path(), 1);
    let whole = std::fs::read(&first).unwrap();
    std::fs::write(&first, &whole[..whole.len() - FRAME_HEADER_BYTES - 1]).unwrap();
    assert!(matches!(ObjectStore::open(dir.path(), StoreLimits::default()), Err(OpenError::Damaged { .. })));
    std::fs::remove_file(&first).unwrap();
    assert!(matches!(ObjectStore::open(dir.path(), StoreLimits::default()), Err(OpenError::Damaged { .. })));
}

#[tokio::test]
async fn a_snapshot_damaged_anywhere_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = StoreState::new();
    for (revision, name) in (2..).zip(["a", "b", "c"]) {
        let after = Some(StoredObject { revision, bytes: Bytes::from(name) });
        let change = crate::store::StoreChange { revision, key: key(name), before: None, after, last: Bytes::new() };
        state.publish(&[Arc::new(change)], &StoreLimits { history_changes: 1, ..StoreLimits::default() });
    }
    snapshot::write(dir.path(), snapshot::CapturedState::of(&state)).unwrap();
    drop(WriteAheadLog::create(dir.path(), 4).unwrap());
    let path = snapshot_path(dir.path(), 4);
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(open(&dir).revision(), 4);
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(&path, &damaged).unwrap();
        assert!(
            matches!(ObjectStore::open(dir.path(), StoreLimits::default()), Err(OpenError::Damaged { .. })),
            "flip at {at}"
        );
        std::fs::write(&path, &whole[..at]).unwrap();
        assert!(
            matches!(ObjectStore::open(dir.path(), StoreLimits::default()), Err(OpenError::Damaged { .. })),
            "cut at {at}"
        );
    }
    std::fs::write(&path, &whole).unwrap();
    std::fs::remove_file(log_path(dir.path(), 4)).unwrap();
    let error = ObjectStore::open(dir.path(), StoreLimits::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("{} is missing", log_path(dir.path(), 4).display()));
}

/// Returns a store whose disk accepts no byte.
pub(crate) fn on_a_full_disk() -> ObjectStore {
    let disk = StubDisk::default();
    disk.change(|disk| disk.full = true);
    disk.store()
}

/// Disk whose flushes wait for permission and may fail.
#[derive(Clone, Debug, Default)]
struct StubDisk(Arc<(Mutex<StubDiskState>, Condvar)>);

#[derive(Debug, Default)]
struct StubDiskState {
    permits: usize,
    full: bool,
    appended: usize,
    cut: Option<u64>,
}

impl StubDisk {
    fn change(&self, change: impl FnOnce(&mut StubDiskState)) {
        change(&mut self.0.0.lock().unwrap());
        self.0.1.notify_all();
    }

    fn store(&self) -> ObjectStore {
        let shared = Arc::new(SharedStore::new(StoreState::new(), StoreLimits::default(), true));
        let header = FileHeader { kind: FileKind::Log, salt: 1, revision: 1 };
        let log = WriteAheadLog::new("stub".into(), Box::new(self.clone()), header, 100);
        let committer = Committer::start(shared.clone(), "stub".into(), log, None).unwrap();
        ObjectStore { inner: Arc::new(StoreHandle { shared, disk: Some(committer) }) }
    }
}

impl LogMedium for StubDisk {
    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        let mut state = self.0.0.lock().unwrap();
        state.appended += 1;
        if state.full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut state =
            self.0.1.wait_while(self.0.0.lock().unwrap(), |state| state.permits == 0 && !state.full).unwrap();
        if state.full {
            return Err(io::Error::other("the disk is gone"));
        }
        state.permits -= 1;
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.0.0.lock().unwrap().cut = Some(length);
        Ok(())
    }
}

#[tokio::test]
async fn guarantees_readers_see_only_durable_writes() {
    let disk = StubDisk::default();
    let store = disk.store();
    let mut watch = store.watch("", 1).unwrap();
    let writing = tokio::spawn({
        let store = store.clone();
        async move { create(&store, "a").await }
    });
    while disk.0.0.lock().unwrap().appended == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!((store.get(&key("a")), store.revision()), (None, 1));
    assert!(watch.progress().unwrap().changes.is_empty());
    // A writer that conflicts with a pending write is answered only once that write is durable.
    let colliding = tokio::spawn({
        let store = store.clone();
        async move { store.put(key("a"), ExpectedState::Absent, body("other")).await }
    });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!colliding.is_finished());
    disk.change(|disk| disk.permits = 1);
    let written = writing.await.unwrap();
    assert_eq!(store.get(&key("a")), Some(written.clone()));
    assert_eq!(watch.next().await.unwrap().changes[0].after, Some(written.clone()));
    let Err(WriteError::Conflict { current }) = colliding.await.unwrap() else { panic!() };
    assert_eq!(current, Some(written));
}

#[tokio::test]
async fn writes_that_build_on_each_other_share_a_flush() {
    let disk = StubDisk::default();
    let store = disk.store();
    let first = tokio::spawn({
        let store = store.clone();
        async move { create(&store, "first").await }
    });
    while disk.0.0.lock().unwrap().appended == 0 {
        tokio::task::yield_now().await;
    }
    // Both wait for the second flush: the update expects the create that is not durable yet.
    let chained = [ExpectedState::Absent, ExpectedState::Revision(3)].map(|expect| {
        let store = store.clone();
        tokio::spawn(async move { store.put(key("a"), expect, body("x")).await.unwrap().revision })
    });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    disk.change(|disk| disk.permits = 2);
    first.await.unwrap();
    let mut revisions = Vec::new();
    for write in chained {
        revisions.push(write.await.unwrap());
    }
    assert_eq!(revisions, [3, 4]);
}

#[tokio::test]
async fn a_failing_disk_refuses_the_write_and_leaves_the_store_readable() {
    let disk = StubDisk::default();
    disk.change(|disk| disk.permits = 1);
    let store = disk.store();
    let kept = create(&store, "kept").await;
    disk.change(|disk| disk.full = true);
    for name in ["a", "b"] {
        let Err(WriteError::ReadOnly { reason }) = store.put(key(name), ExpectedState::Absent, body("x")).await else {
            panic!("an unwritten write was acknowledged")
        };
        assert_eq!(&*reason, "could not write stub: no storage space");
    }
    assert_eq!((store.get(&key("kept")), store.get(&key("a")), store.revision()), (Some(kept), None, 2));
    assert!(disk.0.0.lock().unwrap().cut.is_some(), "what may have been written of it is cut off");
    assert!(matches!(store.disk_failure(), Some(WriteError::ReadOnly { .. })), "health can say so");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_share_flushes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let writers: Vec<_> = (0..64)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for step in 0..10 {
                    create(&store, &format!("w{writer}-{step}")).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(store.revision(), 641);
    let before = everything(&store);
    drop(store);
    assert_eq!(everything(&open(&dir)), before);
}

/// Files written by another program, from the format's description. A change of the format needs a new version.
#[test]
fn files_of_version_one_stay_readable() {
    let page = replayed(include_bytes!("tests/version_one/log")).unwrap();
    assert_eq!((page.revision, page.records.len()), (3, 0));
    let mut snapshot = &include_bytes!("tests/version_one/snapshot")[..];
    let state = replay::snapshot(&mut snapshot, &StoreLimits::default()).unwrap();
    assert_eq!((state.revision, state.compacted, state.objects.len()), (3, 1, 1));
    let mut torn = &include_bytes!("tests/version_one/torn")[..];
    let end = replay::log(&mut torn, true, &mut StoreState::new(), &StoreLimits::default()).unwrap();
    assert_eq!(end.torn_bytes, 8);
}
