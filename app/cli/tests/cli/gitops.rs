//! `switchboard gitops`.

use std::path::Path;
use std::process::Output;

use crate::process::{stderr_text, switchboard};

const KEY1: &str = "key1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n";

/// Runs `gitops migrate` on a file in the folder, without settings of this machine.
fn migrate(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = switchboard(&["gitops", "migrate"]);
    for variable in ["SWITCHBOARD_GITOPS_DATABASE", "SWITCHBOARD_GITOPS_KEYS", "DB_ADDR", "DB_PASS"] {
        command.env_remove(variable);
    }
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn database_is_planned_created_and_then_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let base = ["--database", "sqlite:gitops.db", "--plaintext-credentials"];
    let plan = migrate(folder.path(), &[&base[..], &["--dry-run"]].concat());
    assert_eq!(plan.status.code(), Some(2), "{}", stderr_text(&plan));
    assert_eq!(
        printed(&plan),
        "database     SQLite in gitops.db\nschema       empty\nto apply     1: tables of managed-gitops\n\
         to apply     2: wider columns, indexes, log of changes\nto apply     3: instances, placements and moves\n\
         to apply     4: service accounts on tenants' clusters\nto apply     5: settings of the backend\n\
         to apply     6: tokens of these service accounts\nto apply     7: log of changes by statement\n\
         to apply     8: names of move steps\nto apply     9: indexes\n"
    );
    assert!(!folder.path().join("gitops.db").exists(), "a plan makes no file");
    let made = migrate(folder.path(), &base);
    assert_eq!(made.status.code(), Some(0), "{}", stderr_text(&made));
    assert!(printed(&made).contains("applied      2: wider columns"), "{}", printed(&made));
    let again = migrate(folder.path(), &[&base[..], &["--dry-run"]].concat());
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(printed(&again), "database     SQLite in gitops.db\nschema       version 9\nnothing to do\n");
}

#[test]
fn results_are_printed_as_json() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("keys"), KEY1).unwrap();
    let arguments = ["--database", "sqlite:g.db", "--credentials-key-file", "keys", "-o", "json"];
    let made: serde_json::Value = serde_json::from_slice(&migrate(folder.path(), &arguments).stdout).unwrap();
    assert_eq!(made["schema"], serde_json::json!({ "kind": "empty", "version": null }));
    assert_eq!((&made["steps"][1]["version"], &made["applied"]), (&2.into(), &true.into()));
}

#[test]
fn missing_settings_are_requested() {
    let folder = tempfile::tempdir().unwrap();
    let none = migrate(folder.path(), &["--plaintext-credentials"]);
    assert_eq!(none.status.code(), Some(1));
    assert_eq!(
        stderr_text(&none),
        "error: no database is configured\nhint: pass --database postgres://… or --database sqlite:FILE\n"
    );
    let unsealed = migrate(folder.path(), &["--database", "sqlite:g.db"]);
    assert!(
        stderr_text(&unsealed).contains("hint: pass a key file with --credentials-key-file"),
        "{}",
        stderr_text(&unsealed)
    );
    let odd = migrate(folder.path(), &["--database", "mysql://x", "--plaintext-credentials"]);
    assert!(stderr_text(&odd).contains("neither `postgres://` nor `sqlite:`"), "{}", stderr_text(&odd));
    std::fs::write(folder.path().join("keys"), "topsecret\n").unwrap();
    let bad = migrate(folder.path(), &["--database", "sqlite:g.db", "--credentials-key-file", "keys"]);
    assert!(
        stderr_text(&bad).contains("head -c 32 /dev/urandom | base64") && !stderr_text(&bad).contains("topsecret"),
        "{}",
        stderr_text(&bad)
    );
    let lost = migrate(folder.path(), &["--database", "sqlite:no/such/g.db", "--plaintext-credentials"]);
    assert!(stderr_text(&lost).contains("hint: check the path"), "{}", stderr_text(&lost));
}

#[test]
fn unreachable_server_is_reported_without_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgres://me:hunter2@{closed}/gitops");
    let output = migrate(folder.path(), &["--database", &url, "--plaintext-credentials"]);
    let stderr_text = stderr_text(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr_text.starts_with(&format!("error: could not connect to PostgreSQL at {closed}\n")), "{stderr_text}");
    assert!(
        stderr_text.contains("hint: check that the server is running") && !stderr_text.contains("hunter2"),
        "{stderr_text}"
    );
}
