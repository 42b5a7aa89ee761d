//! Conformance tests with kube-apiserver as the reference: the embedded server gives the recorded answers of every case
//! in tests/conformance.
//!
//! `CASE=<part of a path>` selects cases, and `REPORT=<file>` writes the differences to a file. With the feature
//! `real`, `UPDATE=1` rewrites the recorded answers.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fmt::Write;

use switchboard_suite::embedded::EmbeddedServer;
use switchboard_suite::{case, real, runner};

#[tokio::test(flavor = "multi_thread")]
async fn embedded_server_answers_as_recorded() {
    let server = EmbeddedServer::start().await;
    let target = server.target().await;
    let filter = std::env::var("CASE").unwrap_or_default();
    let outcomes = runner::run_all(&target, &filter).await.unwrap();
    let failures: Vec<String> = outcomes
        .iter()
        .map(|outcome| (outcome, outcome.failures(true)))
        .filter(|(_, text)| !text.is_empty())
        .map(|(outcome, text)| format!("{}: {}\n{text}\n", outcome.name(), outcome.case.title))
        .collect();
    if let Some(path) = std::env::var_os("REPORT") {
        let mut page = format!("# {} of {} cases fail\n\n", failures.len(), outcomes.len());
        failures.iter().for_each(|text| writeln!(page, "{text}").unwrap());
        std::fs::write(path, page).unwrap();
    }
    assert!(failures.is_empty(), "{} of {} cases fail:\n{}", failures.len(), outcomes.len(), failures.concat());
}

#[test]
fn differences_are_listed_and_each_is_shown_by_a_case() {
    let page = std::fs::read_to_string(real::workspace().join("docs/DIFFERENCES.md")).unwrap();
    let listed: BTreeSet<String> =
        page.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`')).map(str::to_string).collect();
    let cases = case::read_all(&runner::root()).unwrap();
    let used: BTreeSet<String> =
        cases.iter().flat_map(|(_, case)| &case.steps).flat_map(|step| step.differs.keys().cloned()).collect();
    assert_eq!(listed, used, "left: docs/DIFFERENCES.md, right: tests/conformance");
}

#[cfg(feature = "real")]
mod real_cluster {
    use switchboard_suite::{real::RealCluster, runner, target::TestTarget};

    #[tokio::test(flavor = "multi_thread")]
    async fn real_server_answers_as_recorded() {
        let real = RealCluster::start().unwrap();
        let target = TestTarget::open(&real.kubeconfig()).await.unwrap();
        let filter = std::env::var("CASE").unwrap_or_default();
        let update = std::env::var_os("UPDATE").is_some();
        let outcomes = runner::run_all(&target, &filter).await.unwrap();
        let mut failed = 0;
        for outcome in &outcomes {
            if update && outcome.error.is_none() {
                outcome.record().unwrap();
                continue;
            }
            let text = outcome.failures(false);
            if !text.is_empty() {
                failed += 1;
                eprintln!("{}: {}\n{text}", outcome.name(), outcome.case.title);
            }
        }
        assert_eq!(failed, 0, "of {} cases", outcomes.len());
    }
}
