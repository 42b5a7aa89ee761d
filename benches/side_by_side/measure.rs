//! Order of the measurements.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::load;
use crate::system::{System, SystemKind, base};
use crate::table::{BenchResults, BenchRow};

pub use switchboard_suite::BoxError;

const ONE_WRITER_CREATES: usize = 200;
const MANY_WRITERS: usize = 64;
const MANY_WRITERS_EACH: usize = 40;
/// Number of writers that create objects for lists.
const FILLERS: usize = 16;
const LISTED: usize = 10_000;
const LISTS: usize = 10;
const WATCHERS: usize = 1_000;
const WATCHED_CHANGES: usize = 20;
const DEFINITIONS: usize = 500;
const FLUSHES: u32 = 200;
/// Delay before memory is read.
const SETTLE: Duration = Duration::from_secs(3);

/// Runs all measurements on new systems, or the one selected by `PART`.
pub async fn round(side: SystemKind, results: &mut BenchResults) -> Result<(), BoxError> {
    let part = std::env::var("PART").unwrap_or_default();
    let wanted = |name: &str| part.is_empty() || part == name;
    if wanted("creates") || wanted("list") || wanted("fan-out") {
        let system = System::start(side).await?;
        results.add(side, BenchRow::Start, system.start.as_secs_f64());
        if wanted("creates") {
            creates(&system, side, results).await?;
        }
        if wanted("list") {
            lists(&system, side, results, part.is_empty()).await?;
        }
        if wanted("fan-out") {
            // Objects created at startup must not count as watched changes.
            tokio::time::sleep(SETTLE).await;
            let fan_out = load::fan_out(&system, WATCHERS, WATCHED_CHANGES).await?;
            results.add(side, BenchRow::FanOut, fan_out.as_secs_f64());
        }
    }
    if wanted("definitions") {
        let system = System::start(side).await?;
        results.add(side, BenchRow::Start, system.start.as_secs_f64());
        load::define(&system.client, DEFINITIONS).await?;
        tokio::time::sleep(SETTLE).await;
        results.add(side, BenchRow::DefinitionsMemory, system.memory()? as f64);
    }
    Ok(())
}

async fn creates(system: &System, side: SystemKind, results: &mut BenchResults) -> Result<(), BoxError> {
    let one = load::create(system, "one", 1, ONE_WRITER_CREATES).await?;
    results.add(side, BenchRow::OneWriter, one.as_secs_f64());
    let many = load::create(system, "many", MANY_WRITERS, MANY_WRITERS_EACH).await?;
    results.add(side, BenchRow::ManyWriters, many.as_secs_f64());
    Ok(())
}

async fn lists(
    system: &System,
    side: SystemKind,
    results: &mut BenchResults,
    after_creates: bool,
) -> Result<(), BoxError> {
    let there = if after_creates { ONE_WRITER_CREATES + MANY_WRITERS * MANY_WRITERS_EACH } else { 0 };
    load::create(system, "rest", FILLERS, (LISTED - there).div_ceil(FILLERS)).await?;
    tokio::time::sleep(SETTLE).await;
    results.add(side, BenchRow::ObjectsMemory, system.memory()? as f64);
    for _ in 0..LISTS {
        results.add(side, BenchRow::List, load::list(system, LISTED).await?.as_secs_f64());
    }
    Ok(())
}

/// Returns the time to append an object to a file and flush it.
pub fn flush() -> Result<f64, BoxError> {
    let mut file = tempfile::tempfile_in(base())?;
    let bytes = vec![b'x'; 1_300];
    let begun = Instant::now();
    for _ in 0..FLUSHES {
        file.write_all(&bytes)?;
        file.sync_data()?;
    }
    Ok((begun.elapsed() / FLUSHES).as_secs_f64())
}
