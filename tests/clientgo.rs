//! Runs a client-go program (tests/clientgo) against the embedded server.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use switchboard_suite::embedded::SharedServer;
use switchboard_suite::real::workspace;

#[test]
fn client_go_program_passes() {
    let source = workspace().join("tests/clientgo");
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("clientgo");
    let built = Command::new("go")
        .args(["build", "-mod=readonly", "-buildvcs=false", "-o"])
        .arg(&program)
        .arg(".")
        .env("CGO_ENABLED", "0")
        .current_dir(source)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let served = SharedServer::start();
    let ran = Command::new(program).env("KUBECONFIG", served.kubeconfig()).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{out}{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(out.lines().count(), 10, "{out}");
}
