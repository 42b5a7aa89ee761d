//! How many bytes the kernel's cache takes for its objects, at rest and while all of them are listed again, and what one more
//! operator takes: the figures that `make bench` prints beside others, held to their bounds.
//!
//! It has a `main` of its own, as the bench has: each figure is measured in a process of its own, which is this program again.

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

/// A part of the bench's 100,000: what each takes does not depend on how many there are.
const OBJECTS: usize = 20_000;
/// A namespace of a thousand for each operator.
const READ: usize = 30_000;
/// What ConfigMaps of one kilobyte may take, in bytes of their JSON.
const STEADY: f64 = 1.6;
/// What may be held while they are listed again, of what is held at rest.
const RELIST: f64 = 1.3;

fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["memory", whose, objects] => memory::measure(whose, objects.parse()?),
        ["eleventh", units, objects] => added_operator::measure(units.parse()?, objects.parse()?),
        // Whoever lists tests or picks some by name means others.
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
        // ConfigMaps and Secrets, for all of them together.
        assert_eq!((watches, all_watches), (0, 2), "the eleventh operator adds no watch");
        assert!(bytes < MIB, "the eleventh operator adds {bytes} bytes");
    }
    Ok(())
}
