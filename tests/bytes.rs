//! Memory of the kernel's cache, at rest and during a relist, and memory of one more operator: the figures of `make
//! bench`, checked against limits.
//!
//! This test has a `main` of its own like the bench: each figure is measured in a separate process, which is this
//! program again.

#[path = "../benches/cache/added_operator.rs"]
mod added_operator;
#[path = "../benches/cache/memory.rs"]
mod memory;
#[path = "../benches/cache/process.rs"]
mod process;
#[path = "../benches/cache/sample.rs"]
mod sample;

use added_operator::OperatorCost;
use memory::MemoryFigures;
use process::{BoxError, MIB};

/// A part of the bench's 100,000 objects; the memory per object does not depend on their number.
const OBJECTS: usize = 20_000;
/// One namespace with a thousand objects for each operator.
const READ: usize = 30_000;
/// Maximum memory of ConfigMaps of one kilobyte, relative to the size of their JSON.
const STEADY: f64 = 1.6;
/// Maximum memory during a relist, relative to the memory at rest.
const RELIST: f64 = 1.3;

fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["memory", whose, objects] => memory::measure(whose, objects.parse()?),
        ["eleventh", units, objects] => added_operator::measure(units.parse()?, objects.parse()?),
        // A run that lists tests or selects some by name does not concern this one.
        words if words.contains(&"--list") || words.iter().any(|word| !word.starts_with("--")) => Ok(()),
        _ => check(),
    }
}

fn check() -> Result<(), BoxError> {
    let taken = MemoryFigures::measure_store("switchboard", OBJECTS)?;
    println!("{OBJECTS} objects: {:.2} of their {:.0} MiB", taken.steady(), taken.json as f64 / MIB);
    assert!(taken.steady() <= STEADY, "at rest {:.2} times the JSON", taken.steady());
    for (which, changed) in ["nothing", "one in ten", "everything"].into_iter().enumerate() {
        let relist = taken.relist(which);
        println!("relisted, {changed} changed: {relist:.2} of that");
        assert!(relist <= RELIST, "relisted with {changed} changed {relist:.2} times what is held at rest");
    }
    for units in [1, 1_000] {
        let OperatorCost { bytes, watches, all_watches } = OperatorCost::with_units(units, READ)?;
        println!("the eleventh operator, {units} units: {:.0} KiB, {watches} watches", bytes / 1024.0);
        // One watch for ConfigMaps and one for Secrets, shared by all operators.
        assert_eq!((watches, all_watches), (0, 2), "the eleventh operator adds no watch");
        assert!(bytes < MIB, "the eleventh operator adds {bytes} bytes");
    }
    Ok(())
}
