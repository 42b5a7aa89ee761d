//! Cost of ten operators: as ten resident processes, and hosted by one `switchboard run`. Program, kube-apiserver and
//! script are the same. `make study` runs it and writes docs/COST.md, regardless of the result.
//!
//! ```text
//! STUDY_SECONDS    duration of the script, 600 by default
//! STUDY_OPERATORS  number of operators, 10 by default
//! ```

mod cluster;
mod cost;
mod modes;
mod report;
mod script;

use std::time::Duration;

use cluster::StudyCluster;
use modes::{HostingMode, ModeResult};
use script::StudyScript;
use switchboard_suite::real::RealCluster;

/// Returns a numeric variable.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn main() {
    let (seconds, operators) = (number("STUDY_SECONDS", 600), number("STUDY_OPERATORS", 10) as usize);
    let script = StudyScript::new(Duration::from_secs(seconds), operators);
    let ways = [HostingMode::Resident, HostingMode::Hosted { resync: "1m" }, HostingMode::Hosted { resync: "10m" }];
    let sides: Vec<ModeResult> = ways.into_iter().map(|way| run_mode(way, &script)).collect();
    let page = report::page(&script, &sides);
    let path = switchboard_suite::real::workspace().join("docs/COST.md");
    std::fs::write(&path, &page).expect("the page can be written");
    println!("{page}");
}

/// Measures one hosting mode on a cluster of its own.
fn run_mode(way: HostingMode, script: &StudyScript) -> ModeResult {
    eprintln!("study: {way}, {} s", script.duration.as_secs());
    let real = RealCluster::start_audited().expect("the real components start");
    let ground = StudyCluster::of(&real.kubeconfig(), script.operators);
    ground.install();
    modes::run(way, &real, &ground, script)
}
