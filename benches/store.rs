//! The store alone against the disk's own limit: durable creates with 1 and 64 writers, and what a flush costs without a store.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use switchboard_cluster::store::{Bounds, Expect, Key, Store};

const OBJECT_BYTES: usize = 2_000;
const FLUSHES: u32 = 500;
const ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let base = std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let dir = tempfile::tempdir_in(base)?;
    println!(
        "{:>5} {:>14} {:>22} {:>22} {:>22}",
        "round", "flush", "create, 1 writer", "create, 64 writers", "create, in memory"
    );
    for round in 1..=ROUNDS {
        let floor = flush(dir.path())?;
        let one =
            creates(&Store::open(&dir.path().join(format!("one-{round}")), Bounds::default())?, 1, FLUSHES as usize)?;
        let many = creates(&Store::open(&dir.path().join(format!("many-{round}")), Bounds::default())?, 64, 200)?;
        let memory = creates(&Store::in_memory(Bounds::default()), 64, 200)?;
        let row = |each: Duration| format!("{each:.1?} ({:.0}/s)", 1.0 / each.as_secs_f64());
        println!("{round:>5} {floor:>14.1?} {:>22} {:>22} {:>22}", row(one), row(many), row(memory));
    }
    Ok(())
}

/// Appending an object's bytes to a file and flushing it.
fn flush(dir: &Path) -> std::io::Result<Duration> {
    let mut file = std::fs::File::create(dir.join("floor"))?;
    let bytes = vec![b'x'; OBJECT_BYTES];
    let start = Instant::now();
    for _ in 0..FLUSHES {
        file.write_all(&bytes)?;
        file.sync_data()?;
    }
    Ok(start.elapsed() / FLUSHES)
}

/// Time per create.
fn creates(store: &Store, writers: usize, each: usize) -> Result<Duration, Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let body = Bytes::from(vec![b'x'; OBJECT_BYTES]);
    let start = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let (store, body) = (store.clone(), body.clone());
            runtime.spawn(async move {
                for step in 0..each {
                    let key = Key::new("root", "configmaps", "bench", &format!("w{writer}-{step}"));
                    store.put(key, Expect::Absent, |_| body.clone()).await?;
                }
                Ok::<_, switchboard_cluster::store::WriteError>(())
            })
        })
        .collect();
    for task in tasks {
        runtime.block_on(task)??;
    }
    Ok(start.elapsed() / u32::try_from(writers * each)?)
}
