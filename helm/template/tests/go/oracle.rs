//! Client of the Go oracle, over standard input and output.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

use crate::case::{TemplateCase, TemplateResult};

/// Returns Go's results, in the order of the cases.
pub fn run(cases: &[TemplateCase]) -> Vec<TemplateResult> {
    run_raw(cases).iter().map(TemplateResult::from_json).collect()
}

pub fn run_raw(cases: &[TemplateCase]) -> Vec<Json> {
    let folder = std::env::var("SWITCHBOARD_REAL_BIN").expect("SWITCHBOARD_REAL_BIN: run `make test-real`");
    let program = PathBuf::from(folder).join("oracle");
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines: Vec<u8> = cases.iter().flat_map(|case| format!("{}\n", case.json).into_bytes()).collect();
    let writer = std::thread::spawn(move || stdin.write_all(&lines).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let answers: Vec<Json> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len(), "the oracle answers every case");
    answers
}
