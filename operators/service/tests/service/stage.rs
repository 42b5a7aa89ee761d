//! Clusters with the kinds defined, a database, and the roles on both.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_gitops::fleet::moving;
use switchboard_gitops::flow::tenant::Namespace;
use switchboard_gitops::kinds::CRDS;
use switchboard_kernel::host::{Handle, Host, Settings};
use switchboard_kernel::journal::{Bounds, Entry, Journal};
use switchboard_kernel::operator::Operator;
use switchboard_kernel::place::{ClusterName, Topology};
use switchboard_ledger::ids::Uid;
use switchboard_ledger::rows::Operation;
use switchboard_ledger::rows::fleet::Move;
use switchboard_ledger::{Filter, Ledger, Moment, Row};
use switchboard_object::yaml;
use switchboard_service::fleet::{Engine, Fleet};
use switchboard_service::store::Gate;
use switchboard_service::{Agent, Backend, Store, agent, backend, ids, instance, limits, settings};
use tokio::task::JoinHandle;

use crate::argo::{self, Argo};
use crate::base::Base;
use crate::network::{Over, Script};

/// The machine may be busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long nothing runs when nothing is left to do.
const QUIET: Duration = Duration::from_millis(700);
pub const ARGOCD: &str = "argocd";
/// The logical cluster behind every environment.
pub const BEHIND: &str = "target";
pub const GROUP: &str = "/apis/managed-gitops.redhat.com/v1alpha1";
pub const ARGO: &str = "/apis/argoproj.io/v1alpha1";

/// Two clusters, which may be one, and what happens on them.
pub struct Stage {
    pub tenants: Client,
    pub engine: Client,
    /// The cluster behind every environment.
    pub target: Client,
    pub ledger: Ledger,
    pub settings: backend::Settings,
    /// Whether agents carry moves; without, a test does.
    pub carries: bool,
    /// How long an Application stays that no row knows.
    pub orphan_grace: Duration,
    clusters: Vec<Cluster>,
    roles: Vec<Roles>,
    pub argo: Argo,
    others: Mutex<Vec<Argo>>,
    pub network: Arc<Script>,
    /// What happens here, for a test that fails.
    pub label: String,
    _base: Base,
}

/// Whom a process talks to.
#[derive(Clone)]
pub struct Clients {
    pub tenants: Client,
    pub engine: Client,
    pub target: Client,
}

/// The roles of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Both,
    Backend,
    Agent,
}

impl Side {
    fn has_backend(self) -> bool {
        self != Side::Agent
    }

    fn has_agent(self) -> bool {
        self != Side::Backend
    }
}

struct Roles {
    side: Side,
    handle: Handle,
    host: JoinHandle<()>,
    beside: Vec<JoinHandle<()>>,
}

impl Roles {
    async fn kill(self) {
        self.beside.iter().for_each(JoinHandle::abort);
        self.host.abort();
        let _ = self.host.await;
    }
}

impl Stage {
    /// One cluster with tenants and an Argo CD; both roles at work.
    pub async fn new(base: Base) -> Stage {
        let mut stage = Stage::set(base, false).await;
        stage.start().await;
        stage
    }

    /// The same on two clusters.
    pub async fn apart(base: Base) -> Stage {
        let mut stage = Stage::set(base, true).await;
        stage.start().await;
        stage
    }

    /// All but the roles.
    pub async fn set(base: Base, apart: bool) -> Stage {
        let stage = Stage::over(base, apart, async |_, _| {}).await;
        stage.add_instance(ARGOCD).await;
        stage
    }

    /// All but the roles and an Argo CD, with a database that somebody may have filled before it became ours.
    pub async fn over(base: Base, apart: bool, fill: impl AsyncFnOnce(&Base, &Clients)) -> Stage {
        let mut clusters = vec![Cluster::ephemeral().await];
        if apart {
            clusters.push(Cluster::ephemeral().await);
        }
        clusters.iter().for_each(Cluster::start_controllers);
        let tenants = clusters[0].client();
        let engine = clusters.last().unwrap().client();
        clusters[0].logical(BEHIND).await;
        let target = clusters[0].client_of(BEHIND);
        for client in clusters.iter().map(Cluster::client) {
            for crd in CRDS.iter().map(|text| yaml::read(text).unwrap().value).chain(argo::crds()) {
                create(&client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
            }
        }
        for name in ["shop", "bank"] {
            create(&tenants, "/api/v1/namespaces", json!({"metadata": {"name": name}})).await;
        }
        fill(&base, &Clients { tenants: tenants.clone(), engine: engine.clone(), target: target.clone() }).await;
        let ledger = base.ready().await;
        let (system, engines) = (system(&tenants).await, system(&engine).await);
        Stage {
            argo: Argo::start(engine.clone(), ARGOCD),
            tenants,
            engine,
            target,
            ledger,
            settings: backend::Settings {
                cluster: Some(system),
                in_cluster: !apart,
                engine: Some(engines),
                ring_after: Duration::from_millis(200),
                ..backend::Settings::default()
            },
            carries: true,
            orphan_grace: agent::ORPHAN_GRACE,
            clusters,
            roles: Vec::new(),
            others: Mutex::default(),
            network: Arc::default(),
            label: String::new(),
            _base: base,
        }
    }

    /// Another cluster of tenants, with a backend of its own, that shares the database and the engine cluster.
    pub async fn beside(&self) -> Stage {
        let cluster = Cluster::ephemeral().await;
        cluster.start_controllers();
        let tenants = cluster.client();
        for crd in CRDS.iter().map(|text| yaml::read(text).unwrap().value) {
            create(&tenants, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
        }
        create(&tenants, "/api/v1/namespaces", json!({"metadata": {"name": "shop"}})).await;
        let settings = backend::Settings { cluster: Some(system(&tenants).await), ..self.settings.clone() };
        let mut stage = Stage {
            argo: Argo::start(self.engine.clone(), "nowhere"),
            tenants,
            engine: self.engine.clone(),
            target: self.target.clone(),
            ledger: self.ledger.clone(),
            settings,
            carries: true,
            orphan_grace: self.orphan_grace,
            clusters: vec![cluster],
            roles: Vec::new(),
            others: Mutex::default(),
            network: Arc::default(),
            label: String::new(),
            _base: Base::sqlite(),
        };
        stage.start_side(Side::Backend, None, stage.clients()).await;
        stage
    }

    /// Another cluster with an Argo CD in a namespace of the same name, and an agent of its own, that shares the database.
    pub async fn engine_beside(&self) -> Stage {
        let cluster = Cluster::ephemeral().await;
        cluster.start_controllers();
        let engine = cluster.client();
        for crd in CRDS.iter().map(|text| yaml::read(text).unwrap().value).chain(argo::crds()) {
            create(&engine, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
        }
        let settings = backend::Settings { engine: Some(system(&engine).await), ..self.settings.clone() };
        let mut stage = Stage {
            argo: Argo::start(engine.clone(), ARGOCD),
            tenants: self.tenants.clone(),
            engine,
            target: self.target.clone(),
            ledger: self.ledger.clone(),
            settings,
            carries: true,
            orphan_grace: self.orphan_grace,
            clusters: vec![cluster],
            roles: Vec::new(),
            others: Mutex::default(),
            network: Arc::default(),
            label: String::new(),
            _base: Base::sqlite(),
        };
        stage.add_instance(ARGOCD).await;
        stage.start_side(Side::Agent, None, stage.clients()).await;
        stage
    }

    /// A further Argo CD.
    pub async fn add_instance(&self, name: &str) {
        let made = create(&self.engine, "/api/v1/namespaces", json!({"metadata": {"name": name}})).await;
        let system = send(&self.engine, "GET", "/api/v1/namespaces/kube-system", Value::Null).await.unwrap();
        let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap().into();
        let namespace = Namespace { name: name.into(), uid: uid(&made) };
        let mut view = self.ledger.view().await.unwrap();
        let changes = instance::register(&mut view, &uid(&system), &namespace, ids::new, Moment::default()).await;
        view.end();
        self.ledger.commit(&changes.unwrap()).await.unwrap();
        let database = settings::own_database(&self.ledger).await.unwrap();
        Engine::new(self.engine.clone()).mark(name, Some(&database)).await.unwrap();
        if name != ARGOCD {
            self.others.lock().unwrap().push(Argo::start(self.engine.clone(), name));
        }
    }

    /// Applications that were deleted with what they deployed, of all Argo CDs.
    pub fn cascades(&self) -> usize {
        let others = self.others.lock().unwrap();
        let all = others.iter().chain([&self.argo]).map(|argo| argo.cascades.load(Ordering::SeqCst));
        all.sum()
    }

    /// The fleet, as somebody at a command line has it.
    pub fn fleet(&self) -> Fleet {
        fleet(Store::new(self.ledger.clone(), tokio::runtime::Handle::current()), self.engine.clone())
    }

    /// Has the cluster behind every environment judge for itself who asks.
    pub fn strict(&self) {
        *self.network.strict.lock().unwrap() = Some(self.clusters[0].clone());
    }

    /// Whether Argo CD is on another cluster than the tenants.
    pub fn is_apart(&self) -> bool {
        self.clusters.len() > 1
    }

    /// Of a process that nothing happens to.
    pub fn clients(&self) -> Clients {
        Clients { tenants: self.tenants.clone(), engine: self.engine.clone(), target: self.target.clone() }
    }

    pub async fn start(&mut self) {
        self.start_side(Side::Both, None, self.clients()).await;
    }

    /// Of one role, or both, in a process of its own, with somebody who lets it die.
    pub async fn start_side(&mut self, side: Side, gate: Option<Gate>, clients: Clients) {
        let Clients { tenants, engine, target } = clients;
        let mut store = Store::new(self.ledger.clone(), tokio::runtime::Handle::current());
        if let Some(gate) = gate {
            store = store.gated(gate);
        }
        let backend = Backend::new(store.clone(), self.settings.clone());
        let agent = Agent::patient(
            store.clone(),
            self.settings.isolated,
            self.settings.engine.clone().unwrap(),
            self.orphan_grace,
        );
        let carrying = fleet(store, engine.clone());
        let (one, other) = (ClusterName::new("tenants"), ClusterName::new("engine"));
        let settings = Settings {
            clusters: BTreeMap::from([(one.clone(), tenants), (other.clone(), engine)]),
            topology: Topology::of([one.clone(), other, one]),
            global: limits::global(),
            journal: Journal::in_memory(Bounds::default()),
            dry_run: false,
        };
        let mut operators: Vec<Arc<dyn Operator>> = Vec::new();
        if side.has_backend() {
            operators.extend(backend.operators());
        }
        if side.has_agent() {
            operators.extend(agent.operators());
        }
        let (host, handle) = Host::new(settings, operators.into_iter().map(|one| (one, limits::limits())).collect());
        let mut beside = Vec::new();
        if side.has_backend() {
            let (following, of) = (backend.clone(), handle.clone());
            // As a process does: a database that does not answer at first is listened to later.
            beside.push(tokio::spawn(async move { while following.follow(of.clone()).await.is_err() {} }));
            let (network, of) = (Over { script: self.network.clone(), target }, handle.clone());
            beside.push(tokio::spawn(async move { backend.answer(Arc::new(network), of).await }));
        }
        if side.has_agent() {
            beside.extend(self.carries.then(|| tokio::spawn(carrying.carry())));
            let of = handle.clone();
            beside.push(tokio::spawn(async move { while agent.follow(of.clone()).await.is_err() {} }));
        }
        self.roles.push(Roles { side, handle, host: tokio::spawn(host.run()), beside });
    }

    /// As if the process were killed.
    pub async fn kill(&mut self) {
        for roles in std::mem::take(&mut self.roles) {
            roles.kill().await;
        }
    }

    /// As if one of two processes were.
    pub async fn kill_side(&mut self, side: Side) {
        let at = self.roles.iter().position(|roles| roles.side == side).unwrap();
        self.roles.remove(at).kill().await;
    }

    /// Waits until a process is to die, or has nothing more to do. True if it has not.
    pub async fn until_burnt(&self, is_burnt: impl Fn() -> bool) -> bool {
        let mut last = (0, Instant::now());
        loop {
            if is_burnt() {
                return false;
            }
            let now = self.runs().await;
            if now != last.0 {
                last = (now, Instant::now());
            }
            if last.1.elapsed() > QUIET && !self.all::<Move>().await.iter().any(moving::is_open) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// What every operator says of itself, for a test that failed.
    pub async fn told(&self) -> String {
        let mut told = String::new();
        for roles in &self.roles {
            let Ok(state) = roles.handle.state().await else { return "stopped".into() };
            let units = state.operators.iter().flat_map(|one| one.units.iter().map(move |unit| (one, unit)));
            told.extend(
                units.map(|(one, unit)| format!("{} {}: {:?} {}\n", one.name, unit.unit, unit.word, unit.reason)),
            );
        }
        told
    }

    /// How often units have run.
    pub async fn runs(&self) -> u64 {
        let mut runs = 0;
        for roles in &self.roles {
            runs += roles.handle.state().await.unwrap().operators.iter().map(|one| one.runs).sum::<u64>();
        }
        runs
    }

    /// How many objects were read by units, those of lists included, as far as it is recorded.
    pub async fn objects_read(&self) -> u64 {
        let mut read = 0;
        for roles in &self.roles {
            let count = |journal: &Journal| -> usize {
                let of = |entry: Entry| match entry {
                    Entry::Decision(one) => {
                        one.gets.len() + one.lists.iter().map(|(_, found)| found.len()).sum::<usize>()
                    }
                    _ => 0,
                };
                journal.newest().map(of).sum()
            };
            read += roles.handle.journal(count).await.unwrap() as u64;
        }
        read
    }

    /// Waits until something holds.
    pub async fn until<T>(&self, what: &str, holds: impl AsyncFnMut() -> Option<T>) -> T {
        self.until_or(what, holds, String::new).await
    }

    /// The same, with more to say of it if it never does.
    pub async fn until_or<T>(
        &self,
        what: &str,
        mut holds: impl AsyncFnMut() -> Option<T>,
        more: impl Fn() -> String,
    ) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(value) = holds().await {
                return value;
            }
            if Instant::now() > end {
                let rows: Vec<Operation> = self.all().await;
                let rings = self.listed(&format!("{GROUP}/operations")).await;
                let open: Vec<_> = rows.iter().filter(|row| switchboard_service::rows::is_open(row)).collect();
                let (label, more, told) = (&self.label, more(), self.told().await);
                let left = crate::left::rows(self).await;
                panic!("{label} never: {what}\n{more}\n{told}{open:#?}\n{rings:#?}\n{left:#?}");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub async fn all<R: Row>(&self) -> Vec<R> {
        self.ledger.list(&Filter::all()).await.unwrap()
    }

    pub async fn deploy(&self, namespace: &str, name: &str, spec: Value) -> Value {
        let body = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment",
            "metadata": {"name": name, "namespace": namespace}, "spec": spec});
        create(&self.tenants, &format!("{GROUP}/namespaces/{namespace}/gitopsdeployments"), body).await
    }

    pub async fn deployment(&self, namespace: &str, name: &str) -> Option<Value> {
        let path = format!("{GROUP}/namespaces/{namespace}/gitopsdeployments/{name}");
        send(&self.tenants, "GET", &path, Value::Null).await.ok()
    }

    pub async fn application(&self, uid: &str) -> Option<Value> {
        let path = format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{uid}");
        send(&self.engine, "GET", &path, Value::Null).await.ok()
    }

    /// Any resource of a tenant, by its plural and name.
    pub async fn resource(&self, namespace: &str, plural: &str, name: &str) -> Option<Value> {
        let path = format!("{GROUP}/namespaces/{namespace}/{plural}/{name}");
        send(&self.tenants, "GET", &path, Value::Null).await.ok()
    }

    pub async fn make(&self, namespace: &str, plural: &str, kind: &str, name: &str, spec: Value) -> Value {
        let body = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": namespace}, "spec": spec});
        create(&self.tenants, &format!("{GROUP}/namespaces/{namespace}/{plural}"), body).await
    }

    pub async fn delete(&self, namespace: &str, plural: &str, name: &str) {
        let path = format!("{GROUP}/namespaces/{namespace}/{plural}/{name}");
        send(&self.tenants, "DELETE", &path, Value::Null).await.unwrap();
    }

    pub async fn secret(&self, namespace: &str, name: &str, r#type: &str, data: Value) {
        let body = json!({"apiVersion": "v1", "kind": "Secret", "type": r#type,
            "metadata": {"name": name, "namespace": namespace}, "stringData": data});
        create(&self.tenants, &format!("/api/v1/namespaces/{namespace}/secrets"), body).await;
    }

    /// An environment of a tenant, with a Secret of its own.
    pub async fn environment(&self, namespace: &str, name: &str, token: &str) -> Value {
        let secret = format!("{name}-secret");
        let config = kubeconfig(token);
        self.secret(namespace, &secret, ENVIRONMENT_SECRET, json!({"kubeconfig": config})).await;
        let spec = json!({"apiURL": TARGET, "credentialsSecret": secret, "allowInsecureSkipTLSVerify": false});
        self.make(namespace, ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", name, spec).await
    }

    /// An Application, wherever it is, with the namespace that has it.
    pub async fn anywhere(&self, uid: &str) -> Option<(String, Value)> {
        let name = format!("gitopsdepl-{uid}");
        let mut found = self.listed(&format!("{ARGO}/applications")).await;
        found.retain(|one| one["metadata"]["name"] == *name);
        let awake = found.iter().filter(|one| !moving::is_held(one)).count();
        assert!(awake < 2, "two would deploy the same: {found:?}");
        // While it moves it is in both places, asleep.
        found
            .pop()
            .filter(|_| found.is_empty())
            .map(|one| (one["metadata"]["namespace"].as_str().unwrap().to_string(), one))
    }

    /// Secrets of any Argo CD that are ours.
    pub async fn secrets_of_argo(&self) -> Vec<Value> {
        let mut all = self.listed("/api/v1/secrets").await;
        all.retain(|secret| !secret["metadata"]["labels"]["databaseID"].is_null());
        all
    }

    /// Waits until no Operation is open and nothing rings.
    pub async fn settled(&self) {
        self.until("rest", async || {
            let rows: Vec<Operation> = self.all().await;
            let open = rows.iter().any(switchboard_service::rows::is_open);
            let rings = !self.listed(&format!("{GROUP}/operations")).await.is_empty();
            (!open && !rings).then_some(())
        })
        .await;
    }

    /// Objects of a kind on the engine cluster.
    pub async fn listed(&self, path: &str) -> Vec<Value> {
        let list = send(&self.engine, "GET", path, Value::Null).await.unwrap();
        list["items"].as_array().unwrap().clone()
    }
}

/// What a cluster is known by.
async fn system(client: &Client) -> Uid {
    let found = send(client, "GET", "/api/v1/namespaces/kube-system", Value::Null).await.unwrap();
    uid(&found).as_str().into()
}

/// How much faster time goes for moves: what they wait for is not what is tested.
const HURRY: i64 = 10;

fn fleet(store: Store, engine: Client) -> Fleet {
    let begin = Timestamp::now().as_microsecond();
    let now = move || Moment::from_unix_us(begin + (Timestamp::now().as_microsecond() - begin) * HURRY);
    Fleet::new(store, engine, true).timed(Arc::new(now))
}

pub const DEPLOYMENTS: &str = "gitopsdeployments";
pub const SYNC_RUNS: &str = "gitopsdeploymentsyncruns";
pub const ENVIRONMENTS: &str = "gitopsdeploymentmanagedenvironments";
pub const CREDENTIALS: &str = "gitopsdeploymentrepositorycredentials";
pub const ENVIRONMENT_SECRET: &str = "managed-gitops.redhat.com/managed-environment";
pub const CREDENTIAL_SECRET: &str = "managed-gitops.redhat.com/repository-credential";
pub const TARGET: &str = "https://target.example:6443";

/// A kubeconfig for the target.
pub fn kubeconfig(token: &str) -> String {
    kubeconfig_of(TARGET, token)
}

/// A kubeconfig for any server.
pub fn kubeconfig_of(server: &str, token: &str) -> String {
    json!({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]})
    .to_string()
}

/// A spec for a deployment to the tenant's own namespace.
pub fn plain() -> Value {
    json!({"source": {"repoURL": "https://git.example/Shop/web.git", "path": "deploy"}, "type": "automated"})
}

/// A value of a Secret; empty if there is none.
pub fn decoded(secret: &Value, key: &str) -> String {
    let bytes = STANDARD.decode(secret["data"][key].as_str().unwrap_or_default()).unwrap();
    String::from_utf8(bytes).unwrap()
}

pub fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_string()
}

pub async fn send(client: &Client, method: &str, path: &str, body: Value) -> Result<Value, String> {
    let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder().method(method).uri(path).header("Content-Type", content);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    client.request::<Value>(request.body(body).unwrap()).await.map_err(|error| error.to_string())
}

pub async fn create(client: &Client, path: &str, body: Value) -> Value {
    send(client, "POST", path, body).await.unwrap()
}
