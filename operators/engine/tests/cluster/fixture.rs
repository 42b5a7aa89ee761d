//! Fixture: a cluster with Argo CD's kinds, a kernel that runs the engine, and git repositories.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_engine::crds::crds;
use switchboard_engine::operator::{DestinationOperators, EngineOperator};
use switchboard_engine::source::{POLL, RepositorySources};
use switchboard_kernel::host::{Handle, Host, HostSettings};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::topology::{ClusterName, Topology};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);
pub const ARGO: &str = "/apis/argoproj.io/v1alpha1/namespaces/argocd";
pub const CONFIG_MAPS: &str = "/api/v1/namespaces/prod/configmaps";

pub fn config_map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{value: {value}}}\n")
}

/// Returns the message of a condition, or an empty text.
pub fn condition<'a>(application: &'a Value, kind: &str) -> &'a str {
    let all = application["status"]["conditions"].as_array().into_iter().flatten();
    all.into_iter().find(|one| one["type"] == kind).and_then(|one| one["message"].as_str()).unwrap_or("")
}

pub fn resource<'a>(application: &'a Value, kind: &str) -> &'a Value {
    application["status"]["resources"].as_array().unwrap().iter().find(|one| one["kind"] == kind).unwrap()
}

/// Git repository, created for one test.
pub struct GitFixture(TempDir);

impl GitFixture {
    pub fn new() -> Self {
        let made = Self(TempDir::new().unwrap());
        made.git(&["init", "--quiet", "--initial-branch=main", "."]);
        made
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]);
        let output =
            command.args(arguments).current_dir(self.0.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    }

    pub fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub fn remove(&self, path: &str) -> &Self {
        std::fs::remove_file(self.0.path().join(path)).unwrap();
        self
    }

    pub fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "next"]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn url(&self) -> String {
        format!("file://{}", self.0.path().display())
    }
}

pub struct EngineFixture {
    client: Client,
    cluster: Cluster,
    handle: Handle,
    sources: Arc<RepositorySources>,
    hosted: Arc<DestinationOperators>,
    _cache: TempDir,
}

fn limits() -> Limits {
    Limits {
        debounce: Duration::ZERO,
        cool_down: Duration::from_millis(2),
        backoff_first: Duration::from_millis(50),
        writes_per_second: 10_000,
        writes_per_minute: 100_000,
        ..Limits::default()
    }
}

impl EngineFixture {
    /// Starts a cluster with Argo CD's kinds, two namespaces and the engine.
    pub async fn new() -> Self {
        let (cluster, cache) = (Cluster::ephemeral().await, TempDir::new().unwrap());
        cluster.start_controllers();
        let (client, name) = (cluster.client(), ClusterName::new("main"));
        let git = switchboard_git::GitSettings::with_cache(cache.path()).with_local_files();
        let (sources, hosted) =
            (Arc::new(RepositorySources::new(git, POLL)), Arc::new(DestinationOperators::default()));
        let settings = HostSettings {
            clusters: BTreeMap::from([(name.clone(), client.clone())]),
            topology: Topology::standalone(&name),
            global: GlobalLimits { requests_per_second: 10_000, ..GlobalLimits::default() },
            journal: Journal::in_memory(JournalLimits::default()),
            dry_run: false,
        };
        let engine = EngineOperator::in_cluster(name, sources.clone(), hosted.clone());
        let (host, handle) = Host::new(settings, vec![(Arc::new(engine), limits())]);
        let fixture = Self { client, cluster, handle, sources, hosted, _cache: cache };
        for crd in crds() {
            fixture.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await.unwrap();
        }
        for namespace in ["argocd", "prod"] {
            fixture.send("POST", "/api/v1/namespaces", json!({"metadata": {"name": namespace}})).await.unwrap();
        }
        tokio::spawn(host.run());
        fixture
    }

    /// Adds another logical cluster with the Secret that declares it and its operator.
    pub async fn other(&self, name: &str) -> Client {
        self.cluster.logical(name).await;
        let client = self.cluster.client_of(name);
        let code = |text: &str| STANDARD.encode(text);
        let data = json!({"name": code("managed-env-1"), "server": code("https://127.0.0.1:1/clusters/team?managedEnvironment=1"), "config": code("{}")});
        let labels = json!({"argocd.argoproj.io/secret-type": "cluster"});
        let secret = json!({"metadata": {"name": "managed-env-1", "labels": labels}, "data": data});
        self.send("POST", "/api/v1/namespaces/argocd/secrets", secret).await.unwrap();
        let key = ("argocd".to_string(), "managed-env-1".to_string());
        let there = ClusterName::new("there");
        let engine = EngineOperator::remote(
            ClusterName::new("main"),
            key.clone(),
            there.clone(),
            self.sources.clone(),
            self.hosted.clone(),
        );
        self.handle.add(Arc::new(engine), limits(), Some((there, client.clone()))).await.unwrap();
        self.hosted.record(key, Ok(()));
        client
    }

    pub async fn send(&self, method: &str, path: &str, body: Value) -> Result<Value, String> {
        let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("Content-Type", content);
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.client.request::<Value>(request.body(body).unwrap()).await.map_err(|error| error.to_string())
    }

    pub async fn get(&self, path: &str) -> Option<Value> {
        self.send("GET", path, Value::Null).await.ok()
    }

    pub async fn patch(&self, application: &str, body: Value) {
        self.send("PATCH", &format!("{ARGO}/applications/{application}"), body).await.unwrap();
    }

    pub async fn refresh(&self, application: &str) {
        self.patch(application, json!({"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}})).await;
    }

    pub async fn project(&self, name: &str, spec: Value) {
        let project = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": {"name": name}, "spec": spec});
        self.send("POST", &format!("{ARGO}/appprojects"), project).await.unwrap();
    }

    /// Creates an Application that deploys `deploy` to `prod`, with `more` merged into its spec.
    pub async fn application(&self, name: &str, repository: &GitFixture, policy: Value, more: Value) {
        let mut spec = json!({
            "project": "default", "source": {"repoURL": repository.url(), "path": "deploy", "targetRevision": "main"},
            "destination": {"name": "in-cluster", "namespace": "prod"}, "syncPolicy": policy,
        });
        merge(&mut spec, &more);
        let object = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": name}, "spec": spec});
        self.send("POST", &format!("{ARGO}/applications"), object).await.unwrap();
    }

    /// Waits until an object satisfies the test.
    pub async fn until(&self, path: &str, what: &str, test: impl Fn(Option<&Value>) -> bool) -> Option<Value> {
        let end = tokio::time::Instant::now() + TIMEOUT;
        loop {
            let found = self.get(path).await;
            if test(found.as_ref()) {
                return found;
            }
            if tokio::time::Instant::now() > end {
                panic!("in vain: {what}\n{path}: {found:#?}\n{}", self.unit_report().await);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub async fn until_application(&self, name: &str, what: &str, test: impl Fn(&Value) -> bool) -> Value {
        self.until(&format!("{ARGO}/applications/{name}"), what, |one| one.is_some_and(&test)).await.unwrap()
    }

    /// Waits until an Application has this sync status and health and no operation in progress.
    pub async fn shows(&self, name: &str, sync: &str, health: &str) -> Value {
        let what = format!("{sync} and {health}");
        self.until_application(name, &what, |one| {
            let status = &one["status"];
            status["sync"]["status"] == sync
                && status["health"]["status"] == health
                && one.get("operation").is_none_or(Value::is_null)
        })
        .await
    }

    async fn unit_report(&self) -> String {
        let state = self.handle.state().await.unwrap();
        let units = state.operators.iter().flat_map(|one| one.units.iter().map(move |unit| (one, unit)));
        units.map(|(one, unit)| format!("{} {}: {:?} {}\n", one.name, unit.unit, unit.health, unit.reason)).collect()
    }
}

fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more.clone(),
    }
}
