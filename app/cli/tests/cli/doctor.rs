//! `doctor` with hosted services: GitOps Service, integrations and engine.

use std::fs;

use crate::cli_output::{doctor, line, printed};
use crate::process::switchboard;
use crate::up_process::{NO_OPERATORS, UpProcess};

#[tokio::test]
async fn doctor_checks_the_gitops_service() {
    let running = UpProcess::up(NO_OPERATORS);
    let (code, report) = doctor(&running, "operators: {engine: {}}\ngitops: {}\n", &[]);
    assert_eq!(code, Some(0), "{report}");
    assert!(
        line(&report, "database").contains("gitops.db does not exist yet; the backend migrates it at startup"),
        "{report}"
    );
    assert!(line(&report, "gitops credentials").starts_with("ok "), "{report}");
    for operator in ["gitops-", "engine"] {
        assert!(line(&report, &format!("operator {operator}")).contains("may read and write"), "{report}");
    }
    assert!(!running.file("elsewhere").exists(), "looking makes nothing");

    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let wrong = format!(
        "operators: {{}}\ngitops:\n  database: postgres://me:word@{closed}/gitops\n  credentialsKeyFile: nowhere\n  webhookSecretFile: empty\n"
    );
    fs::write(running.file("empty"), "").unwrap();
    let (code, report) = doctor(&running, &wrong, &[]);
    assert_eq!(code, Some(1), "{report}");
    assert!(line(&report, "database").starts_with("error "), "{report}");
    assert!(line(&report, "gitops credentials").contains("could not read keys from"), "{report}");
    assert!(line(&report, "gitops webhooks").contains("is empty"), "{report}");
    assert!(!report.contains("word"), "{report}");
    let (_, report) = doctor(&running, "operators: {}\ngitops: {database: 'sqlite:there.db'}\n", &[]);
    assert!(line(&report, "gitops credentials").contains("no encryption of credentials is configured"), "{report}");
}

#[tokio::test]
async fn doctor_checks_the_source_of_integrations() {
    let running = UpProcess::up(NO_OPERATORS);
    let (code, report) = doctor(&running, "operators: {}\nintegrations: {source: nowhere}\n", &[]);
    assert_eq!(code, Some(1), "{report}");
    assert!(line(&report, "integrations").starts_with("error "), "{report}");
    fs::create_dir(running.file("data")).unwrap();
    let (_, report) = doctor(&running, "operators: {}\nintegrations: {source: data}\n", &[]);
    assert!(line(&report, "integrations").contains("the source has no file of schema "), "{report}");
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/integrations/data");
    let (_, report) = doctor(&running, &format!("operators: {{}}\nintegrations: {{source: {data}}}\n"), &[]);
    assert!(line(&report, "integrations").contains("no access to cluster edge-01 is configured"), "{report}");
    assert!(report.contains(" desired objects in bundle "), "{report}");
}

#[tokio::test]
async fn running_kernel_is_found_by_a_relative_path() {
    let running = UpProcess::up("listen: 127.0.0.1:0\noperators: {greeter: {}}\n");
    let config = running.outside("operators: {greeter: {}}\n");
    for (folder, state) in [(running.folder.path().to_path_buf(), "state"), (running.file("state"), ".")] {
        let mut command = switchboard(&["doctor", "--state-dir", state, "--config"]);
        let report = printed(&command.arg(&config).current_dir(folder).output().unwrap());
        assert!(line(&report, "kernel").contains("running with 1 operators"), "{state}: {report}");
        assert!(!report.contains("will be created"), "{report}");
    }
}
