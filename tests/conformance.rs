//! The real kube-apiserver is the oracle: every case of tests/conformance is answered as it answered.
//!
//! `CASE=<part of a path>` selects cases. With the feature `real`, `UPDATE=1` rewrites the recorded answers.
#![allow(clippy::unwrap_used)]

#[cfg(feature = "real")]
mod against_the_real_one {
    use switchboard_suite::{real::Real, suite, target::Target};

    #[tokio::test(flavor = "multi_thread")]
    async fn real_server_answers_as_recorded() {
        let real = Real::start().unwrap();
        let target = Target::open(&real.kubeconfig()).await.unwrap();
        let filter = std::env::var("CASE").unwrap_or_default();
        let update = std::env::var_os("UPDATE").is_some();
        let outcomes = suite::run_all(&target, &filter).await.unwrap();
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
