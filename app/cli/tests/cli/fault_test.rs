//! Output of `switchboard fault-test`.

use std::path::Path;

use crate::process::{run, stderr_text};

fn greeter() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/greeter/probe.yaml").display().to_string()
}

#[test]
fn passing_fault_is_reported() {
    let output = run(&["fault-test", "greeter", "--case", &greeter(), "--fault", "crash-after-write:1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr_text(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "greeter: 2 runs, 0 failed\n");
    let output = run(&["fault-test", "greeter", "--case", &greeter(), "--fault", "miss-event:2x2", "-o", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["operator"], &report["runs"]), (&"greeter".into(), &2.into()));
    assert_eq!(report["failures"], serde_json::json!([]));
}

#[test]
fn failure_has_the_command_that_repeats_it() {
    let directory = tempfile::tempdir().unwrap();
    let case = directory.path().join("case.yaml");
    std::fs::write(&case, "operator: rogue-loops\n").unwrap();
    let case = case.display().to_string();
    let output = run(&["fault-test", "rogue-loops", "--case", &case]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr_text(&output));
    let printed = String::from_utf8(output.stdout).unwrap();
    let replay = format!("  replay: switchboard fault-test rogue-loops --case {case} --fault 'none'");
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((lines[0], lines[2]), ("rogue-loops: 1 runs, 1 failed", replay.as_str()), "{printed}");
    assert!(lines[1].starts_with("none: writes although nothing changed"), "{printed}");
    let again = run(&["fault-test", "rogue-loops", "--case", &case, "--fault", "none"]);
    assert_eq!(String::from_utf8(again.stdout).unwrap(), printed);
}

#[test]
fn invalid_arguments_are_refused() {
    for wrong in [["fault-test", "stranger", "--case", "x"], ["fault-test", "greeter", "--fault", "none"]] {
        assert_eq!(run(&wrong).status.code(), Some(64));
    }
    let output = run(&["fault-test", "greeter", "--case", &greeter(), "--fault", "crash-at-writes:1"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(stderr_text(&output).contains("unknown fault `crash-at-writes`"), "{}", stderr_text(&output));
    let output = run(&["fault-test", "rogue-red", "--case", &greeter()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr_text(&output).contains("is for the operator `greeter`, not for `rogue-red`"),
        "{}",
        stderr_text(&output)
    );
    let output = run(&["fault-test", "greeter", "--case", "no/such/file"]);
    assert!(
        stderr_text(&output).starts_with("error: could not read the case `no/such/file`\n"),
        "{}",
        stderr_text(&output)
    );
}
