//! A cluster with the three kinds, and a kernel that hosts the operators.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_kernel::host::{Handle, Host, HostSettings};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::operator::Operator;
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_plugs::crds::crds;
use switchboard_plugs::deferred::DeferredOperator;
use switchboard_plugs::plug::{PlugOperator, PlugOptions};
use switchboard_plugs::socket::SocketOperator;

const TIMEOUT: Duration = Duration::from_secs(30);
pub const GROUP: &str = "/apis/integration.rock8s.com/v1beta1";

pub struct PlugsCluster {
    pub client: Client,
    _cluster: Cluster,
    host: Option<(Handle, tokio::task::JoinHandle<()>)>,
    options: PlugOptions,
    limits: (GlobalLimits, Limits),
}

impl PlugsCluster {
    /// Creates a cluster with the kinds, running operators, and a service account with all rights on ConfigMaps and
    /// Secrets.
    pub async fn new() -> Self {
        Self::with(PlugOptions::default()).await
    }

    pub async fn with(options: PlugOptions) -> Self {
        let limits = Limits {
            debounce: Some(Duration::ZERO),
            cool_down: Some(Duration::from_millis(2)),
            backoff_first: Duration::from_millis(50),
            writes_per_second: Some(10_000),
            writes_per_minute: Some(100_000),
            ..Limits::default()
        };
        let global = GlobalLimits { requests_per_second: Some(10_000), ..GlobalLimits::default() };
        Self::with_limits(options, (global, limits)).await
    }

    /// Creates a cluster whose operators have the default limits.
    pub async fn with_default_limits() -> Self {
        Self::with_limits(PlugOptions::default(), Default::default()).await
    }

    async fn with_limits(options: PlugOptions, limits: (GlobalLimits, Limits)) -> Self {
        let cluster = Cluster::ephemeral().await;
        let mut stage = Self { client: cluster.client(), _cluster: cluster, host: None, options, limits };
        for crd in crds() {
            stage.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
        }
        for namespace in ["shop", "data"] {
            stage.create("/api/v1/namespaces", json!({"metadata": {"name": namespace}})).await;
            stage.allow(namespace, &["configmaps", "secrets"]).await;
        }
        stage.start();
        stage
    }

    /// Grants the default service account of a namespace all rights on these kinds of the core group.
    pub async fn allow(&self, namespace: &str, resources: &[&str]) {
        let rbac = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}");
        let role = json!({"metadata": {"name": "all"}, "rules": [{"apiGroups": ["", "batch"], "resources": resources, "verbs": ["*"]}]});
        self.create(&format!("{rbac}/roles"), role).await;
        let binding = json!({"metadata": {"name": "all"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "all"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}]});
        self.create(&format!("{rbac}/rolebindings"), binding).await;
    }

    pub fn start(&mut self) {
        let name = ClusterName::new("main");
        let settings = HostSettings {
            clusters: BTreeMap::from([(name.clone(), self.client.clone())]),
            topology: Topology::standalone(&name),
            global: self.limits.0.clone(),
            journal: Journal::in_memory(JournalLimits::default()),
            dry_run: false,
        };
        let limits = &self.limits.1;
        let operators: Vec<Arc<dyn Operator>> = vec![
            PlugOperator::operator(self.options.clone()),
            SocketOperator::operator(self.options.clone()),
            Arc::new(DeferredOperator),
        ];
        let (host, handle) = Host::new(settings, operators.into_iter().map(|one| (one, limits.clone())).collect());
        self.host = Some((handle, tokio::spawn(host.run())));
    }

    /// Stops the operators. All their writes are complete.
    pub async fn stop(&mut self) {
        let (handle, host) = self.host.take().unwrap();
        handle.stop().await;
        host.await.unwrap();
    }

    /// Returns the messages of all units, for a failed test.
    pub async fn unit_messages(&self) -> String {
        let Some((handle, _)) = &self.host else { return String::new() };
        let state = handle.state().await.unwrap();
        let units = state.operators.iter().flat_map(|one| one.units.iter().map(move |unit| (one, unit)));
        units.map(|(one, unit)| format!("{} {}: {:?} {}\n", one.name, unit.unit, unit.health, unit.reason)).collect()
    }

    /// Returns the number of writes by the operators.
    pub async fn writes(&self) -> u64 {
        let (handle, _) = self.host.as_ref().unwrap();
        handle.state().await.unwrap().operators.iter().map(|one| one.writes).sum()
    }

    /// Waits until every unit has run with the current state.
    pub async fn until_idle(&self) {
        let mut last = (self.runs().await, 0);
        while last.1 < 20 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let now = self.runs().await;
            last = if now == last.0 { (now, last.1 + 1) } else { (now, 0) };
        }
    }

    async fn runs(&self) -> u64 {
        let (handle, _) = self.host.as_ref().unwrap();
        handle.state().await.unwrap().operators.iter().map(|one| one.runs).sum()
    }

    pub async fn send(&self, method: &str, path: &str, mut body: Value) -> Result<Value, String> {
        let kinds = [("/plugs", "Plug"), ("/sockets", "Socket"), ("/deferredresources", "DeferredResource")];
        if let Some((_, kind)) = kinds.iter().find(|(plural, _)| method == "POST" && path.ends_with(plural)) {
            body["apiVersion"] = "integration.rock8s.com/v1beta1".into();
            body["kind"] = (*kind).into();
        }
        let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("Content-Type", content);
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.client.request::<Value>(request.body(body).unwrap()).await.map_err(|error| error.to_string())
    }

    pub async fn create(&self, path: &str, body: Value) -> Value {
        self.send("POST", path, body).await.unwrap()
    }

    pub async fn patch(&self, path: &str, body: Value) -> Value {
        self.send("PATCH", path, body).await.unwrap()
    }

    pub async fn delete(&self, path: &str) {
        self.send("DELETE", path, Value::Null).await.unwrap();
    }

    pub async fn get(&self, path: &str) -> Option<Value> {
        self.send("GET", path, Value::Null).await.ok()
    }

    pub async fn plug(&self, name: &str, spec: Value) {
        self.create(
            &format!("{GROUP}/namespaces/shop/plugs"),
            json!({"apiVersion": "integration.rock8s.com/v1beta1",
            "kind": "Plug", "metadata": {"name": name}, "spec": spec}),
        )
        .await;
    }

    pub async fn socket(&self, name: &str, spec: Value) {
        self.create(
            &format!("{GROUP}/namespaces/data/sockets"),
            json!({"apiVersion": "integration.rock8s.com/v1beta1",
            "kind": "Socket", "metadata": {"name": name}, "spec": spec}),
        )
        .await;
    }

    /// Waits until an object satisfies a test.
    pub async fn until(&self, path: &str, what: &str, test: impl Fn(Option<&Value>) -> bool) -> Option<Value> {
        let end = tokio::time::Instant::now() + TIMEOUT;
        loop {
            let found = self.get(path).await;
            if test(found.as_ref()) {
                return found;
            }
            if tokio::time::Instant::now() > end {
                panic!("in vain: {what}\n{path}: {found:#?}\n{}", self.unit_messages().await);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until a plug's `Coupled` condition has a reason.
    pub async fn until_plug_reason(&self, name: &str, reason: &str) -> Value {
        let path = format!("{GROUP}/namespaces/shop/plugs/{name}");
        self.until(&path, reason, |plug| plug.is_some_and(|plug| condition(plug, "Coupled")["reason"] == reason))
            .await
            .unwrap()
    }

    pub async fn until_socket_message(&self, name: &str, message: &str) -> Value {
        let path = format!("{GROUP}/namespaces/data/sockets/{name}");
        let shows =
            |socket: Option<&Value>| socket.is_some_and(|socket| condition(socket, "Coupled")["message"] == message);
        self.until(&path, message, shows).await.unwrap()
    }

    pub async fn until_deleted(&self, path: &str) {
        self.until(path, "gone", |found| found.is_none()).await;
    }

    /// Waits until a ConfigMap has the given data.
    pub async fn until_data(&self, namespace: &str, name: &str, data: Value) {
        let path = config_map(namespace, name);
        self.until(&path, &data.to_string(), |map| map.is_some_and(|map| map["data"] == data)).await;
    }

    /// Returns the reasons of all Kubernetes Events about an object, by name, oldest first.
    pub async fn events(&self, namespace: &str, name: &str) -> Vec<String> {
        let all = self.get(&format!("/api/v1/namespaces/{namespace}/events")).await.unwrap();
        let mut of: Vec<&Value> =
            all["items"].as_array().unwrap().iter().filter(|event| event["involvedObject"]["name"] == name).collect();
        of.sort_by_key(|event| event["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap());
        of.iter().map(|event| event["reason"].as_str().unwrap().to_string()).collect()
    }
}

pub fn config_map(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}

pub fn condition(object: &Value, of_type: &str) -> Value {
    let all = object["status"]["conditions"].as_array();
    all.into_iter().flatten().find(|one| one["type"] == of_type).cloned().unwrap_or_default()
}
