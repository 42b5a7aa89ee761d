//! Schemathesis reads the document and asks all it can think of: no answer is a fault of ours, none is outside the document.
//!
//! `real/build` installs it; what it found and was mended is a case among the other tests.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::limit::Rate;
use crate::testing::Town;
use serde_json::json;

use super::applications::web;

/// How many cases are tried for each operation.
const EXAMPLES: &str = "60";

/// What JSON Schema cannot say is refused with 422, so that not all that fits the schema is accepted.
const EXCLUDED: &str = "positive_data_acceptance";

fn fuzzer() -> PathBuf {
    let folder = std::env::var_os("SWITCHBOARD_REAL_BIN").expect("SWITCHBOARD_REAL_BIN is what real/build prints");
    PathBuf::from(folder).join("schemathesis")
}

async fn run(address: SocketAddr, token: String, more: &'static [&'static str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(fuzzer());
    command.arg("run").arg(format!("http://{address}/api/v1/openapi.json")).current_dir(folder.path());
    command.args(["--checks", "all", "--exclude-checks", EXCLUDED, "--max-examples", EXAMPLES, "--seed", "1"]);
    command.args(["--continue-on-failure", "--warnings", "off", "--suppress-health-check", "all"]).args(more);
    command.arg("--header").arg(format!("Authorization: Bearer {token}")).env("NO_COLOR", "1");
    tokio::task::spawn_blocking(move || command.output().expect("schemathesis is there: real/build")).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fuzzer_finds_no_fault_and_no_answer_outside_the_document() {
    let town = Town::build().await;
    let owner = town.asker("shop", "ci").await;
    owner.post("/api/v1/application", &web()).await;
    owner.post("/api/v1/operation", &json!({ "application": "shop.web" })).await;
    let router = town.router(Rate { per_s: 1e6, burst: 1e6 });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await.unwrap();
    });
    // As somebody who may everything, so that requests get far, and as a tenant, who may little.
    for (namespace, name) in [("ops", "admin"), ("shop", "ci")] {
        let output = run(address, town.token(namespace, name).await, &[]).await;
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
        println!("{told}");
    }
    serving.abort();
}
