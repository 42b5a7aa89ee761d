//! What ten operators cost: resident, each a process of its own, against the same ten hosted by one `switchboard run`. Same program,
//! same real kube-apiserver, same script. `make study` runs it and writes docs/COST.md, whatever comes out.
//!
//! ```text
//! STUDY_SECONDS    how long the script takes, 600 unless set
//! STUDY_OPERATORS  how many operators, 10 unless set
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

/// A variable that is a number.
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

/// One way to run them, on a cluster of its own.
fn run_mode(way: HostingMode, script: &StudyScript) -> ModeResult {
    eprintln!("study: {way}, {} s", script.duration.as_secs());
    let real = RealCluster::start_audited().expect("the real components start");
    let ground = StudyCluster::of(&real.kubeconfig(), script.operators);
    ground.install();
    modes::run(way, &real, &ground, script)
}
