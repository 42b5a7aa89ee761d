//! What ten operators cost: resident, each a process of its own, against the same ten hosted by one `switchboard run`. Same program,
//! same real kube-apiserver, same script. `make study` runs it and writes docs/COST.md, whatever comes out.
//!
//! ```text
//! STUDY_SECONDS    how long the script takes, 600 unless set
//! STUDY_OPERATORS  how many operators, 10 unless set
//! ```

mod cost;
mod ground;
mod report;
mod script;
mod sides;

use std::time::Duration;

use ground::Ground;
use script::Script;
use sides::{Side, Way};
use switchboard_suite::real::Real;

/// A variable that is a number.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn main() {
    let (seconds, operators) = (number("STUDY_SECONDS", 600), number("STUDY_OPERATORS", 10) as usize);
    let script = Script::new(Duration::from_secs(seconds), operators);
    let ways = [Way::Resident, Way::Hosted { resync: "1m" }, Way::Hosted { resync: "10m" }];
    let sides: Vec<Side> = ways.into_iter().map(|way| side(way, &script)).collect();
    let page = report::page(&script, &sides);
    let path = switchboard_suite::real::workspace().join("docs/COST.md");
    std::fs::write(&path, &page).expect("the page can be written");
    println!("{page}");
}

/// One way to run them, on a cluster of its own.
fn side(way: Way, script: &Script) -> Side {
    eprintln!("study: {way}, {} s", script.duration.as_secs());
    let real = Real::audited().expect("the real components start");
    let ground = Ground::of(&real.kubeconfig(), script.operators);
    ground.install();
    sides::run(way, &real, &ground, script)
}
