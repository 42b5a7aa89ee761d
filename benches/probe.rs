//! How many runs a second the probe makes on one core: the greeter through its case, under every fault of the schedule.
//!
//! A run neither sleeps nor waits, so the time that the process had a core is the time it takes on a core of its own, and other work on
//! the machine hardly counts. Both that and the time on the wall are told, of the fastest and of the middle one of some
//! rounds; the middle one by the time on a core must reach the goal.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard_greeter::Greeter;
use switchboard_probe::{Probe, ProbeCase};

use switchboard_suite::BoxError;

const ROUNDS: usize = 15;
/// Runs a second on one core.
const GOAL: f64 = 200.0;
/// How many ticks of `/proc` a second has: Linux tells user space nothing else.
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

/// How long this process has had a core.
fn on_core() -> Result<Duration, BoxError> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name of the program, in brackets, may hold blanks. Behind it, the twelfth and the next are user and system time.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS))
}
