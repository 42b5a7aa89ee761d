#![allow(clippy::unwrap_used)]

mod live;
mod moves;
mod refusals;
mod resource_tree;

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
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::topology::{ClusterName, Topology};
use tower::ServiceExt;

use super::*;

const CANARY: &str = "canary-55e1a0-value";
const PATIENCE: Duration = Duration::from_secs(30);

/// Running kernel on an embedded cluster, with its console.
struct ConsoleFixture {
    client: kube::Client,
    handle: Handle,
    router: Router,
}

impl ConsoleFixture {
    async fn build() -> Self {
        Self::with_fleet(None).await
    }

    /// Builds the console with a fleet.
    async fn with_fleet(fleet: Option<Arc<dyn crate::fleet::FleetProvider>>) -> Self {
        let cluster = Cluster::ephemeral().await;
        let (client, name) = (cluster.client(), ClusterName::new("main"));
        let settings = switchboard_kernel::host::HostSettings {
            clusters: BTreeMap::from([(name.clone(), client.clone())]),
            topology: Topology::standalone(&name),
            global: GlobalLimits { requests_per_second: 1000, ..GlobalLimits::default() },
            journal: Journal::in_memory(JournalLimits::default()),
            dry_run: false,
        };
        let limits = Limits { debounce: Duration::ZERO, cool_down: Duration::from_millis(5), ..Limits::default() };
        let (host, handle) = Host::new(settings, vec![(Arc::new(Greeter), limits)]);
        tokio::spawn(host.run());
        let hosts = AllowedHosts::new("127.0.0.1:7467".parse().unwrap(), Vec::new());
        let source = ConsoleSource::new(handle.clone(), name).with_fleet(fleet);
        let sessions = Sessions::new(client.clone());
        let app = App { source, hosts, sessions, listeners: Arc::new(Semaphore::new(2)) };
        let console = Self { client, handle, router: routes::router(Arc::new(app), Vec::new()) };
        console.put("configmaps", json!({"metadata": {"name": "ada", "labels": {"greeter.example.com/greet": "yes"}}, "data": {"name": "Ada"}})).await;
        console.put("configmaps", json!({"metadata": {"name": "greeting"}, "data": {"words": "Good day"}})).await;
        console.until(|state| state.operators.iter().any(|operator| operator.writes > 0)).await;
        console
    }

    /// Returns the same console on an address that other machines can reach.
    fn opened(&self, beside: Vec<ApiSection>) -> Self {
        let hosts = AllowedHosts::new("0.0.0.0:7467".parse().unwrap(), Vec::new());
        let source = ConsoleSource::new(self.handle.clone(), ClusterName::new("main"));
        let app =
            App { source, hosts, sessions: Sessions::new(self.client.clone()), listeners: Arc::new(Semaphore::new(2)) };
        Self { router: routes::router(Arc::new(app), beside), client: self.client.clone(), handle: self.handle.clone() }
    }

    async fn put(&self, plural: &str, object: Value) {
        let request =
            Request::post(format!("/api/v1/namespaces/default/{plural}")).header("Content-Type", "application/json");
        self.client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap();
    }

    async fn until(&self, so: impl Fn(&switchboard_kernel::state::KernelState) -> bool) {
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
    let console = ConsoleFixture::build().await;
    let overview = console.page("/").await;
    assert!(overview.contains("greeter") && overview.contains("Ready"), "{overview}");
    let operator = console.page("/operators/greeter").await;
    assert!(operator.contains("default/ada") && operator.contains("1 write"), "{operator}");
    let object = console.page(OBJECT).await;
    for printed in ["was last written by greeter default/ada", "Good day, Ada!", "decided from", "Apply", "/decisions/"]
    {
        assert!(object.contains(printed), "{printed} is not on {object}");
    }
    // The newest decision may have changed nothing; `why` names the one that did.
    let id: String = object.split(", decision ").nth(1).unwrap().chars().take_while(char::is_ascii_digit).collect();
    let decision = console.page(&format!("/decisions/{id}")).await;
    assert!(decision.contains("<strong>apply</strong>") && decision.contains("<div class=\"add\">+"), "{decision}");
    let found = console.page("/search?q=ada+greet").await;
    assert!(found.contains(OBJECT), "{found}");
    assert!(console.page("/objects").await.contains("deployments.apps"));
    assert!(console.page("/objects?cluster=main&kind=configmaps").await.contains("ada-greeting"));
}

#[tokio::test]
async fn api_returns_the_same_data() {
    let console = ConsoleFixture::build().await;
    let json = async |path: &str| serde_json::from_str::<Value>(&console.page(path).await).unwrap();
    assert_eq!(json("/api/v1/operators").await[0]["name"], "greeter");
    assert_eq!(json("/api/v1/state").await["clusters"][0]["name"], "main");
    let object = json(&format!("/api/v1{OBJECT}")).await;
    assert!(object["why"].as_str().unwrap().contains("greeter default/ada"), "{object}");
    let why = json("/api/v1/why/main/configmaps/default/ada-greeting").await;
    assert_eq!(why["lastWrite"]["operator"], "greeter", "{why}");
    let id = why["lastWrite"]["decision"].as_u64().unwrap();
    let decision = json(&format!("/api/v1/decisions/{id}")).await;
    assert!(
        decision["writes"][0]["diff"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().starts_with('+'))
    );
    let (status, text) = console.get("/api/v1/operators/stranger").await;
    let problem: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, problem["status"].as_u64()), (StatusCode::NOT_FOUND, Some(404)));
    assert!(problem["detail"].as_str().unwrap().contains("operators: greeter"), "{problem}");
}

#[tokio::test]
async fn planted_secrets_are_on_no_page() {
    let console = ConsoleFixture::build().await;
    console.put("secrets", json!({"metadata": {"name": "planted"}, "stringData": {"password": CANARY}})).await;
    let url = format!("postgres://shop:{CANARY}@db/orders");
    console
        .put(
            "configmaps",
            json!({"metadata": {"name": "copies", "annotations": {"token": CANARY}},
        "data": {"url": url, "ini": format!("user=a\npassword={CANARY}\n")}}),
        )
        .await;
    let pod = json!({"metadata": {"name": "leaky"}, "spec": {"containers": [{"name": "a", "image": "a",
        "env": [{"name": "DB_PASSWORD", "value": CANARY}], "args": [format!("--token={CANARY}")]}]}});
    console.put("pods", pod).await;
    for path in ["secrets/default/planted", "configmaps/default/copies", "pods/default/leaky"] {
        for page in [format!("/objects/main/{path}"), format!("/api/v1/objects/main/{path}")] {
            let text = console.page(&page).await;
            assert!(!text.contains(CANARY), "{page} shows it");
            assert!(
                text.contains("&lt;redacted&gt;") || text.contains("<redacted>"),
                "{page} says that something is hidden"
            );
        }
    }
    for page in ["/", "/objects?cluster=main&kind=secrets", "/objects?cluster=main&kind=pods", "/search?q=planted"] {
        assert!(!console.page(page).await.contains(CANARY), "{page} shows it");
    }
}

#[tokio::test]
async fn missing_resources_have_a_hint() {
    let console = ConsoleFixture::build().await;
    for (path, status) in [
        ("/nowhere", StatusCode::NOT_FOUND),
        ("/operators/stranger", StatusCode::NOT_FOUND),
        ("/decisions/999999", StatusCode::NOT_FOUND),
        ("/decisions/one", StatusCode::BAD_REQUEST),
        ("/objects/elsewhere/configmaps/default/a", StatusCode::NOT_FOUND),
        ("/objects/main/nonsenses/default/a", StatusCode::NOT_FOUND),
        ("/help/NONE", StatusCode::NOT_FOUND),
    ] {
        let (given, text) = console.get(path).await;
        assert_eq!(given, status, "{path}");
        assert!(text.contains("hint: "), "{path}: {text}");
    }
    assert!(console.page("/objects/main/configmaps/default/none").await.contains("does not exist now"));
}

#[tokio::test]
async fn requests_for_other_hosts_are_refused_and_security_headers_are_set() {
    let console = ConsoleFixture::build().await;
    let ask = async |host: &str| {
        let request = Request::get("/").header("Host", host).body(Body::empty()).unwrap();
        console.router.clone().oneshot(request).await.unwrap()
    };
    assert_eq!(ask("rebound.example:7467").await.status(), StatusCode::FORBIDDEN);
    let response = ask("127.0.0.1:7467").await;
    assert_eq!(response.status(), StatusCode::OK);
    let policy = response.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(response.headers()["cache-control"], "no-store");
}

#[tokio::test]
async fn live_pages_get_changes_and_are_bounded() {
    let console = ConsoleFixture::build().await;
    let listen = async || {
        let request = Request::get("/events").header("Host", "localhost:7467").body(Body::empty()).unwrap();
        console.router.clone().oneshot(request).await.unwrap()
    };
    let mut first = listen().await.into_body();
    let next = async |body: &mut Body| {
        let frame = tokio::time::timeout(PATIENCE, body.frame()).await.unwrap().unwrap().unwrap();
        String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
    };
    let before = next(&mut first).await;
    assert!(before.starts_with("event: pulse\ndata: {"), "{before}");
    console.put(
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

impl ConsoleFixture {
    async fn post(&self, path: &str, object: Value) -> Value {
        let request = Request::post(path).header("Content-Type", "application/json");
        self.client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap()
    }

    /// Creates a service account with verbs on operators and returns its token.
    async fn token(&self, name: &str, verbs: &[&str]) -> String {
        self.token_with(name, json!([{"apiGroups": ["switchboard.dev"], "resources": ["operators"], "verbs": verbs}]))
            .await
    }

    /// Creates a service account with rules and returns its token.
    async fn token_with(&self, name: &str, rules: Value) -> String {
        self.put("serviceaccounts", json!({"metadata": {"name": name}})).await;
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        self.post(&format!("{rbac}/clusterroles"), json!({"metadata": {"name": name}, "rules": rules})).await;
        let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": "default"}]);
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
        self.post(
            &format!("{rbac}/clusterrolebindings"),
            json!({"metadata": {"name": name}, "roleRef": role, "subjects": subjects}),
        )
        .await;
        let wish = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}});
        let made = self.post(&format!("/api/v1/namespaces/default/serviceaccounts/{name}/token"), wish).await;
        made["status"]["token"].as_str().unwrap().to_string()
    }

    async fn submit(&self, path: &str, cookie: &str, origin: &str, form: &str) -> http::Response<Body> {
        let request =
            Request::post(path).header("Host", "localhost:7467").header("Origin", origin).header("Cookie", cookie);
        let request =
            request.header("Content-Type", "application/x-www-form-urlencoded").body(Body::from(form.to_string()));
        self.router.clone().oneshot(request.unwrap()).await.unwrap()
    }

    /// Signs in and returns the cookie and the CSRF token.
    async fn sign_in(&self, token: &str) -> (String, String) {
        let response = self.submit("/signin", "", OWN, &format!("token={token}&back=%2Ffleet")).await;
        assert_eq!(
            (response.status(), &response.headers()["location"]),
            (StatusCode::SEE_OTHER, &"/fleet".parse().unwrap())
        );
        let cookie = response.headers()["set-cookie"].to_str().unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        assert!(!cookie.contains(token), "a token is no cookie");
        let cookie = cookie.split(';').next().unwrap().to_string();
        let page = self.with("/operators/greeter", &cookie).await;
        let csrf_token =
            page.split("name=\"csrf_token\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_string();
        (cookie, csrf_token)
    }

    async fn with(&self, path: &str, cookie: &str) -> String {
        let request =
            Request::get(path).header("Host", "localhost:7467").header("Cookie", cookie).body(Body::empty()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
    }

    async fn paused(&self) -> bool {
        let state = self.handle.state().await.unwrap();
        crate::load::overview::overview(&state, &[], &crate::redact::PageRedactor::default()).operators[0]
            .paused
            .is_some()
    }
}

const SIGN_IN: &str = "/signin?back=%2Foperators%2Fgreeter";
const OWN: &str = "http://localhost:7467";

#[tokio::test]
async fn actions_need_a_token_with_permission() {
    let console = ConsoleFixture::build().await;
    let (cookie, csrf_token) = console.sign_in(&console.token("pauser", &["pause"]).await).await;
    let done =
        console.submit("/actions/pause", &cookie, OWN, &format!("csrf_token={csrf_token}&operator=greeter")).await;
    assert_eq!(done.status(), StatusCode::SEE_OTHER);
    assert!(console.paused().await);
    let page = console.with("/operators/greeter", &cookie).await;
    assert!(page.contains("paused by ") && page.contains("switchboard resume greeter"), "{page}");
    assert!(page.contains("system:serviceaccount:default:pauser"), "it says who is signed in");
    // Another action needs another permission.
    console.submit("/actions/reconcile", &cookie, OWN, &format!("csrf_token={csrf_token}&operator=greeter")).await;
    assert!(
        console
            .with("/operators/greeter", &cookie)
            .await
            .contains("is not allowed to reconcile operators.switchboard.dev")
    );
    console.submit("/actions/resume", &cookie, OWN, &format!("csrf_token={csrf_token}&operator=greeter")).await;
    assert!(!console.paused().await);
    // A request without a session is redirected to the sign-in page.
    assert_eq!(console.submit("/actions/pause", "", OWN, "operator=greeter").await.headers()["location"], SIGN_IN);
    assert!(!console.paused().await);
}

#[tokio::test]
async fn forms_of_other_sites_are_refused() {
    let console = ConsoleFixture::build().await;
    let (cookie, csrf_token) = console.sign_in(&console.token("pauser", &["pause"]).await).await;
    for (origin, csrf_token) in [("http://evil.example", csrf_token.as_str()), (OWN, ""), (OWN, "guess")] {
        let refused = console
            .submit("/actions/pause", &cookie, origin, &format!("csrf_token={csrf_token}&operator=greeter"))
            .await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{origin} {csrf_token}");
    }
    assert!(!console.paused().await);
    console.submit("/signout", &cookie, OWN, &format!("csrf_token={csrf_token}")).await;
    let after =
        console.submit("/actions/pause", &cookie, OWN, &format!("csrf_token={csrf_token}&operator=greeter")).await;
    assert_eq!(after.headers()["location"], SIGN_IN, "the session has ended");
}

#[tokio::test]
async fn programs_act_with_a_token_and_never_with_a_cookie() {
    let console = ConsoleFixture::build().await;
    let token = console.token("reconciler", &["reconcile"]).await;
    let ask = async |authorization: Option<String>, cookie: &str| {
        let mut request = Request::post("/api/v1/actions/reconcile")
            .header("Host", "localhost:7467")
            .header("Content-Type", "application/json");
        if let Some(authorization) = authorization {
            request = request.header("Authorization", authorization);
        }
        let request =
            request.header("Cookie", cookie).body(Body::from(json!({"operator": "greeter"}).to_string())).unwrap();
        let response = console.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        (status, String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap())
    };
    let (status, text) = ask(Some(format!("Bearer {token}")), "").await;
    assert_eq!(status, StatusCode::OK, "{text}");
    assert!(text.contains("switchboard reconcile greeter"), "{text}");
    let (cookie, _) = console.sign_in(&token).await;
    assert_eq!(ask(None, &cookie).await.0, StatusCode::UNAUTHORIZED);
    let (status, text) = ask(Some("Bearer nonsense".to_string()), "").await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "an unknown user is not a user without permission");
    assert!(
        text.contains("urn:switchboard:problem:unauthenticated") && text.contains("the cluster rejected the token"),
        "{text}"
    );
    assert_eq!(ask(None, "").await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn document_lists_every_route() {
    let console = ConsoleFixture::build().await;
    let document: Value = serde_json::from_str(&console.page("/api/v1/openapi.json").await).unwrap();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 14, "{paths:?}");
    let filled = |path: &str| {
        path.replace("{cluster}", "main")
            .replace("{kind}", "configmaps")
            .replace("{namespace}", "default")
            .replace("{id}", "1")
    };
    for (path, operations) in paths.iter().filter(|(path, _)| !path.ends_with("/events")) {
        let name = if path.contains("/operators/") { "greeter" } else { "ada" };
        let query = if path.ends_with("/objects") { "?cluster=main&kind=configmaps" } else { "" };
        if operations.get("get").is_some() {
            console.page(&format!("{}{query}", filled(path).replace("{name}", name))).await;
        }
    }
}

#[tokio::test]
async fn reading_needs_a_token_if_other_machines_have_access() {
    let console = ConsoleFixture::build().await;
    let mut part = switchboard_http::openapi::OpenApiPart::default();
    part.paths.insert("/hooks/{name}".to_string(), json!({}));
    let hooks = Router::new().route("/hooks/{name}", axum::routing::get(async || "heard"));
    let open = console.opened(vec![ApiSection { router: hooks, document: part }]);
    assert_eq!(open.get("/").await.0, StatusCode::SEE_OTHER);
    assert_eq!(open.get("/api/v1/state").await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(open.get("/signin").await.0, StatusCode::OK);
    assert_eq!(open.get("/api/v1/hooks/git").await, (StatusCode::OK, "heard".to_string()), "it looks after itself");
    assert_eq!(open.get("/api/v1/hook").await.0, StatusCode::UNAUTHORIZED);
    let token = open.token("stranger", &["pause"]).await;
    let request = Request::get("/api/v1/state")
        .header("Host", "10.0.0.1:7467")
        .header("Authorization", format!("Bearer {token}"));
    let response = open.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::FORBIDDEN, "a token without the right is not enough");
}

#[tokio::test]
async fn console_reports_its_address() {
    let at = async |address: &str| {
        let settings = ConsoleSettings { address: Some(address.parse().unwrap()), hosts: Vec::new() };
        Console::bind(settings).await.unwrap().description()
    };
    let printed = at("127.0.0.1:0").await;
    assert!(printed.starts_with("http://127.0.0.1:") && printed.ends_with('/'), "{printed}");
    let printed = at("0.0.0.0:0").await;
    assert!(
        printed.contains(" of all addresses of this machine\nwarning: ") && printed.contains("\nhint: "),
        "{printed}"
    );
}

#[tokio::test]
async fn faulty_object_has_its_cause_in_the_first_five_lines() {
    let console = ConsoleFixture::build().await;
    let guest = |name: &str, data: Value| json!({"metadata": {"name": name, "labels": {"greeter.example.com/greet": "yes"}}, "data": data});
    console.put("configmaps", guest("nameless", json!({}))).await;
    console
        .until(|state| state.operators.iter().any(|o| o.units.iter().any(|unit| unit.unit.name() == "nameless")))
        .await;
    let lead = |page: &str| {
        let why = page.split("<div class=\"why mono\">").nth(1).unwrap().split("</div>").next().unwrap();
        why.lines().take(5).collect::<Vec<_>>().join("\n")
    };
    let waited = tokio::time::timeout(PATIENCE, async {
        while !lead(&console.page("/objects/main/configmaps/default/nameless").await)
            .contains("set data.name to the name to greet")
        {}
    });
    waited.await.unwrap();
    let path = "/api/v1/namespaces/default/configmaps/greeting";
    let gone = Request::delete(path).body(Vec::new()).unwrap();
    console.client.request::<Value>(gone).await.unwrap();
    console.until(|state| state.operators.iter().any(|o| o.units.iter().any(|unit| unit.unit.name() == "ada"))).await;
    for name in ["ada", "ada-greeting"] {
        // The state is cached for some hundred milliseconds.
        let waited = tokio::time::timeout(PATIENCE, async {
            while !lead(&console.page(&format!("/objects/main/configmaps/default/{name}")).await)
                .contains("ConfigMap greeting to appear")
            {}
        });
        waited.await.unwrap();
    }
}
