//! How many runs a second the probe makes on one core: the greeter through its case, under every fault of the schedule.
//! The fastest and the middle one of some rounds are told: noise only makes slower.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use switchboard_greeter::Greeter;
use switchboard_probe::{Case, Probe};

type Failed = Box<dyn std::error::Error + Send + Sync>;

const ROUNDS: usize = 9;

fn main() -> Result<(), Failed> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/greeter/probe.yaml");
    let case = Case::read(&std::fs::read_to_string(file)?)?;
    let probe = Probe::of(|| Arc::new(Greeter)).case(case).threads(1);
    let (mut rounds, mut runs) = (Vec::with_capacity(ROUNDS), 0);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let report = probe.run();
        rounds.push(start.elapsed());
        if !report.is_ok() {
            return Err(report.to_string().into());
        }
        runs = u32::try_from(report.runs)?;
    }
    rounds.sort();
    for (which, took) in [("fastest", rounds[0]), ("middle", rounds[ROUNDS / 2])] {
        let each = took / runs;
        println!(
            "{which} of {ROUNDS}: {runs} runs on one core, {each:.2?} each, {:.0} a second",
            1.0 / each.as_secs_f64()
        );
    }
    Ok(())
}
