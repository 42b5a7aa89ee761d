//! Renders public charts with the binary and compares them with the output of Helm. The charts are next to the
//! checkout; `helm/chart/tests/recorded.rs` tests the others.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use switchboard_suite::process::binary;
use switchboard_suite::shared_data::shared_data;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn assert_none_failed(failed: &[String], of: usize) {
    assert!(of > 0 && failed.is_empty(), "{} of {of} differ:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn public_charts_render_as_with_helm() {
    let Some(charts) = shared_data("charts") else { return };
    let mut cases: Vec<PathBuf> = Vec::new();
    for chart in fs::read_dir(charts).unwrap().map(|entry| entry.unwrap().path().join("cases")) {
        cases.extend(fs::read_dir(chart).into_iter().flatten().map(|entry| entry.unwrap().path()));
    }
    cases.sort();
    let failed: Vec<String> = cases.iter().filter_map(|case| difference(case)).collect();
    assert_none_failed(&failed, cases.len());
}

/// Runs the case of a public chart and returns the difference to Helm's output, if any.
fn difference(case: &Path) -> Option<String> {
    let arguments = read(&case.join("args"));
    let mut command = Command::new(binary().unwrap());
    let output = command.arg("template").args(arguments.lines()).current_dir(case).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let problem = if case.join("expected.code").exists() {
        let says = fs::read_to_string(case.join("expected.says")).unwrap_or_default();
        let missing = says.lines().find(|line| !said.contains(line));
        match (output.status.success(), missing) {
            (true, _) => Some("succeeded".to_string()),
            (false, Some(missing)) => Some(format!("does not say {missing:?}: {said}")),
            (false, None) => None,
        }
    } else if !output.status.success() {
        Some(said)
    } else {
        let (got, want) = (String::from_utf8_lossy(&output.stdout), read(&case.join("expected.yaml")));
        let first = || got.lines().zip(want.lines()).position(|(got, want)| got != want);
        (got != want).then(|| format!("differs at line {:?}", first().map(|line| line + 1)))
    };
    problem.map(|problem| format!("{}: {problem}", case.display()))
}
