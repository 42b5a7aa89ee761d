//! `switchboard gitops`.

use std::path::Path;
use std::process::Output;

use crate::process::{said, switchboard};

const KEY1: &str = "key1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n";

/// Runs `gitops migrate` on a file in the folder, without settings of this machine.
fn migrate(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = switchboard(&["gitops", "migrate"]);
    for variable in ["SWITCHBOARD_GITOPS_DATABASE", "SWITCHBOARD_GITOPS_KEYS", "DB_ADDR", "DB_PASS"] {
        command.env_remove(variable);
    }
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_database_is_planned_made_and_then_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let base = ["--database", "sqlite:gitops.db", "--plaintext-credentials"];
    let plan = migrate(folder.path(), &[&base[..], &["--dry-run"]].concat());
    assert_eq!(plan.status.code(), Some(2), "{}", said(&plan));
    assert_eq!(
        told(&plan),
        "database     SQLite in gitops.db\nfound        nothing\nmake         1: the tables of the original\n\
         make         2: wider columns, indexes, log of changes\nmake         3: which Argo CD serves whom\n\
         make         4: what is to be removed from clusters of tenants\nmake         5: what a backend was told\n\
         make         6: tokens of service accounts on clusters of tenants\n\
         make         7: changes are logged by statement\n"
    );
    assert!(!folder.path().join("gitops.db").exists(), "a plan makes no file");
    let made = migrate(folder.path(), &base);
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    assert!(told(&made).contains("made         2: wider columns"), "{}", told(&made));
    let again = migrate(folder.path(), &[&base[..], &["--dry-run"]].concat());
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(told(&again), "database     SQLite in gitops.db\nfound        version 7\nnothing to do\n");
}

#[test]
fn what_was_done_is_told_to_programs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("keys"), KEY1).unwrap();
    let arguments = ["--database", "sqlite:g.db", "--credentials-key-file", "keys", "-o", "json"];
    let made: serde_json::Value = serde_json::from_slice(&migrate(folder.path(), &arguments).stdout).unwrap();
    assert_eq!(made["found"], serde_json::json!({ "what": "nothing", "version": null }));
    assert_eq!((&made["steps"][1]["version"], &made["done"]), (&2.into(), &true.into()));
}

#[test]
fn what_is_missing_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let none = migrate(folder.path(), &["--plaintext-credentials"]);
    assert_eq!(none.status.code(), Some(1));
    assert_eq!(
        said(&none),
        "error: could not tell which database is meant\nhint: give --database postgres://… or --database sqlite:FILE\n"
    );
    let unsealed = migrate(folder.path(), &["--database", "sqlite:g.db"]);
    assert!(said(&unsealed).contains("hint: give --credentials-key-file a file"), "{}", said(&unsealed));
    let odd = migrate(folder.path(), &["--database", "mysql://x", "--plaintext-credentials"]);
    assert!(said(&odd).contains("neither with `postgres://` nor with `sqlite:`"), "{}", said(&odd));
    std::fs::write(folder.path().join("keys"), "topsecret\n").unwrap();
    let bad = migrate(folder.path(), &["--database", "sqlite:g.db", "--credentials-key-file", "keys"]);
    assert!(said(&bad).contains("openssl rand -base64 32") && !said(&bad).contains("topsecret"), "{}", said(&bad));
    let lost = migrate(folder.path(), &["--database", "sqlite:no/such/g.db", "--plaintext-credentials"]);
    assert!(said(&lost).contains("hint: check the file's path"), "{}", said(&lost));
}

#[test]
fn a_server_that_is_not_there_is_told_without_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("postgres://me:hunter2@{closed}/gitops");
    let output = migrate(folder.path(), &["--database", &url, "--plaintext-credentials"]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with(&format!("error: could not connect to PostgreSQL at {closed}\n")), "{said}");
    assert!(said.contains("hint: is the server running") && !said.contains("hunter2"), "{said}");
}
