//! Kills a process that writes to a store repeatedly, and checks the store afterwards. The log is short, so that kills
//! also hit new logs and snapshots. tests/crash.rs tests the whole server.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use bytes::Bytes;
use switchboard_cluster::store::{ExpectedState, ObjectStore, ReadError, StoreKey, StoreLimits, WriteError};
use switchboard_suite::history::{History, HistoryEvent, HistoryWrite, ListSnapshot, WatchStream, WriteOutcome, check};
use switchboard_suite::random::RandomNumbers;

const KILLS: u32 = 50;
const WRITERS: u64 = 8;
const KEYS: u64 = 5;
const CHILD: &str = "SWITCHBOARD_STORE_CRASH_DIR";

fn bounds() -> StoreLimits {
    StoreLimits { log_bytes: 60_000, ..StoreLimits::default() }
}

/// Returns `<id> <filler> <id>`, so that a partial write is detectable.
fn body(id: &str, filler: u64) -> Bytes {
    Bytes::from(format!("{id} {} {id}", "x".repeat(filler as usize)))
}

fn id_of(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let parts: Vec<_> = text.split(' ').collect();
    (parts.len() == 3 && parts[0] == parts[2]).then(|| parts[0].to_owned())
}

/// Not a test of its own: the code of the killed process.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let store = ObjectStore::open(Path::new(&dir), bounds()).unwrap();
        let life = store.revision();
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| tokio::spawn(write_until_killed(store.clone(), life, writer))).collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

/// Writes until killed, and prints each intent and result to stdout.
async fn write_until_killed(store: ObjectStore, life: u64, writer: u64) {
    let mut random = RandomNumbers::new(life * WRITERS + writer);
    for step in 0.. {
        // Half of the objects are shared by all writers, so that writes conflict.
        let number = random.below(KEYS);
        let name = if number.is_multiple_of(2) { format!("shared-{number}") } else { format!("own-{writer}-{number}") };
        let key = StoreKey::new("root", "configmaps", "shop", &name);
        let stored = store.get(&key).map(|record| record.revision);
        let id = format!("{life}-{writer}-{step}");
        let expect = stored.map_or("-".into(), |revision| revision.to_string());
        let filler = random.below(900);
        let (id, result) = match stored {
            Some(revision) if random.below(4) == 0 => {
                print_line(format!("try {life}-{writer}-{step} {key} delete {expect}"));
                (id.clone(), store.delete(key, revision, |_| body(&id, filler)).await)
            }
            _ => {
                print_line(format!("try {life}-{writer}-{step} {key} put {expect}"));
                let expect = stored.map_or(ExpectedState::Absent, ExpectedState::Revision);
                let put = store.put(key, expect, |_| body(&id, filler)).await;
                (id.clone(), put.map(|record| record.revision))
            }
        };
        match result {
            Ok(revision) => print_line(format!("done {id} {revision}")),
            Err(WriteError::Conflict { .. }) => print_line(format!("refused {id} 0")),
            Err(error) => panic!("{error}"),
        }
    }
}

fn print_line(line: String) {
    let mut stdout = std::io::stdout().lock();
    // Ignore a closed pipe: the parent closes it after the kill.
    let _ = stdout.write_all(format!("{line}\n").as_bytes());
}

/// Performs one life: starts the child, kills it after some acknowledgements, and adds its output to the record.
fn life(dir: &Path, life: u32, kill_after: u64, history: &mut History) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(CHILD, dir).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn().unwrap();
    let mut done = 0;
    let lines = BufReader::new(process.stdout.take().unwrap());
    let mut tries: std::collections::BTreeMap<String, HistoryWrite> = std::collections::BTreeMap::new();
    for line in lines.split(b'\n').map(Result::unwrap) {
        let line = String::from_utf8(line).unwrap();
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["try", id, key, what, expect] => {
                let put = (what == "put").then(|| id.to_owned());
                let write = HistoryWrite {
                    life,
                    key: key.into(),
                    id: put,
                    expect: expect.parse().ok(),
                    outcome: WriteOutcome::Unknown,
                };
                tries.insert(id.to_owned(), write);
            }
            ["done" | "refused", id, revision] => {
                let Ok(revision) = revision.parse() else { continue };
                let outcome =
                    if words[0] == "done" { WriteOutcome::Acknowledged(revision) } else { WriteOutcome::Refused };
                tries.get_mut(id).unwrap().outcome = outcome;
                done += 1;
                if done == kill_after {
                    process.kill().unwrap();
                }
            }
            _ => {}
        }
    }
    process.wait().unwrap();
    history.writes.extend(tries.into_values());
}

/// Opens the store after a crash, lists it, and resumes the watch from `seen`.
fn inspect(dir: &Path, life: u32, seen: u64) -> (ListSnapshot, WatchStream, u64) {
    let store = ObjectStore::open(dir, bounds()).unwrap();
    let page = store.list("", None, 0, None).unwrap();
    let objects = page.records.iter().map(|(key, record)| (key.to_string(), (record.revision, id_of(&record.bytes))));
    let listing = ListSnapshot { life, revision: page.revision, objects: objects.collect() };
    let mut stream = WatchStream { after: seen, events: Vec::new() };
    let mut watch = match store.watch("", seen) {
        Ok(watch) => watch,
        Err(ReadError::Future { current }) => panic!("revision {seen} was seen, the store is at {current}"),
        Err(error) => panic!("{error}"),
    };
    loop {
        let batch = watch.progress().unwrap();
        stream.events.extend(batch.changes.iter().map(|change| {
            let (key, revision) = (change.key.to_string(), change.revision);
            match &change.after {
                Some(after) => HistoryEvent::Put { key, revision, id: id_of(&after.bytes) },
                None => HistoryEvent::Deleted { key, revision },
            }
        }));
        if batch.changes.is_empty() {
            stream.events.push(HistoryEvent::Bookmark { revision: batch.revision });
            return (listing, stream, batch.revision);
        }
    }
}

#[test]
fn a_second_process_is_refused_while_the_first_lives() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(CHILD, dir.path()).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
    // The first write shows that the child has opened the store.
    lines.find(|line| line.contains("done")).unwrap();
    let error = ObjectStore::open(dir.path(), bounds()).unwrap_err();
    let lock = dir.path().join("lock");
    assert_eq!(error.to_string(), format!("the data directory is in use: another process holds {}", lock.display()));
    process.kill().unwrap();
    process.wait().unwrap();
    ObjectStore::open(dir.path(), bounds()).expect("the lock dies with its process");
}

#[test]
fn fifty_kills_lose_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut kills = RandomNumbers::new(std::process::id().into());
    let mut history = History { watchers: vec![Vec::new()], ..History::default() };
    let mut seen = 1;
    for round in 0..=KILLS {
        let (listing, stream, reached) = inspect(dir.path(), round, seen);
        history.listings.push(listing);
        history.watchers[0].push(stream);
        seen = reached;
        if round < KILLS {
            life(dir.path(), round, 1 + kills.below(200), &mut history);
        }
    }
    let violations = check(&history);
    assert!(violations.is_empty(), "{} violations, the first: {}", violations.len(), violations[0]);
    let acknowledged =
        history.writes.iter().filter(|write| matches!(write.outcome, WriteOutcome::Acknowledged(_))).count();
    assert!(acknowledged as u32 > KILLS, "the writers got somewhere: {acknowledged}");
    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().any(|name| name.to_string_lossy().starts_with("snapshot-")), "snapshots were hit: {names:?}");
}
