//! Number of fault-test runs per second on one core: the greeter's case under every fault of the schedule.
//!
//! A run neither sleeps nor waits, so its CPU time is its duration on an idle core, and other load on the machine
//! hardly matters. Both CPU time and elapsed time are reported, for the fastest and the median round. The median CPU
//! time must meet the goal.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_greeter::Greeter;
use switchboard_probe::{Probe, ProbeCase};

use switchboard_suite::BoxError;

const ROUNDS: usize = 15;
/// Minimum number of runs per second on one core.
const GOAL: f64 = 200.0;
/// Clock ticks of `/proc` per second; the value in user space is fixed.
const TICKS: u64 = 100;

fn main() -> Result<(), BoxError> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/greeter/probe.yaml");
    let case = ProbeCase::read(&std::fs::read_to_string(file)?)?;
    let probe = Probe::of(|| Arc::new(Greeter)).case(case).threads(1);
    let (mut walls, mut cores, mut runs) = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS), 0);
    for _ in 0..ROUNDS {
        let (start, before) = (Instant::now(), on_core()?);
        let report = probe.run();
        walls.push(start.elapsed());
        cores.push(on_core()?.saturating_sub(before));
        if !report.is_ok() {
            return Err(report.to_string().into());
        }
        runs = u32::try_from(report.runs)?;
    }
    let load = std::fs::read_to_string("/proc/loadavg")?;
    println!("{runs} runs on one thread, {ROUNDS} rounds, load {}", load.split(' ').next().unwrap_or_default());
    let a_second = |took: Duration| f64::from(runs) / took.as_secs_f64();
    for (what, rounds) in [("on the wall", &mut walls), ("on a core", &mut cores)] {
        rounds.sort();
        for (which, took) in [("fastest", rounds[0]), ("middle", rounds[ROUNDS / 2])] {
            println!("{which}, {what}: {:.2?} each, {:.0} a second", took / runs, a_second(took));
        }
    }
    match a_second(cores[ROUNDS / 2]) {
        reached if reached >= GOAL => Ok(()),
        missed => Err(format!("{missed:.0} runs a second on a core, and not {GOAL}").into()),
    }
}

/// Returns the CPU time of this process.
fn on_core() -> Result<Duration, BoxError> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The command name in parentheses may contain spaces. Behind it, user and system time are fields 12 and 13.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS))
}
