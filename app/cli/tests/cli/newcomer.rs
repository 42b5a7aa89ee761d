//! First steps of a newcomer: the shipped example is healthy, and commands find the cluster of `up`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::process::{ServerProcess, stderr_text, switchboard};
use crate::up_process::{NO_OPERATORS, UpProcess, ask, eventually};

/// Folder of the example that `make run` starts.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap()
}

/// Runs a command as a user without a kubeconfig of their own does.
fn without_kubeconfig(running: &UpProcess, arguments: &[&str]) -> Output {
    let mut command = switchboard(arguments);
    command.arg("--state-dir").arg(running.file("state"));
    command.env_remove("KUBECONFIG").env("HOME", running.folder.path()).output().unwrap()
}

/// Asserts that `doctor` finds no error in the shipped example. A user may have no kubeconfig.
fn assert_example_is_valid(folder: &Path, state: &Path) {
    let mut command = switchboard(&["doctor", "--config"]);
    command.arg(examples().join("switchboard.yaml")).arg("--state-dir").arg(state);
    let checked = command.env_remove("KUBECONFIG").env("HOME", folder).output().unwrap();
    let report = String::from_utf8_lossy(&checked.stdout);
    assert_eq!(checked.status.code(), Some(0), "{report}");
    assert!(report.contains("\n0 errors, "), "{report}");
}

#[test]
fn doctor_finds_no_error_in_the_shipped_example_without_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    assert_example_is_valid(folder.path(), &folder.path().join("state"));
}

#[tokio::test]
async fn plan_finds_the_cluster_of_up() {
    let running = UpProcess::up(NO_OPERATORS);
    fs::write(running.file("plain.yaml"), "operators: {greeter: {}}\n").unwrap();
    let config = running.file("plain.yaml").display().to_string();
    let planned = without_kubeconfig(&running, &["plan", "--config", &config]);
    assert_eq!(planned.status.code(), Some(0), "{}", stderr_text(&planned));
    assert_eq!(String::from_utf8_lossy(&planned.stdout), "nothing would be written\n");
}

/// Starts what `make run` starts, in a folder of its own; `doctor` agrees while it runs.
#[tokio::test]
async fn every_operator_of_the_demonstration_becomes_ready() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let shipped = fs::read_to_string(examples().join("switchboard.yaml")).unwrap();
    let data = format!("source: {}", examples().join("integrations/data").display());
    let config = format!("console: off\n{}", shipped.replace("source: integrations/data", &data));
    assert!(config.contains(&data), "{config}");
    fs::write(folder.path().join("switchboard.yaml"), config).unwrap();
    let mut command = switchboard(&["up", "--ephemeral", "--config"]);
    command.arg(folder.path().join("switchboard.yaml")).arg("--state-dir").arg(&state);
    command.args(["--example", "postgres", "--example", "gitops", "--example", "deployments"]);
    let printed = fs::File::create(folder.path().join("printed")).unwrap();
    let serving = ServerProcess::start_with(command, Stdio::from(printed));
    let rows = eventually("readiness of all operators", || async {
        let top: Value = serde_json::from_slice(&ask(&state, &["top", "-o", "json"]).stdout).ok()?;
        let rows = top["operators"].as_array()?.clone();
        let runs = |name: &str| rows.iter().any(|row| row["name"] == name && row["writes"].as_u64() > Some(0));
        let started = ["engine", "plugs", "gitops-deployments"].into_iter().all(runs);
        (started && rows.iter().all(|row| row["state"] == "Ready")).then_some(rows)
    })
    .await;
    assert!(rows.iter().any(|row| row["name"] == "integrations@prod-01"), "{rows:?}");
    assert_example_is_valid(folder.path(), &state);
    assert_eq!(serving.stop().0, Some(0));
}

/// `script` gives the command a terminal. Not every machine has this program.
#[test]
fn an_image_is_not_printed_to_a_terminal() {
    let command = format!("{} plugs graph", env!("CARGO_BIN_EXE_switchboard"));
    let Ok(output) = std::process::Command::new("script").args(["-qec", &command, "/dev/null"]).output() else {
        eprintln!("skipped: the program `script` is not installed");
        return;
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("could not print the image: stdout is a terminal"), "{printed}");
    assert!(printed.contains("plugs graph > plugs.svg") && !printed.contains("<svg"), "{printed}");
}
