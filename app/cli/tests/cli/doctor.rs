//! `doctor` with hosted services: GitOps Service, integrations and engine.

use std::fs;

use crate::cli_output::{doctor, line, printed};
use crate::process::switchboard;
use crate::up_process::{NOBODY, UpProcess};

#[tokio::test]
async fn what_the_gitops_service_needs_is_looked_at() {
    let board = UpProcess::up(NOBODY);
    let (code, report) = doctor(&board, "operators: {engine: {}}\ngitops: {}\n", &[]);
    assert_eq!(code, Some(0), "{report}");
    assert!(line(&report, "database").contains("gitops.db is not there yet; the backend makes"), "{report}");
    assert!(line(&report, "gitops credentials").starts_with("ok "), "{report}");
    for operator in ["gitops-", "engine"] {
        assert!(line(&report, &format!("operator {operator}")).contains("may read and write"), "{report}");
    }
    assert!(!board.file("elsewhere").exists(), "looking makes nothing");

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let wrong = format!(
        "operators: {{}}\ngitops:\n  database: postgres://me:word@{closed}/gitops\n  credentialsKeyFile: nowhere\n  webhookSecretFile: empty\n"
    );
    fs::write(board.file("empty"), "").unwrap();
    let (code, report) = doctor(&board, &wrong, &[]);
    assert_eq!(code, Some(1), "{report}");
    assert!(line(&report, "database").starts_with("wrong "), "{report}");
    assert!(line(&report, "gitops credentials").contains("could not read keys from"), "{report}");
    assert!(line(&report, "gitops webhooks").contains("is empty"), "{report}");
    assert!(!report.contains("word"), "{report}");
    let (_, report) = doctor(&board, "operators: {}\ngitops: {database: 'sqlite:there.db'}\n", &[]);
    assert!(line(&report, "gitops credentials").contains("how credentials are to be kept"), "{report}");
}

#[tokio::test]
async fn what_integrations_are_read_from_is_looked_at() {
    let board = UpProcess::up(NOBODY);
    let (code, report) = doctor(&board, "operators: {}\nintegrations: {source: nowhere}\n", &[]);
    assert_eq!(code, Some(1), "{report}");
    assert!(line(&report, "integrations").starts_with("wrong "), "{report}");
    fs::create_dir(board.file("data")).unwrap();
    let (_, report) = doctor(&board, "operators: {}\nintegrations: {source: data}\n", &[]);
    assert!(line(&report, "integrations").contains("the source holds no file of "), "{report}");
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/integrations/data");
    let (_, report) = doctor(&board, &format!("operators: {{}}\nintegrations: {{source: {data}}}\n"), &[]);
    assert!(line(&report, "integrations").contains("nothing says how cluster edge-01 is reached"), "{report}");
    assert!(report.contains(" objects wanted by bundle "), "{report}");
}

#[tokio::test]
async fn a_kernel_that_runs_is_seen_by_a_relative_path_as_well() {
    let board = UpProcess::up("listen: 127.0.0.1:0\noperators: {greeter: {}}\n");
    let config = board.outside("operators: {greeter: {}}\n");
    for (folder, state) in [(board.folder.path().to_path_buf(), "state"), (board.file("state"), ".")] {
        let mut command = switchboard(&["doctor", "--state-dir", state, "--config"]);
        let report = printed(&command.arg(&config).current_dir(folder).output().unwrap());
        assert!(line(&report, "kernel").contains("runs and hosts 1 operators"), "{state}: {report}");
        assert!(!report.contains("which will be made"), "{report}");
    }
}
