#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_greeter::Greeter;
use switchboard_kernel::host::{Handle, Host};
use switchboard_kernel::journal::{Bounds, Journal};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::place::{ClusterName, Topology};
use tower::ServiceExt;

use super::*;

const CANARY: &str = "canary-55e1a0-value";
const PATIENCE: Duration = Duration::from_secs(30);

/// A kernel at work on a cluster of its own, and the console over it.
struct Town {
    client: kube::Client,
    handle: Handle,
    router: Router,
}

impl Town {
    async fn build() -> Self {
        let cluster = Cluster::ephemeral().await;
        let (client, name) = (cluster.client(), ClusterName::new("main"));
        let settings = switchboard_kernel::host::Settings {
            clusters: BTreeMap::from([(name.clone(), client.clone())]),
            topology: Topology::standalone(&name),
            global: GlobalLimits { requests_per_second: 1000, ..GlobalLimits::default() },
            journal: Journal::in_memory(Bounds::default()),
            dry_run: false,
        };
        let limits = Limits { debounce: Duration::ZERO, cool_down: Duration::from_millis(5), ..Limits::default() };
        let (host, handle) = Host::new(settings, vec![(Arc::new(Greeter), limits)]);
        tokio::spawn(host.run());
        let hosts = Hosts::new("127.0.0.1:7467".parse().unwrap(), Vec::new());
        let source = Source::new(handle.clone(), name);
        let app = App { source, hosts, listeners: Arc::new(Semaphore::new(2)) };
        let town = Self { client, handle, router: routes::router(Arc::new(app)) };
        town.put("configmaps", json!({"metadata": {"name": "ada", "labels": {"greeter.example.com/greet": "yes"}}, "data": {"name": "Ada"}})).await;
        town.put("configmaps", json!({"metadata": {"name": "greeting"}, "data": {"words": "Good day"}})).await;
        town.until(|state| state.operators.iter().any(|operator| operator.writes > 0)).await;
        town
    }

    async fn put(&self, plural: &str, object: Value) {
        let request =
            Request::post(format!("/api/v1/namespaces/default/{plural}")).header("Content-Type", "application/json");
        self.client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap();
    }

    async fn until(&self, so: impl Fn(&switchboard_kernel::state::State) -> bool) {
        let waited = tokio::time::timeout(PATIENCE, async {
            while !so(&self.handle.state().await.unwrap()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        waited.await.unwrap();
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let request = Request::get(path).header("Host", "localhost:7467").body(Body::empty()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    async fn page(&self, path: &str) -> String {
        let (status, text) = self.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        text
    }
}

const OBJECT: &str = "/objects/main/configmaps/default/ada-greeting";

#[tokio::test]
async fn pages_show_what_the_kernel_did_and_why() {
    let town = Town::build().await;
    let overview = town.page("/").await;
    assert!(overview.contains("greeter") && overview.contains("Ready"), "{overview}");
    let operator = town.page("/operators/greeter").await;
    assert!(operator.contains("default/ada") && operator.contains("1 write"), "{operator}");
    let object = town.page(OBJECT).await;
    for told in ["was last written by greeter default/ada", "Good day, Ada!", "decided from", "Apply", "/decisions/"] {
        assert!(object.contains(told), "{told} is not on {object}");
    }
    // The newest decision on it may have changed nothing; the one that did is what `why` names.
    let id: String = object.split(", decision ").nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
    let decision = town.page(&format!("/decisions/{id}")).await;
    assert!(decision.contains("<strong>apply</strong>") && decision.contains("<div class=\"add\">+"), "{decision}");
    let found = town.page("/search?q=ada+greet").await;
    assert!(found.contains(OBJECT), "{found}");
    assert!(town.page("/objects").await.contains("deployments.apps"));
    assert!(town.page("/objects?cluster=main&kind=configmaps").await.contains("ada-greeting"));
}

#[tokio::test]
async fn the_api_gives_out_the_same_as_data() {
    let town = Town::build().await;
    let json = async |path: &str| serde_json::from_str::<Value>(&town.page(path).await).unwrap();
    assert_eq!(json("/api/v1/operators").await[0]["name"], "greeter");
    assert_eq!(json("/api/v1/state").await["clusters"][0]["name"], "main");
    let object = json(&format!("/api/v1{OBJECT}")).await;
    assert!(object["why"].as_str().unwrap().contains("greeter default/ada"), "{object}");
    let why = json("/api/v1/why/main/configmaps/default/ada-greeting").await;
    assert_eq!(why["written"]["operator"], "greeter", "{why}");
    let id = why["written"]["decision"].as_u64().unwrap();
    let decision = json(&format!("/api/v1/decisions/{id}")).await;
    assert!(
        decision["writes"][0]["diff"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().starts_with('+'))
    );
    let (status, text) = town.get("/api/v1/operators/nobody").await;
    let problem: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, problem["status"].as_u64()), (StatusCode::NOT_FOUND, Some(404)));
    assert!(problem["detail"].as_str().unwrap().contains("there are: greeter"), "{problem}");
}

#[tokio::test]
async fn planted_secrets_are_on_no_page() {
    let town = Town::build().await;
    town.put("secrets", json!({"metadata": {"name": "planted"}, "stringData": {"password": CANARY}})).await;
    let url = format!("postgres://shop:{CANARY}@db/orders");
    town.put(
        "configmaps",
        json!({"metadata": {"name": "copies", "annotations": {"token": CANARY}},
        "data": {"url": url, "ini": format!("user=a\npassword={CANARY}\n")}}),
    )
    .await;
    let pod = json!({"metadata": {"name": "leaky"}, "spec": {"containers": [{"name": "a", "image": "a",
        "env": [{"name": "DB_PASSWORD", "value": CANARY}], "args": [format!("--token={CANARY}")]}]}});
    town.put("pods", pod).await;
    for path in ["secrets/default/planted", "configmaps/default/copies", "pods/default/leaky"] {
        for page in [format!("/objects/main/{path}"), format!("/api/v1/objects/main/{path}")] {
            let text = town.page(&page).await;
            assert!(!text.contains(CANARY), "{page} shows it");
            assert!(
                text.contains("&lt;hidden&gt;") || text.contains("<hidden>"),
                "{page} says that something is hidden"
            );
        }
    }
    for page in ["/", "/objects?cluster=main&kind=secrets", "/objects?cluster=main&kind=pods", "/search?q=planted"] {
        assert!(!town.page(page).await.contains(CANARY), "{page} shows it");
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_with_a_hint() {
    let town = Town::build().await;
    for (path, status) in [
        ("/nowhere", StatusCode::NOT_FOUND),
        ("/operators/nobody", StatusCode::NOT_FOUND),
        ("/decisions/999999", StatusCode::NOT_FOUND),
        ("/decisions/one", StatusCode::BAD_REQUEST),
        ("/objects/elsewhere/configmaps/default/a", StatusCode::NOT_FOUND),
        ("/objects/main/nonsenses/default/a", StatusCode::NOT_FOUND),
        ("/help/NONE", StatusCode::NOT_FOUND),
    ] {
        let (given, text) = town.get(path).await;
        assert_eq!(given, status, "{path}");
        assert!(text.contains("hint: "), "{path}: {text}");
    }
    assert!(town.page("/objects/main/configmaps/default/none").await.contains("not there now"));
}

#[tokio::test]
async fn requests_for_other_names_are_refused_and_browsers_are_told_their_limits() {
    let town = Town::build().await;
    let ask = async |host: &str| {
        let request = Request::get("/").header("Host", host).body(Body::empty()).unwrap();
        town.router.clone().oneshot(request).await.unwrap()
    };
    assert_eq!(ask("rebound.example:7467").await.status(), StatusCode::FORBIDDEN);
    let response = ask("127.0.0.1:7467").await;
    assert_eq!(response.status(), StatusCode::OK);
    let policy = response.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(response.headers()["cache-control"], "no-store");
}

#[tokio::test]
async fn pages_that_listen_are_told_of_changes_and_their_number_is_bounded() {
    let town = Town::build().await;
    let listen = async || {
        let request = Request::get("/events").header("Host", "localhost:7467").body(Body::empty()).unwrap();
        town.router.clone().oneshot(request).await.unwrap()
    };
    let mut first = listen().await.into_body();
    let next = async |body: &mut Body| {
        let frame = tokio::time::timeout(PATIENCE, body.frame()).await.unwrap().unwrap().unwrap();
        String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
    };
    let before = next(&mut first).await;
    assert!(before.starts_with("event: pulse\ndata: {"), "{before}");
    town.put(
        "configmaps",
        json!({"metadata": {"name": "bob", "labels": {"greeter.example.com/greet": "yes"}}, "data": {"name": "Bob"}}),
    )
    .await;
    let version = |text: &str| text.split("\"version\":\"").nth(1).unwrap().split('"').next().unwrap().to_string();
    tokio::time::timeout(PATIENCE, async { while version(&next(&mut first).await) == version(&before) {} })
        .await
        .unwrap();
    let _second = listen().await;
    assert_eq!(listen().await.status(), StatusCode::SERVICE_UNAVAILABLE);
}
