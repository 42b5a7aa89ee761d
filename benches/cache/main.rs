//! The kernel's cache: how much it takes beside a kube-rs reflector store of the same objects, what a relisting takes on top,
//! what one change costs, and what one more operator costs.
//!
//! Every figure is measured in a process of its own, this program again, so that none sees what another has left behind.

mod change;
mod eleventh;
mod memory;
mod process;
mod sample;

use std::io::ErrorKind;

use change::Counted;
use eleventh::Added;
use memory::Taken;
use process::{Failed, MIB};

const OBJECTS: usize = 100_000;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["memory", whose, objects] => memory::measure(whose, objects.parse()?),
        ["eleventh", units, objects] => eleventh::measure(units.parse()?, objects.parse()?),
        ["change", objects] => change::rehearse(objects.parse()?),
        // Cargo says `--bench`.
        _ => report(),
    }
}

fn report() -> Result<(), Failed> {
    let (ours, theirs) = (Taken::by("switchboard", OBJECTS)?, Taken::by("reflector", OBJECTS)?);
    println!("{OBJECTS} ConfigMaps, {:.0} MiB of JSON", ours.json as f64 / MIB);
    println!("{:<48} {:>12} {:>18} {:>6}", "", "switchboard", "kube-rs reflector", "goal");
    let row = |what: &str, ratio: fn(&Taken) -> f64, goal: &str| {
        println!("{what:<48} {:>12.2} {:>18.2} {goal:>6}", ratio(&ours), ratio(&theirs));
    };
    row("resident bytes / JSON bytes", Taken::steady, "1.6");
    row("relist peak / steady, nothing changed", |taken| taken.relist(0), "1.3");
    row("relist peak / steady, one in ten changed", |taken| taken.relist(1), "1.3");
    row("relist peak / steady, every object changed", |taken| taken.relist(2), "1.3");
    eleventh_operator()?;
    one_change()
}

fn eleventh_operator() -> Result<(), Failed> {
    for units in [1, 1_000] {
        let Added { bytes, watches, all_watches } = Added::with_units(units, OBJECTS)?;
        let what = format!("the eleventh operator, {units} unit{}", if units == 1 { "" } else { "s" });
        let watched = format!("{watches} watches on top of {all_watches}");
        println!("{what:<48} {:>12} {:>18} {:>6}", format!("{:.0} KiB", bytes / 1024.0), watched, "1 MiB");
    }
    Ok(())
}

fn one_change() -> Result<(), Failed> {
    let what = "instructions per change";
    let few = match Counted::over(change::FEW) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("{what}: not counted, valgrind is not installed");
            return Ok(());
        }
        counted => counted?,
    };
    let many = Counted::over(OBJECTS)?;
    println!("{:<48} {:>12.0}", format!("{what}, {} objects", change::FEW), few.instructions);
    println!("{:<48} {:>12.0}", format!("{what}, {OBJECTS} objects"), many.instructions);
    println!("{:<48} {:>12.2} {:>18} {:>6}", "", many.instructions / few.instructions, "times", "flat");
    Ok(())
}
