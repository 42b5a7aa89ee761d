//! Schemathesis reads the document and asks all it can think of: no answer is a fault of ours, none is outside the document.
//!
//! `tests/real/build` installs it; what it found and was mended is a case among the other tests.

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

use super::applications::by_hand;
use super::operations::instance;
use super::webhooks::{deployed, signed};
use crate::gitops::webhook::MAX_EVENT_BYTES;
use crate::limit::Rate;
use crate::testing::{HOOK_SECRET, Town};

/// How many cases are tried for each operation.
const EXAMPLES: &str = "60";

/// What JSON Schema cannot say is refused with 422, so that not all that fits the schema is accepted.
const EXCLUDED: &str = "positive_data_acceptance";

fn fuzzer() -> PathBuf {
    let folder =
        std::env::var_os("SWITCHBOARD_REAL_BIN").expect("SWITCHBOARD_REAL_BIN is what tests/real/build prints");
    PathBuf::from(folder).join("schemathesis")
}

async fn run(address: SocketAddr, token: String, more: &'static [&'static str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(fuzzer());
    command.arg("run").arg(format!("http://{address}/api/v1/openapi.json")).current_dir(folder.path());
    command.args(["--checks", "all", "--exclude-checks", EXCLUDED, "--max-examples", EXAMPLES, "--seed", "1"]);
    command.args(["--continue-on-failure", "--warnings", "off", "--suppress-health-check", "all"]).args(more);
    command.arg("--header").arg(format!("Authorization: Bearer {token}")).env("NO_COLOR", "1");
    tokio::task::spawn_blocking(move || command.output().expect("schemathesis is there: tests/real/build"))
        .await
        .unwrap()
}

/// Serves a router until the test ends, and says where.
async fn serve(router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>()).await.unwrap();
    });
    address
}

fn faultless(output: &Output) {
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    println!("{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fuzzer_finds_no_fault_and_no_answer_outside_the_document() {
    let town = Town::build().await;
    let owner = town.asker("shop", "ci").await;
    owner.post("/api/v1/application", &by_hand()).await;
    owner.post("/api/v1/operation", &json!({ "application": "shop.web" })).await;
    let address = serve(town.router(Rate { per_s: 1e6, burst: 1e6 })).await;
    // As somebody who may everything, so that requests get far, and as a tenant, who may little.
    for (namespace, name) in [("ops", "admin"), ("shop", "ci")] {
        faultless(&run(address, town.token(namespace, name).await, &[]).await);
    }
}

/// Signs whatever comes, as the git server does that a fuzzer is not.
async fn signing(State(believed): State<Arc<AtomicUsize>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_EVENT_BYTES).await.unwrap_or_default();
    let signature = signed(HOOK_SECRET, &body);
    parts.headers.insert("x-switchboard-signature-256", signature.parse().unwrap());
    let answer = next.run(Request::from_parts(parts, Body::from(body))).await;
    believed.fetch_add(usize::from(answer.status() == StatusCode::ACCEPTED), Ordering::Relaxed);
    answer
}

/// An event that is not signed is refused before it is read: what is behind that is seen by one that is.
#[tokio::test(flavor = "multi_thread")]
async fn a_fuzzer_whose_events_are_believed_finds_nothing_either() {
    let town = Town::build().await;
    town.ledger.commit(&instance("i-1")).await.unwrap();
    deployed(&town, "shop").await;
    let own = json!({
        "metadata": { "name": "gitops-webhook" }, "type": "managed-gitops.redhat.com/webhook", "stringData": { "secret": HOOK_SECRET },
    });
    town.post("/api/v1/namespaces/shop/secrets", own).await;
    let believed = Arc::new(AtomicUsize::new(0));
    let router = town.router(Rate { per_s: 1e6, burst: 1e6 });
    let address = serve(router.layer(axum::middleware::from_fn_with_state(believed.clone(), signing))).await;
    let only = &["--include-operation-id", "receiveWebhookEvent"];
    faultless(&run(address, String::new(), only).await);
    assert!(believed.load(Ordering::Relaxed) > 10, "events were believed: {believed:?}");
}
