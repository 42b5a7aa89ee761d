//! Number of instructions for one changed ConfigMap, from its bytes to the triggered unit, as counted by callgrind.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;

use bytes::Bytes;
use switchboard_kernel::cache::{Cache, TableEvent};
use switchboard_kernel::operator::{AccessRule, OperatorName, Unit, UnitId};
use switchboard_kernel::resource::{Selection, TableKey};
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::topology::Topology;
use switchboard_kernel::triggers::TriggerIndex;
use switchboard_kernel::view::View;

use crate::process::BoxError;
use crate::sample::{CONFIG_MAPS, cluster, config_map, name, namespace, table};

pub const FEW: usize = 1_000;
const UNITS: usize = 1_000;
const CHANGES: usize = 200;

/// Result of callgrind.
pub struct InstructionCount {
    pub instructions: f64,
}

impl InstructionCount {
    /// Measures a change with the given number of cached objects.
    pub fn measure(objects: usize) -> io::Result<Self> {
        let out = tempfile::NamedTempFile::new()?;
        let mut valgrind = Command::new("valgrind");
        // Counts only this function, without filling the cache.
        valgrind.args(["--tool=callgrind", "--toggle-collect=*counted_change*"]);
        valgrind.arg(format!("--callgrind-out-file={}", out.path().display()));
        valgrind.arg(std::env::current_exe()?).args(["change", &objects.to_string()]);
        let ended = valgrind.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        if !ended.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&ended.stderr).into_owned()));
        }
        let text = std::fs::read_to_string(out.path())?;
        let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse::<f64>().ok());
        let total = total.filter(|total| *total > 0.0).ok_or_else(|| io::Error::other("callgrind counted nothing"))?;
        Ok(Self { instructions: total / CHANGES as f64 })
    }
}

/// Runs the measured code under callgrind.
pub fn run_counted(objects: usize) -> Result<(), BoxError> {
    let table = table(&CONFIG_MAPS);
    let mut cache = Cache::default();
    cache.observe(&table, TableEvent::Begin)?;
    for index in 0..objects {
        cache.observe(&table, TableEvent::Put(config_map(index, 1)))?;
    }
    cache.observe(&table, TableEvent::Synced { revision: 1 })?;
    let wakes = readers(&cache)?;
    for step in 0..CHANGES {
        let index = step * (UNITS / CHANGES);
        let bytes = config_map(index, 2 + step as u64);
        // A snapshot, as held by running units, so that each change must preserve it.
        let reading = cache.snapshot();
        let woken = counted_change(&mut cache, &wakes, &table, bytes)?;
        assert_eq!(woken, [unit(index)], "one unit reads it");
        drop(reading);
    }
    Ok(())
}

#[inline(never)]
fn counted_change(
    cache: &mut Cache,
    wakes: &TriggerIndex,
    table: &TableKey,
    bytes: Bytes,
) -> Result<Vec<UnitId>, BoxError> {
    let observation = cache.observe(table, TableEvent::Put(bytes))?;
    let woken = observation.changes.iter().flat_map(|change| wakes.triggered(change)).map(|(unit, _)| unit).collect();
    Ok(black_box(woken))
}

fn unit(index: usize) -> UnitId {
    UnitId { operator: OperatorName::new("shop"), unit: Unit::object(&namespace(index), &name(index)) }
}

/// Returns a thousand units, each of which reads one ConfigMap and lists a namespace.
fn readers(cache: &Cache) -> Result<TriggerIndex, BoxError> {
    let (picture, topology) = (cache.snapshot(), Arc::new(Topology::standalone(&cluster())));
    let inputs = Arc::new(BTreeSet::from([AccessRule::every(&CONFIG_MAPS)]));
    let mut wakes = TriggerIndex::default();
    for index in 0..UNITS {
        let view = View::new(picture.clone(), topology.clone(), inputs.clone(), Timestamp(0));
        view.get(&CONFIG_MAPS, &namespace(index), &name(index))?;
        view.list(&CONFIG_MAPS, &Selection::namespace(&format!("own-{index}")).with_labels("app=shop"))?;
        wakes.set(&unit(index), &view.into_reads());
    }
    Ok(wakes)
}
