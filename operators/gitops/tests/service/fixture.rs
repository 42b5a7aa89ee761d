//! Clusters with the CustomResourceDefinitions, a database, and the roles on both.

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
use switchboard_gitops::ids::Uid;
use switchboard_gitops::instance::fleet::{EngineClient, Fleet};
use switchboard_gitops::kinds::CRDS;
use switchboard_gitops::placement::selection;
use switchboard_gitops::rows::Operation;
use switchboard_gitops::rows::fleet::Move;
use switchboard_gitops::store::CommitHook;
use switchboard_gitops::tenant::TenantNamespace;
use switchboard_gitops::{Agent, Backend, Store, agent, backend, limits, moves, random_id, settings};
use switchboard_kernel::host::{Handle, Host, HostSettings};
use switchboard_kernel::journal::{Journal, JournalEntry, JournalLimits};
use switchboard_kernel::operator::Operator;
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_object::yaml;
use switchboard_sql::{DbTimestamp, Filter, Ledger, Row};
use tokio::task::JoinHandle;

use crate::database::TestDatabase;
use crate::fake_argocd::{self, FakeArgoCd};
use crate::network::{NetworkScript, ScriptedNetwork};

/// Generous deadline for a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// Time without any unit run after which all work counts as done.
const QUIET_TIME: Duration = Duration::from_millis(700);
pub const ARGOCD: &str = "argocd";
/// The logical cluster behind every environment.
pub const TARGET_CLUSTER: &str = "target";
pub const GROUP: &str = "/apis/managed-gitops.redhat.com/v1alpha1";
pub const ARGO: &str = "/apis/argoproj.io/v1alpha1";

/// Two clusters, which can be the same, with their roles and fakes.
pub struct ServiceFixture {
    pub tenants: Client,
    pub engine: Client,
    /// The cluster behind every environment.
    pub target: Client,
    pub ledger: Ledger,
    pub settings: backend::BackendSettings,
    /// Whether agents carry out moves; otherwise a test does.
    pub drives_moves: bool,
    /// Time until an Application without a row is deleted.
    pub orphan_grace: Duration,
    clusters: Vec<Cluster>,
    roles: Vec<RunningRoles>,
    pub fake_argocd: FakeArgoCd,
    others: Mutex<Vec<FakeArgoCd>>,
    pub network: Arc<NetworkScript>,
    /// Description of the test case for failure messages.
    pub label: String,
    _base: TestDatabase,
}

/// Clients of a process.
#[derive(Clone)]
pub struct Clients {
    pub tenants: Client,
    pub engine: Client,
    pub target: Client,
}

/// Roles of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleSet {
    Both,
    Backend,
    Agent,
}

impl RoleSet {
    fn has_backend(self) -> bool {
        self != RoleSet::Agent
    }

    fn has_agent(self) -> bool {
        self != RoleSet::Backend
    }
}

struct RunningRoles {
    roles: RoleSet,
    handle: Handle,
    host: JoinHandle<()>,
    beside: Vec<JoinHandle<()>>,
}

impl RunningRoles {
    async fn kill(self) {
        self.beside.iter().for_each(JoinHandle::abort);
        self.host.abort();
        let _ = self.host.await;
    }
}

impl ServiceFixture {
    /// Creates one cluster with tenants and an Argo CD, and starts both roles.
    pub async fn new(database: TestDatabase) -> ServiceFixture {
        let mut fixture = ServiceFixture::without_roles(database, false).await;
        fixture.start().await;
        fixture
    }

    /// Like `new`, on two clusters.
    pub async fn on_two_clusters(database: TestDatabase) -> ServiceFixture {
        let mut fixture = ServiceFixture::without_roles(database, true).await;
        fixture.start().await;
        fixture
    }

    /// Creates everything except the roles.
    pub async fn without_roles(database: TestDatabase, on_two_clusters: bool) -> ServiceFixture {
        let fixture = ServiceFixture::with_database(database, on_two_clusters, async |_, _| {}).await;
        fixture.add_instance(ARGOCD).await;
        fixture
    }

    /// Creates everything except the roles and an Argo CD, with a database that `fill` writes before Switchboard opens
    /// it.
    pub async fn with_database(
        database: TestDatabase,
        on_two_clusters: bool,
        fill: impl AsyncFnOnce(&TestDatabase, &Clients),
    ) -> ServiceFixture {
        let mut clusters = vec![Cluster::ephemeral().await];
        if on_two_clusters {
            clusters.push(Cluster::ephemeral().await);
        }
        clusters.iter().for_each(Cluster::start_controllers);
        let tenants = clusters[0].client();
        let engine = clusters.last().unwrap().client();
        clusters[0].logical(TARGET_CLUSTER).await;
        let target = clusters[0].client_of(TARGET_CLUSTER);
        for client in clusters.iter().map(Cluster::client) {
            for crd in CRDS.iter().map(|text| yaml::read(text).unwrap().value).chain(fake_argocd::crds()) {
                create(&client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
            }
        }
        for name in ["shop", "bank"] {
            create(&tenants, "/api/v1/namespaces", json!({"metadata": {"name": name}})).await;
        }
        fill(&database, &Clients { tenants: tenants.clone(), engine: engine.clone(), target: target.clone() }).await;
        let ledger = database.ready().await;
        let (cluster_uid, engines) = (cluster_uid(&tenants).await, cluster_uid(&engine).await);
        ServiceFixture {
            fake_argocd: FakeArgoCd::start(engine.clone(), ARGOCD),
            tenants,
            engine,
            target,
            ledger,
            settings: backend::BackendSettings {
                cluster: Some(cluster_uid),
                in_cluster: !on_two_clusters,
                engine: Some(engines),
                notify_after: Duration::from_millis(200),
                ..backend::BackendSettings::default()
            },
            drives_moves: true,
            orphan_grace: agent::ORPHAN_GRACE,
            clusters,
            roles: Vec::new(),
            others: Mutex::default(),
            network: Arc::default(),
            label: String::new(),
            _base: database,
        }
    }

    /// Adds another cluster of tenants with its own backend; it shares the database and the engine cluster.
    pub async fn second_backend(&self) -> ServiceFixture {
        let cluster = Cluster::ephemeral().await;
        cluster.start_controllers();
        let tenants = cluster.client();
        for crd in CRDS.iter().map(|text| yaml::read(text).unwrap().value) {
            create(&tenants, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
        }
        create(&tenants, "/api/v1/namespaces", json!({"metadata": {"name": "shop"}})).await;
        let settings = backend::BackendSettings { cluster: Some(cluster_uid(&tenants).await), ..self.settings.clone() };
        let mut fixture = ServiceFixture {
            fake_argocd: FakeArgoCd::start(self.engine.clone(), "nowhere"),
            tenants,
            engine: self.engine.clone(),
            target: self.target.clone(),
            ledger: self.ledger.clone(),
            settings,
            drives_moves: true,
            orphan_grace: self.orphan_grace,
            clusters: vec![cluster],
            roles: Vec::new(),
            others: Mutex::default(),
            network: Arc::default(),
            label: String::new(),
            _base: TestDatabase::sqlite(),
        };
        fixture.start_roles(RoleSet::Backend, None, fixture.clients()).await;
        fixture
    }

    /// Adds another cluster with an Argo CD in a namespace of the same name and its own agent; it shares the database.
    pub async fn second_engine(&self) -> ServiceFixture {
        let cluster = Cluster::ephemeral().await;
        cluster.start_controllers();
        let engine = cluster.client();
        for crd in CRDS.iter().map(|text| yaml::read(text).unwrap().value).chain(fake_argocd::crds()) {
            create(&engine, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
        }
        let settings = backend::BackendSettings { engine: Some(cluster_uid(&engine).await), ..self.settings.clone() };
        let mut fixture = ServiceFixture {
            fake_argocd: FakeArgoCd::start(engine.clone(), ARGOCD),
            tenants: self.tenants.clone(),
            engine,
            target: self.target.clone(),
            ledger: self.ledger.clone(),
            settings,
            drives_moves: true,
            orphan_grace: self.orphan_grace,
            clusters: vec![cluster],
            roles: Vec::new(),
            others: Mutex::default(),
            network: Arc::default(),
            label: String::new(),
            _base: TestDatabase::sqlite(),
        };
        fixture.add_instance(ARGOCD).await;
        fixture.start_roles(RoleSet::Agent, None, fixture.clients()).await;
        fixture
    }

    /// Adds an Argo CD instance.
    pub async fn add_instance(&self, name: &str) {
        let made = create(&self.engine, "/api/v1/namespaces", json!({"metadata": {"name": name}})).await;
        let cluster_uid = send(&self.engine, "GET", "/api/v1/namespaces/kube-system", Value::Null).await.unwrap();
        let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap().into();
        let namespace = TenantNamespace { name: name.into(), uid: uid(&made) };
        let mut view = self.ledger.view().await.unwrap();
        let changes =
            selection::register(&mut view, &uid(&cluster_uid), &namespace, random_id::new, DbTimestamp::default())
                .await;
        view.end();
        self.ledger.commit(&changes.unwrap()).await.unwrap();
        let database = settings::get_or_create_database_id(&self.ledger).await.unwrap();
        EngineClient::new(self.engine.clone()).set_namespace_owner(name, Some(&database)).await.unwrap();
        if name != ARGOCD {
            self.others.lock().unwrap().push(FakeArgoCd::start(self.engine.clone(), name));
        }
    }

    /// Number of Applications deleted together with their deployed resources, of all Argo CD instances.
    pub fn cascades(&self) -> usize {
        let others = self.others.lock().unwrap();
        let all =
            others.iter().chain([&self.fake_argocd]).map(|fake_argocd| fake_argocd.cascades.load(Ordering::SeqCst));
        all.sum()
    }

    /// The fleet, as the command line uses it.
    pub fn fleet(&self) -> Fleet {
        fleet(Store::new(self.ledger.clone(), tokio::runtime::Handle::current()), self.engine.clone())
    }

    /// Enables authentication and RBAC on the cluster behind every environment.
    pub fn enforce_rbac(&self) {
        *self.network.strict.lock().unwrap() = Some(self.clusters[0].clone());
    }

    /// Whether Argo CD runs on another cluster than the tenants.
    pub fn has_two_clusters(&self) -> bool {
        self.clusters.len() > 1
    }

    /// Clients of a process without fault injection.
    pub fn clients(&self) -> Clients {
        Clients { tenants: self.tenants.clone(), engine: self.engine.clone(), target: self.target.clone() }
    }

    pub async fn start(&mut self) {
        self.start_roles(RoleSet::Both, None, self.clients()).await;
    }

    /// Starts one role, or both, in a process with fault injection.
    pub async fn start_roles(&mut self, roles: RoleSet, commit_hook: Option<CommitHook>, clients: Clients) {
        let Clients { tenants, engine, target } = clients;
        let mut store = Store::new(self.ledger.clone(), tokio::runtime::Handle::current());
        if let Some(commit_hook) = commit_hook {
            store = store.with_commit_hook(commit_hook);
        }
        let backend = Backend::new(store.clone(), self.settings.clone());
        let agent = Agent::with_orphan_grace(
            store.clone(),
            self.settings.isolated,
            self.settings.engine.clone().unwrap(),
            self.orphan_grace,
        );
        let driver = fleet(store, engine.clone());
        let (one, other) = (ClusterName::new("tenants"), ClusterName::new("engine"));
        let settings = HostSettings {
            clusters: BTreeMap::from([(one.clone(), tenants), (other.clone(), engine)]),
            topology: Topology::of([one.clone(), other, one]),
            global: limits::global(),
            journal: Journal::in_memory(JournalLimits::default()),
            dry_run: false,
        };
        let mut operators: Vec<Arc<dyn Operator>> = Vec::new();
        if roles.has_backend() {
            operators.extend(backend.operators());
        }
        if roles.has_agent() {
            operators.extend(agent.operators());
        }
        let (host, handle) = Host::new(settings, operators.into_iter().map(|one| (one, limits::limits())).collect());
        let mut beside = Vec::new();
        if roles.has_backend() {
            let (following, of) = (backend.clone(), handle.clone());
            // A process retries to follow the changes when the database does not respond at first.
            beside.push(tokio::spawn(async move { while following.watch_rows(of.clone()).await.is_err() {} }));
            let (network, of) = (ScriptedNetwork { script: self.network.clone(), target }, handle.clone());
            beside.push(tokio::spawn(async move { backend.run_external_checks(Arc::new(network), of).await }));
        }
        if roles.has_agent() {
            beside.extend(self.drives_moves.then(|| tokio::spawn(driver.drive_moves())));
            let of = handle.clone();
            beside.push(tokio::spawn(async move { while agent.watch_rows(of.clone()).await.is_err() {} }));
        }
        self.roles.push(RunningRoles { roles, handle, host: tokio::spawn(host.run()), beside });
    }

    /// Simulates a kill of the process.
    pub async fn kill(&mut self) {
        for roles in std::mem::take(&mut self.roles) {
            roles.kill().await;
        }
    }

    /// Simulates a kill of one of two processes.
    pub async fn kill_roles(&mut self, roles: RoleSet) {
        let at = self.roles.iter().position(|running| running.roles == roles).unwrap();
        self.roles.remove(at).kill().await;
    }

    /// Waits until the process reaches its crash point or has no more work; returns true if it has no more work.
    pub async fn wait_until_crashed(&self, has_crashed: impl Fn() -> bool) -> bool {
        let mut last = (0, Instant::now());
        loop {
            if has_crashed() {
                return false;
            }
            let now = self.runs().await;
            if now != last.0 {
                last = (now, Instant::now());
            }
            if last.1.elapsed() > QUIET_TIME && !self.all::<Move>().await.iter().any(moves::is_open) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// State of every operator's units, for failure messages.
    pub async fn unit_states(&self) -> String {
        let mut reported = String::new();
        for roles in &self.roles {
            let Ok(state) = roles.handle.state().await else { return "stopped".into() };
            let units = state.operators.iter().flat_map(|one| one.units.iter().map(move |unit| (one, unit)));
            reported.extend(
                units.map(|(one, unit)| format!("{} {}: {:?} {}\n", one.name, unit.unit, unit.health, unit.reason)),
            );
        }
        reported
    }

    /// Number of unit runs so far.
    pub async fn runs(&self) -> u64 {
        let mut runs = 0;
        for roles in &self.roles {
            runs += roles.handle.state().await.unwrap().operators.iter().map(|one| one.runs).sum::<u64>();
        }
        runs
    }

    /// Number of recorded object reads of units, including the objects of lists.
    pub async fn objects_read(&self) -> u64 {
        let mut read = 0;
        for roles in &self.roles {
            let count = |journal: &Journal| -> usize {
                let of = |entry: JournalEntry| match entry {
                    JournalEntry::Decision(one) => {
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

    /// Waits until a condition holds.
    pub async fn wait_for<T>(&self, what: &str, verify: impl AsyncFnMut() -> Option<T>) -> T {
        self.wait_for_or(what, verify, String::new).await
    }

    /// Waits until a condition holds; on a timeout, panics with more detail.
    pub async fn wait_for_or<T>(
        &self,
        what: &str,
        mut verify: impl AsyncFnMut() -> Option<T>,
        more: impl Fn() -> String,
    ) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(value) = verify().await {
                return value;
            }
            if Instant::now() > end {
                let rows: Vec<Operation> = self.all().await;
                let notifications = self.list_objects(&format!("{GROUP}/operations")).await;
                let open: Vec<_> = rows.iter().filter(|row| switchboard_gitops::related_rows::is_open(row)).collect();
                let (label, more, reported) = (&self.label, more(), self.unit_states().await);
                let left = crate::cluster_state::rows(self).await;
                panic!("{label} never: {what}\n{more}\n{reported}{open:#?}\n{notifications:#?}\n{left:#?}");
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

    /// Gets a resource of a tenant by its plural and name.
    pub async fn resource(&self, namespace: &str, plural: &str, name: &str) -> Option<Value> {
        let path = format!("{GROUP}/namespaces/{namespace}/{plural}/{name}");
        send(&self.tenants, "GET", &path, Value::Null).await.ok()
    }

    pub async fn create_resource(&self, namespace: &str, plural: &str, kind: &str, name: &str, spec: Value) -> Value {
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

    /// Creates an environment of a tenant with its own Secret.
    pub async fn environment(&self, namespace: &str, name: &str, token: &str) -> Value {
        let secret = format!("{name}-secret");
        let config = kubeconfig(token);
        self.secret(namespace, &secret, ENVIRONMENT_SECRET, json!({"kubeconfig": config})).await;
        let spec = json!({"apiURL": TARGET, "credentialsSecret": secret, "allowInsecureSkipTLSVerify": false});
        self.create_resource(namespace, ENVIRONMENTS, "GitOpsDeploymentManagedEnvironment", name, spec).await
    }

    /// Finds an Application and its namespace.
    pub async fn find_application(&self, uid: &str) -> Option<(String, Value)> {
        let name = format!("gitopsdepl-{uid}");
        let mut found = self.list_objects(&format!("{ARGO}/applications")).await;
        found.retain(|one| one["metadata"]["name"] == *name);
        let awake = found.iter().filter(|one| !moves::is_owned_by_move(one)).count();
        assert!(awake < 2, "two would deploy the same: {found:?}");
        // During a move, both copies exist, paused.
        found
            .pop()
            .filter(|_| found.is_empty())
            .map(|one| (one["metadata"]["namespace"].as_str().unwrap().to_string(), one))
    }

    /// Secrets of all Argo CD instances that belong to the service.
    pub async fn argocd_secrets(&self) -> Vec<Value> {
        let mut all = self.list_objects("/api/v1/secrets").await;
        all.retain(|secret| !secret["metadata"]["labels"]["databaseID"].is_null());
        all
    }

    /// Waits until no Operation is open and no notification exists.
    pub async fn wait_until_settled(&self) {
        self.wait_for("rest", async || {
            let rows: Vec<Operation> = self.all().await;
            let open = rows.iter().any(switchboard_gitops::related_rows::is_open);
            let notifications = !self.list_objects(&format!("{GROUP}/operations")).await.is_empty();
            assert!(rows.iter().all(|row| row.owner.is_some()), "managed-gitops requires an owner: {rows:?}");
            (!open && !notifications).then_some(())
        })
        .await;
    }

    /// Objects of a kind on the engine cluster.
    pub async fn list_objects(&self, path: &str) -> Vec<Value> {
        let list = send(&self.engine, "GET", path, Value::Null).await.unwrap();
        list["items"].as_array().unwrap().clone()
    }
}

/// Uid that identifies a cluster.
async fn cluster_uid(client: &Client) -> Uid {
    let found = send(client, "GET", "/api/v1/namespaces/kube-system", Value::Null).await.unwrap();
    uid(&found).as_str().into()
}

/// Clock acceleration for moves, whose waiting times are not under test.
const CLOCK_SPEED: i64 = 10;

fn fleet(store: Store, engine: Client) -> Fleet {
    let begin = Timestamp::now().as_microsecond();
    let now = move || DbTimestamp::from_unix_us(begin + (Timestamp::now().as_microsecond() - begin) * CLOCK_SPEED);
    Fleet::new(store, engine, true).with_clock(Arc::new(now))
}

pub const DEPLOYMENTS: &str = "gitopsdeployments";
pub const SYNC_RUNS: &str = "gitopsdeploymentsyncruns";
pub const ENVIRONMENTS: &str = "gitopsdeploymentmanagedenvironments";
pub const CREDENTIALS: &str = "gitopsdeploymentrepositorycredentials";
pub const ENVIRONMENT_SECRET: &str = "managed-gitops.redhat.com/managed-environment";
pub const CREDENTIAL_SECRET: &str = "managed-gitops.redhat.com/repository-credential";
pub const TARGET: &str = "https://target.example:6443";

/// Kubeconfig for the target.
pub fn kubeconfig(token: &str) -> String {
    kubeconfig_of(TARGET, token)
}

/// Kubeconfig for any server.
pub fn kubeconfig_of(server: &str, token: &str) -> String {
    json!({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]})
    .to_string()
}

/// Spec of a deployment to the tenant's own namespace.
pub fn plain() -> Value {
    json!({"source": {"repoURL": "https://git.example/Shop/web.git", "path": "deploy"}, "type": "automated"})
}

/// Decodes a value of a Secret; empty if it has none.
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
