//! The example operators pass all faults of their schedules.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use switchboard_greeter::Greeter;
use switchboard_probe::{FaultClass, Probe, ProbeCase};

fn greeter() -> Probe {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/greeter/probe.yaml");
    let case = ProbeCase::read(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(case.operator, "greeter");
    Probe::of(|| Arc::new(Greeter)).case(case).read_from(Path::new("examples/greeter/probe.yaml"))
}

#[test]
fn the_greeter_passes_every_fault() {
    let report = greeter().run();
    println!("{} runs, {} writes, {} events", report.runs, report.writes, report.events);
    report.assert_ok();
    assert!(report.writes >= 4 && report.events >= 8, "{} writes, {} events", report.writes, report.events);
    assert!(report.runs > 100, "{} runs", report.runs);
}

#[test]
fn equal_faults_give_equal_reports() {
    let some = || greeter().without([FaultClass::Response, FaultClass::Missed, FaultClass::Merged, FaultClass::Crash]);
    let (first, second) = (some().threads(1).run(), some().threads(2).run());
    assert_eq!((first.runs, first.failures), (second.runs, second.failures));
}

#[test]
fn a_small_operator_with_its_test_has_at_most_80_lines() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/greeter/src/lib.rs");
    let lines = std::fs::read_to_string(file).unwrap().lines().count();
    assert!(lines <= 80, "{lines} lines");
}
