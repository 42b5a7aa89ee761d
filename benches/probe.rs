//! How many runs a second the probe makes on one core: the greeter through its case, under every fault of the schedule.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use switchboard_greeter::Greeter;
use switchboard_probe::{Case, Probe};

type Failed = Box<dyn std::error::Error + Send + Sync>;

const ROUNDS: usize = 3;

fn main() -> Result<(), Failed> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/greeter/probe.yaml");
    let case = Case::read(&std::fs::read_to_string(file)?)?;
    let probe = Probe::of(|| Arc::new(Greeter)).case(case).threads(1);
    for round in 1..=ROUNDS {
        let start = Instant::now();
        let report = probe.run();
        let took = start.elapsed();
        if !report.is_ok() {
            return Err(report.to_string().into());
        }
        let each = took / u32::try_from(report.runs)?;
        let rate = 1.0 / each.as_secs_f64();
        println!("round {round}: {} runs on one core in {took:.2?}: {each:.2?} each, {rate:.0} a second", report.runs);
    }
    Ok(())
}
