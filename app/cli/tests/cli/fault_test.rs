//! Output of `switchboard probe`.

use std::path::Path;

use crate::process::{run, said};

fn greeter() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/greeter/probe.yaml").display().to_string()
}

#[test]
fn one_fault_that_is_borne() {
    let output = run(&["probe", "greeter", "--case", &greeter(), "--fault", "crash-after-write:1"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "greeter: 2 runs, 0 failed\n");
    let output = run(&["probe", "greeter", "--case", &greeter(), "--fault", "miss-event:2x2", "-o", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["operator"], &report["runs"]), (&"greeter".into(), &2.into()));
    assert_eq!(report["failures"], serde_json::json!([]));
}

#[test]
fn a_failure_comes_with_the_command_that_shows_it_again() {
    let directory = tempfile::tempdir().unwrap();
    let case = directory.path().join("case.yaml");
    std::fs::write(&case, "operator: rogue-loops\n").unwrap();
    let case = case.display().to_string();
    let output = run(&["probe", "rogue-loops", "--case", &case]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let told = String::from_utf8(output.stdout).unwrap();
    let replay = format!("  replay: switchboard probe rogue-loops --case {case} --fault 'none'");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((lines[0], lines[2]), ("rogue-loops: 1 runs, 1 failed", replay.as_str()), "{told}");
    assert!(lines[1].starts_with("none: writes though nothing changed"), "{told}");
    let again = run(&["probe", "rogue-loops", "--case", &case, "--fault", "none"]);
    assert_eq!(String::from_utf8(again.stdout).unwrap(), told);
}

#[test]
fn what_is_not_understood() {
    for wrong in [["probe", "nobody", "--case", "x"], ["probe", "greeter", "--fault", "none"]] {
        assert_eq!(run(&wrong).status.code(), Some(64));
    }
    let output = run(&["probe", "greeter", "--case", &greeter(), "--fault", "crash-at-writes:1"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(said(&output).contains("no fault is called `crash-at-writes`"), "{}", said(&output));
    let output = run(&["probe", "rogue-red", "--case", &greeter()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("is for the operator `greeter`, not for `rogue-red`"), "{}", said(&output));
    let output = run(&["probe", "greeter", "--case", "no/such/file"]);
    assert!(said(&output).starts_with("error: could not read the case `no/such/file`\n"), "{}", said(&output));
}
