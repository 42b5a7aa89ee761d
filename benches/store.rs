//! The store compared with the limit of the disk: durable creates with 1 and 64 writers, and the cost of a flush
//! without a store. Then the cost of reads: a list of 10,000 objects, and a change delivered to 1,000 watchers.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use switchboard_cluster::store::{ExpectedState, ObjectStore, StoreKey, StoreLimits};
use tokio::runtime::Runtime;

use switchboard_suite::BoxError;

const OBJECT_BYTES: usize = 2_000;
const FLUSHES: u32 = 500;
const ROUNDS: usize = 3;
const PREFIX: &str = "root/configmaps/";

fn main() -> Result<(), BoxError> {
    let base = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let dir = tempfile::tempdir_in(base)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    for round in 1..=ROUNDS {
        let durable =
            |name: &str| ObjectStore::open(&dir.path().join(format!("{name}-{round}")), StoreLimits::default());
        let memory = ObjectStore::in_memory(StoreLimits::default());
        println!("round {round}");
        show("append and flush a file", flush(dir.path())?);
        show("durable create, 1 writer", creates(&runtime, &durable("one")?, 1, FLUSHES as usize)?);
        show("durable create, 64 writers", creates(&runtime, &durable("many")?, 64, 200)?);
        show("create in memory, 64 writers", creates(&runtime, &memory, 64, 200)?);
        show("list of 10,000", list(&memory)?);
        show("a change sent to 1,000 watchers", fan_out(&runtime, &memory, 1_000)?);
    }
    Ok(())
}

fn show(what: &str, each: Duration) {
    println!("  {what:<32} {:>10} {:>12.0}/s", format!("{each:.1?}"), 1.0 / each.as_secs_f64());
}

/// Appends an object to a file and flushes it.
fn flush(dir: &Path) -> Result<Duration, BoxError> {
    let mut file = std::fs::File::create(dir.join("floor"))?;
    let bytes = vec![b'x'; OBJECT_BYTES];
    let start = Instant::now();
    for _ in 0..FLUSHES {
        file.write_all(&bytes)?;
        file.sync_data()?;
    }
    Ok(start.elapsed() / FLUSHES)
}

/// Returns the time per create.
fn creates(runtime: &Runtime, store: &ObjectStore, writers: usize, each: usize) -> Result<Duration, BoxError> {
    let body = Bytes::from(vec![b'x'; OBJECT_BYTES]);
    let start = Instant::now();
    let tasks = (0..writers).map(|writer| {
        let (store, body) = (store.clone(), body.clone());
        runtime.spawn(async move {
            for step in 0..each {
                let key = StoreKey::new("root", "configmaps", "bench", &format!("w{writer}-{step}"));
                store.put(key, ExpectedState::Absent, |_| body.clone()).await?;
            }
            Ok::<_, switchboard_cluster::store::WriteError>(())
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        runtime.block_on(task)??;
    }
    Ok(start.elapsed() / u32::try_from(writers * each)?)
}

fn list(store: &ObjectStore) -> Result<Duration, BoxError> {
    const LISTS: u32 = 20;
    let start = Instant::now();
    for _ in 0..LISTS {
        let page = store.list(PREFIX, None, 10_000, None)?;
        assert_eq!(page.records.len(), 10_000, "the creates before made enough");
    }
    Ok(start.elapsed() / LISTS)
}

/// Returns the time from the start of a write until every watcher has received it.
fn fan_out(runtime: &Runtime, store: &ObjectStore, watchers: usize) -> Result<Duration, BoxError> {
    const CHANGES: u32 = 50;
    let (told, mut tellings) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..watchers {
        let (mut watch, told) = (store.watch(PREFIX, store.revision())?, told.clone());
        runtime.spawn(async move {
            while let Ok(batch) = watch.next().await {
                if told.send(batch.changes.len()).is_err() {
                    return;
                }
            }
        });
    }
    let start = Instant::now();
    for step in 0..CHANGES {
        runtime.block_on(async {
            let key = StoreKey::new("root", "configmaps", "bench", &format!("told-{step}"));
            store.put(key, ExpectedState::Absent, |_| Bytes::from_static(b"{}")).await?;
            let mut missing = watchers;
            while missing > 0 {
                missing -= tellings.recv().await.ok_or("the watches ended")?;
            }
            Ok::<_, BoxError>(())
        })?;
    }
    Ok(start.elapsed() / CHANGES)
}
