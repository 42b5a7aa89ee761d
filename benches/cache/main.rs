//! The kernel's cache: its memory compared with a kube-rs reflector store of the same objects, additional memory during
//! a relist, cost of one change, and cost of one more operator.
//!
//! Every figure is measured in a separate process, which is this program again, so that measurements are independent.

mod added_operator;
mod change;
mod memory;
mod process;
mod sample;

use std::io::ErrorKind;

use added_operator::OperatorCost;
use change::InstructionCount;
use memory::MemoryFigures;
use process::{BoxError, MIB};

const OBJECTS: usize = 100_000;

/// Maximum memory of the objects, relative to their JSON.
const STEADY: f64 = 1.6;
/// Maximum memory during a relist, relative to the memory at rest.
const RELIST: f64 = 1.3;
/// Maximum cost of a change with a hundred times the objects.
const FLAT: f64 = 1.2;

fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["memory", whose, objects] => memory::measure(whose, objects.parse()?),
        ["eleventh", units, objects] => added_operator::measure(units.parse()?, objects.parse()?),
        ["change", objects] => change::run_counted(objects.parse()?),
        // Cargo passes `--bench`.
        _ => report(),
    }
}

/// Compares figures with goals, and collects missed goals.
#[derive(Default)]
struct CacheGoals(Vec<String>);

impl CacheGoals {
    fn at_most(&mut self, what: &str, figure: f64, goal: f64) {
        if figure > goal {
            self.0.push(format!("{what}: {figure:.2}, and not at most {goal}"));
        }
    }
}

fn report() -> Result<(), BoxError> {
    let mut goals = CacheGoals::default();
    let (ours, theirs) =
        (MemoryFigures::measure_store("switchboard", OBJECTS)?, MemoryFigures::measure_store("reflector", OBJECTS)?);
    println!("{OBJECTS} ConfigMaps, {:.0} MiB of JSON", ours.json as f64 / MIB);
    println!("{:<48} {:>12} {:>18} {:>6}", "", "switchboard", "kube-rs reflector", "goal");
    let mut row = |what: &str, ratio: fn(&MemoryFigures) -> f64, goal: f64| {
        println!("{what:<48} {:>12.2} {:>18.2} {goal:>6}", ratio(&ours), ratio(&theirs));
        goals.at_most(what, ratio(&ours), goal);
    };
    row("resident bytes / JSON bytes", MemoryFigures::steady, STEADY);
    row("relist peak / steady, nothing changed", |taken| taken.relist(0), RELIST);
    row("relist peak / steady, one in ten changed", |taken| taken.relist(1), RELIST);
    row("relist peak / steady, every object changed", |taken| taken.relist(2), RELIST);
    eleventh_operator(&mut goals)?;
    one_change(&mut goals)?;
    if goals.0.is_empty() { Ok(()) } else { Err(goals.0.join("; ").into()) }
}

fn eleventh_operator(goals: &mut CacheGoals) -> Result<(), BoxError> {
    for units in [1, 1_000] {
        let OperatorCost { bytes, watches, all_watches } = OperatorCost::with_units(units, OBJECTS)?;
        let what = format!("the eleventh operator, {units} unit{}", if units == 1 { "" } else { "s" });
        let watched = format!("{watches} watches on top of {all_watches}");
        println!("{what:<48} {:>12} {:>18} {:>6}", format!("{:.0} KiB", bytes / 1024.0), watched, "1 MiB");
        goals.at_most(&format!("{what}, MiB"), bytes / MIB, 1.0);
        goals.at_most(&format!("{what}, watches"), watches as f64, 0.0);
    }
    Ok(())
}

fn one_change(goals: &mut CacheGoals) -> Result<(), BoxError> {
    let what = "instructions per change";
    let few = match InstructionCount::measure(change::FEW) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("{what}: not counted, valgrind is not installed");
            return Ok(());
        }
        counted => counted?,
    };
    let many = InstructionCount::measure(OBJECTS)?;
    let grown = many.instructions / few.instructions;
    println!("{:<48} {:>12.0}", format!("{what}, {} objects", change::FEW), few.instructions);
    println!("{:<48} {:>12.0}", format!("{what}, {OBJECTS} objects"), many.instructions);
    println!("{:<48} {grown:>12.2} {:>18} {FLAT:>6}", "", "times");
    goals.at_most(&format!("{what}, times"), grown, FLAT);
    Ok(())
}
