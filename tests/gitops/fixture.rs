//! Fixture with API server, controller manager, PostgreSQL, two Argo CD instances and git servers, and the
//! `switchboard` binary between them.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use switchboard_gitops::rows::{ApiToDatabase, Application, Operation, RepositoryCredentials};
use switchboard_sql::postgres_server::PostgresServer;
use switchboard_sql::{Address, Filter, Ledger, Row, Sealer};
use switchboard_suite::process::binary;
use switchboard_suite::real::RealCluster;

use super::argocd::ArgoCd;
use super::git::GitServer;
use super::kubelet::DeploymentKubelet;
use super::snapshot::{self, StateSnapshot};

/// Timeout for steps of Argo CD, which compares every few seconds.
pub const TIMEOUT: Duration = Duration::from_secs(120);

const POLL: Duration = Duration::from_millis(100);

/// Interval in which Argo CD is requested to refresh from git.
const REFRESH_INTERVAL: Duration = Duration::from_secs(10);

pub const INSTANCES: [&str; 2] = ["argocd-one", "argocd-two"];

/// Fields are dropped in this order: users of a service before the service.
pub struct GitopsFixture {
    pub argocd: Vec<ArgoCd>,
    _kubelet: DeploymentKubelet,
    pub git: GitServer,
    pub client: Client,
    pub ledger: Ledger,
    /// Namespaces of tenants.
    pub tenants: Mutex<Vec<String>>,
    /// Rows and objects before the first tenant.
    pub initial: (StateSnapshot, StateSnapshot),
    pub url: String,
    pub postgres: PostgresServer,
    pub real: RealCluster,
    pub folder: tempfile::TempDir,
}

impl GitopsFixture {
    pub async fn start() -> GitopsFixture {
        let bin = PathBuf::from(
            std::env::var_os("SWITCHBOARD_REAL_BIN").expect("`make test-real` sets SWITCHBOARD_REAL_BIN"),
        );
        let folder = tempfile::tempdir().unwrap();
        let real = RealCluster::start_own().unwrap();
        let postgres = PostgresServer::start().unwrap();
        let url = postgres.database("gitops").unwrap();
        let git = GitServer::start(&bin.join("argocd"), folder.path().join("git"));
        let kubeconfig = kube::config::Kubeconfig::read_from(real.kubeconfig()).unwrap();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let kinds = bin.join("argocd-kinds");
        let own = folder.path().join("kinds.yaml");
        std::fs::write(&own, switchboard_gitops::kinds::CRDS.join("\n---\n")).unwrap();
        run_to_end(
            Command::new(bin.join("kubectl"))
                .arg("--kubeconfig")
                .arg(real.kubeconfig())
                .args(["apply", "--server-side", "-f"])
                .arg(std::fs::canonicalize(kinds).expect("`tests/real/build` puts Argo CD's kinds there"))
                .arg("-f")
                .arg(own),
        );
        let ledger =
            Ledger::open(&switchboard_gitops::SCHEMA, &Address::parse(&url).unwrap(), Sealer::plain()).await.unwrap();
        let kubelet = DeploymentKubelet::start(client.clone());
        let mut stage = GitopsFixture {
            argocd: vec![],
            _kubelet: kubelet,
            git,
            client,
            ledger,
            tenants: Mutex::default(),
            initial: Default::default(),
            url,
            postgres,
            real,
            folder,
        };
        stage.switchboard(&["migrate"], false);
        for namespace in INSTANCES {
            stage.switchboard(&["fleet", "add", namespace, "--create-namespace"], true);
            let own = stage.folder.path().join(namespace);
            let instance = ArgoCd::start(&bin.join("argocd"), &stage.real.kubeconfig(), own, namespace, &stage.git);
            stage.argocd.push(instance);
        }
        stage.initial = (snapshot::rows(&stage.ledger).await, snapshot::objects(&stage.client).await);
        stage
    }

    /// Returns a `switchboard gitops …` command with this database, and with this cluster if needed.
    pub fn command(&self, arguments: &[&str], with_cluster: bool) -> Command {
        let mut command = Command::new(binary().unwrap());
        command.arg("gitops").args(arguments).args(["--database", &self.url, "--plaintext-credentials"]);
        if with_cluster {
            command.arg("--kubeconfig").arg(self.real.kubeconfig());
        }
        command
    }

    pub fn switchboard(&self, arguments: &[&str], with_cluster: bool) -> String {
        let output = run_to_end(&mut self.command(arguments, with_cluster));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn api(&self, version: &str, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        }
    }

    pub async fn create(&self, object: Value) -> Value {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let api =
            self.api(&text(&object["apiVersion"]), &text(&object["kind"]), &text(&object["metadata"]["namespace"]));
        let made = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        serde_json::to_value(made).unwrap()
    }

    pub async fn namespace(&self, name: &str) -> String {
        self.tenants.lock().unwrap().push(name.to_string());
        let made = self.create(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })).await;
        made["metadata"]["uid"].as_str().unwrap().to_string()
    }

    pub async fn get(&self, version: &str, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        // An unavailable API server returns later.
        let found = self.api(version, kind, namespace).get_opt(name).await.ok().flatten();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    pub async fn patch(&self, version: &str, kind: &str, namespace: &str, name: &str, patch: Value) {
        let api = self.api(version, kind, namespace);
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Waits until an object satisfies a condition. Argo CD polls git every few minutes, so refreshes are requested
    /// every few seconds. A single refresh could precede a new password.
    pub async fn until(
        &self,
        (version, kind, namespace, name): (&str, &str, &str, &str),
        what: &str,
        holds: impl Fn(Option<&Value>) -> bool,
    ) -> Option<Value> {
        let end = Instant::now() + TIMEOUT;
        let mut pushed = Instant::now();
        loop {
            if pushed.elapsed() > REFRESH_INTERVAL {
                self.refresh_applications().await;
                pushed = Instant::now();
            }
            let found = self.get(version, kind, namespace, name).await;
            if holds(found.as_ref()) {
                return found;
            }
            assert!(Instant::now() < end, "{kind} {namespace}/{name} never is {what}: {found:#?}");
            tokio::time::sleep(POLL).await;
        }
    }
}

impl Drop for GitopsFixture {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("-- kube-apiserver\n{}", self.real.last_lines("kube-apiserver"));
        }
    }
}

fn run_to_end(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}
impl GitopsFixture {
    pub async fn delete(&self, version: &str, kind: &str, namespace: &str, name: &str) {
        self.api(version, kind, namespace).delete(name, &Default::default()).await.unwrap();
    }

    /// Requests a refresh of every Application, like the webhook of a git server: the Redis of these instances never
    /// expires cached revisions of branches.
    pub async fn refresh_applications(&self) {
        let patch = json!({ "metadata": { "annotations": { "argocd.argoproj.io/refresh": "normal" } } });
        for namespace in INSTANCES {
            let api = self.api(ARGO, "Application", namespace);
            // An unavailable API server returns later.
            let Ok(all) = api.list(&Default::default()).await else { return };
            for application in all {
                let name = application.metadata.name.unwrap_or_default();
                // Ignore Applications that were deleted in the meantime.
                let _ = api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await;
            }
        }
    }

    /// Returns the namespace of the instance that has an Application.
    pub async fn instance_namespace(&self, name: &str) -> String {
        let mut found = Vec::new();
        for namespace in INSTANCES {
            if self.get("argoproj.io/v1alpha1", "Application", namespace, name).await.is_some() {
                found.push(namespace);
            }
        }
        assert_eq!(found.len(), 1, "{name} is on {found:?}");
        found[0].to_string()
    }

    /// Waits until a table has rows.
    pub async fn until_rows<R: Row>(&self, least: usize) {
        let end = Instant::now() + TIMEOUT;
        while self.ledger.list::<R>(&Filter::all()).await.unwrap().len() < least {
            assert!(Instant::now() < end, "there never are {least} rows of {}", R::TABLE.name);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until no such row exists.
    pub async fn until_no_row<R: Row>(&self, such: impl Fn(&R) -> bool) {
        let end = Instant::now() + TIMEOUT;
        while self.ledger.list::<R>(&Filter::all()).await.unwrap().iter().any(&such) {
            assert!(Instant::now() < end, "there always are such rows of {}", R::TABLE.name);
            tokio::time::sleep(POLL).await;
        }
    }

    /// Returns a token of a service account.
    pub async fn token(&self, namespace: &str, name: &str) -> String {
        let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} }).to_string();
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let request = http::Request::post(path).header("Content-Type", "application/json").body(body.into_bytes());
        let made: Value = self.client.request(request.unwrap()).await.unwrap();
        made["status"]["token"].as_str().unwrap().to_string()
    }

    /// Waits until a cluster Secret of any Argo CD contains a text.
    pub async fn until_argo_secret_contains(&self, text: &str) {
        let end = Instant::now() + TIMEOUT;
        loop {
            for namespace in INSTANCES {
                let listed = self.api("v1", "Secret", namespace).list(&Default::default()).await.unwrap();
                let configs = listed.items.iter().filter_map(|secret| secret.data["data"]["config"].as_str());
                let mut configs = configs.filter_map(|config| STANDARD.decode(config).ok());
                if configs.any(|config| String::from_utf8_lossy(&config).contains(text)) {
                    return;
                }
            }
            assert!(Instant::now() < end, "no Secret of Argo CD ever holds what it should");
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits until no row and no object of any deployment, environment or credential exists.
    pub async fn until_empty(&self) {
        let end = Instant::now() + TIMEOUT;
        loop {
            let left = self.leftovers().await;
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "left: {left:#?}");
            tokio::time::sleep(POLL).await;
        }
    }

    async fn leftovers(&self) -> Vec<String> {
        let all = Filter::all();
        let mut left: Vec<String> = Vec::new();
        left.extend(self.ledger.list::<Application>(&all).await.unwrap().into_iter().map(|row| row.name));
        left.extend(self.ledger.list::<RepositoryCredentials>(&all).await.unwrap().into_iter().map(|row| row.url));
        left.extend(self.ledger.list::<ApiToDatabase>(&all).await.unwrap().into_iter().map(|row| row.name));
        let open = |row: &Operation| matches!(row.state.as_str(), "Waiting" | "In_Progress");
        let operations = self.ledger.list::<Operation>(&all).await.unwrap();
        left.extend(operations.into_iter().filter(open).map(|row| row.id.to_string()));
        let kinds = [(ARGO, "Application"), (ARGO, "AppProject"), (GITOPS, "Operation"), ("v1", "Secret")];
        for (version, kind) in kinds {
            for namespace in INSTANCES {
                let listed = self.api(version, kind, namespace).list(&Default::default()).await.unwrap();
                let ours = listed.items.into_iter().map(|object| object.metadata);
                let ours = ours.filter(|metadata| match kind {
                    "Secret" => metadata.labels.as_ref().is_some_and(|labels| labels.contains_key("databaseID")),
                    _ => metadata.name.as_deref() != Some("default"),
                });
                left.extend(ours.map(|metadata| format!("{kind} {namespace}/{}", metadata.name.unwrap_or_default())));
            }
        }
        left
    }
}

const ARGO: &str = "argoproj.io/v1alpha1";
const GITOPS: &str = "managed-gitops.redhat.com/v1alpha1";
