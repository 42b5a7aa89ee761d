//! Runs Schemathesis on the document: no response is a server error, and none is outside the document.
//!
//! `tests/real/build` installs Schemathesis; its findings that were fixed are cases among the other tests. 1a84a Number
//! of cases for each operation.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use switchboard_http::limit::Rate;

use super::applications::manual_application;
use super::operations::instance;
use super::webhooks::{deployed, signed};
use crate::rest::tests::testing::{TestCluster, WEBHOOK_SECRET};
use crate::rest::webhook::MAX_EVENT_BYTES;

/// Number of cases for each operation.
const EXAMPLES: &str = "60";

/// Excluded check: rules that JSON Schema cannot express are rejected with 422, so some requests that match the schema
/// are rejected.
const EXCLUDED: &str = "positive_data_acceptance";

fn fuzzer() -> PathBuf {
    let folder =
        std::env::var_os("SWITCHBOARD_REAL_BIN").expect("set SWITCHBOARD_REAL_BIN to the output of tests/real/build");
    PathBuf::from(folder).join("schemathesis")
}

async fn run(address: SocketAddr, token: String, more: &'static [&'static str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(fuzzer());
    command.arg("run").arg(format!("http://{address}/api/v1/openapi.json")).current_dir(folder.path());
    command.args(["--checks", "all", "--exclude-checks", EXCLUDED, "--max-examples", EXAMPLES, "--seed", "1"]);
    command.args(["--continue-on-failure", "--warnings", "off", "--suppress-health-check", "all"]).args(more);
    command.arg("--header").arg(format!("Authorization: Bearer {token}")).env("NO_COLOR", "1");
    tokio::task::spawn_blocking(move || command.output().expect("schemathesis is installed by tests/real/build"))
        .await
        .unwrap()
}

/// Serves a router until the test ends and returns its address.
async fn serve(router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await.unwrap();
    });
    address
}

fn assert_success(output: &Output) {
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    println!("{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fuzzer_finds_no_server_error_and_no_undocumented_response() {
    let cluster_fixture = TestCluster::build().await;
    let owner = cluster_fixture.api_client("shop", "ci").await;
    owner.post("/api/v1/application", &manual_application()).await;
    owner.post("/api/v1/operation", &json!({ "application": "shop.web" })).await;
    let address = serve(cluster_fixture.router(Rate { per_s: 1e6, burst: 1e6 })).await;
    // An administrator, so that requests pass authorization, and a tenant with few rights.
    for (namespace, name) in [("ops", "admin"), ("shop", "ci")] {
        assert_success(&run(address, cluster_fixture.token(namespace, name).await, &[]).await);
    }
}

/// Signs every request, as a git server does and a fuzzer does not.
async fn sign_request(State(accepted): State<Arc<AtomicUsize>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_EVENT_BYTES).await.unwrap_or_default();
    let signature = signed(WEBHOOK_SECRET, &body);
    parts.headers.insert("x-switchboard-signature-256", signature.parse().unwrap());
    let answer = next.run(Request::from_parts(parts, Body::from(body))).await;
    accepted.fetch_add(usize::from(answer.status() == StatusCode::ACCEPTED), Ordering::Relaxed);
    answer
}

/// The API rejects an unsigned event before reading it, so the fuzzer tests event handling with signed events.
#[tokio::test(flavor = "multi_thread")]
async fn a_fuzzer_with_signed_events_finds_no_server_error() {
    let cluster_fixture = TestCluster::build().await;
    cluster_fixture.ledger.commit(&instance("i-1")).await.unwrap();
    deployed(&cluster_fixture, "shop").await;
    let own = json!({
        "metadata": { "name": "gitops-webhook" }, "type": "managed-gitops.redhat.com/webhook", "stringData": { "secret": WEBHOOK_SECRET },
    });
    cluster_fixture.post("/api/v1/namespaces/shop/secrets", own).await;
    let accepted = Arc::new(AtomicUsize::new(0));
    let router = cluster_fixture.router(Rate { per_s: 1e6, burst: 1e6 });
    let address = serve(router.layer(axum::middleware::from_fn_with_state(accepted.clone(), sign_request))).await;
    let only = &["--include-operation-id", "receiveWebhookEvent"];
    assert_success(&run(address, String::new(), only).await);
    assert!(accepted.load(Ordering::Relaxed) > 10, "accepted events: {accepted:?}");
}
