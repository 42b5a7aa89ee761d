//! `switchboard up` with the options of `make run`, and with objects for the pages.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_suite::process::{binary, client};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Running Switchboard, killed when dropped.
pub struct ConsoleFixture {
    process: Child,
    pub url: String,
    pub client: kube::Client,
    log: Arc<Mutex<Vec<String>>>,
    home: tempfile::TempDir,
}

impl ConsoleFixture {
    /// Starts Switchboard with the examples and free ports.
    pub async fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let config = home.path().join("switchboard.yaml");
        let data = root.join("examples/integrations/data");
        std::fs::write(&config, format!("console: {{address: '127.0.0.1:0'}}\noperators:\n  greeter: {{}}\n  plugs: {{}}\n  engine: {{}}\ngitops: {{namespace: argocd}}\nintegrations:\n  source: {}\n  interval: 10s\n", data.display())).unwrap();
        let kubeconfig = home.path().join("kubeconfig");
        let mut process = Command::new(binary().unwrap())
            .args(["up", "--ephemeral", "--listen", "127.0.0.1:0", "--example", "postgres", "--example", "gitops"])
            .args(["--example", "deployments", "--config"])
            .arg(&config)
            .arg("--state-dir")
            .arg(home.path().join("state"))
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let (said, heard) = mpsc::channel();
        let kept: Arc<Mutex<Vec<String>>> = Arc::default();
        let keeping = kept.clone();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                keeping.lock().unwrap().push(line.clone());
                let _ = said.send(line);
            }
        });
        let (mut url, mut serving) = (None, false);
        while url.is_none() || !serving {
            let line = heard.recv_timeout(TIMEOUT).expect("it says where it is");
            url = url.or_else(|| line.strip_prefix("console at ").map(|url| url.trim_end_matches('/').to_string()));
            serving |= line.starts_with("serving at ");
        }
        let client = client(&kubeconfig).await.expect("the kubeconfig is whole once it serves");
        let town = Self { process, url: url.unwrap(), client, log: kept, home };
        town.create_objects().await;
        town
    }

    /// Creates objects besides the examples: a greeting, a plug without a socket, a forbidden plug, applications and a
    /// second Argo CD.
    async fn create_objects(&self) {
        self.create("/api/v1/namespaces/default/configmaps", greeted_config_map("ada", "Ada")).await;
        self.create(
            "/api/v1/namespaces/default/configmaps",
            json!({"metadata": {"name": "greeting"}, "data": {"words": "Good day"}}),
        )
        .await;
        for (namespace, name, socket) in [("shop", "cart", "cache"), ("default", "stranger", "postgres")] {
            let plug = json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Plug", "metadata": {"name": name},
                "spec": {"socket": {"name": socket, "namespace": "data"}, "config": {"database": "carts", "password": CANARY}}});
            self.create(&format!("/apis/integration.rock8s.com/v1beta1/namespaces/{namespace}/plugs"), plug).await;
        }
        self.create_applications().await;
    }

    /// Creates a second Argo CD, two more tenants, and an application with an unreachable repository.
    async fn create_applications(&self) {
        // Created before the second Argo CD, so that this tenant is on the first.
        let path = format!("{DEPLOYMENTS}/namespaces/team/gitopsdeployments/guestbook");
        let mut team = self.get(&path).await;
        while team["status"]["health"]["status"] != "Healthy" {
            tokio::time::sleep(Duration::from_millis(50)).await;
            team = self.get(&path).await;
        }
        let state = self.home.path().join("state");
        let added = Command::new(binary().unwrap())
            .args([
                "gitops",
                "fleet",
                "add",
                "argocd-2",
                "--create-namespace",
                "--max-applications",
                "50",
                "--database",
            ])
            .arg(format!("sqlite:{}", state.join("gitops.db").display()))
            .arg("--credentials-key-file")
            .arg(state.join("gitops.keys"))
            .arg("--kubeconfig")
            .arg(self.home.path().join("kubeconfig"))
            .output()
            .unwrap();
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        for (tenant, name, kind, path) in
            [("blog", "pages", "automated", "guestbook"), ("bank", "ledger", "manual", "no-such-folder")]
        {
            self.create("/api/v1/namespaces", json!({"metadata": {"name": tenant}})).await;
            self.create_deployment(tenant, name, kind, path).await;
        }
        // No server listens there, and the credentials in the URL must not be displayed.
        let away = format!("https://deploy:{CANARY}@127.0.0.1:9/shop/mail.git");
        let application = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "mail"},
            "spec": {"project": "default", "source": {"repoURL": away, "path": "deploy", "targetRevision": "main"},
                "destination": {"name": "in-cluster", "namespace": "shop"}}});
        self.create("/apis/argoproj.io/v1alpha1/namespaces/argocd/applications", application).await;
    }

    /// Creates a deployment of a tenant from the example's repository.
    pub async fn create_deployment(&self, tenant: &str, name: &str, kind: &str, path: &str) {
        let team = self.get(&format!("{DEPLOYMENTS}/namespaces/team/gitopsdeployments/guestbook")).await;
        let source = json!({"repoURL": team["spec"]["source"]["repoURL"], "path": path, "targetRevision": "main"});
        let deployment = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment",
            "metadata": {"name": name}, "spec": {"type": kind, "source": source}});
        self.create(&format!("{DEPLOYMENTS}/namespaces/{tenant}/gitopsdeployments"), deployment).await;
    }

    /// Returns an existing object.
    pub async fn get(&self, path: &str) -> Value {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        self.client.request(request).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Whether the process has logged a line with all of these words.
    pub fn has_logged(&self, words: &[&str]) -> bool {
        self.log.lock().unwrap().iter().any(|line| words.iter().all(|word| line.contains(word)))
    }

    /// Creates an object.
    pub async fn create(&self, path: &str, object: Value) {
        assert!(self.try_create(path, object).await, "{path} did not take it");
    }

    async fn try_create(&self, path: &str, object: Value) -> bool {
        let request =
            http::Request::post(path).header("Content-Type", "application/json").body(object.to_string().into_bytes());
        self.client.request::<Value>(request.unwrap()).await.is_ok()
    }

    /// Returns a token of a service account with these verbs on operators.
    pub async fn token(&self, name: &str, verbs: &[&str]) -> String {
        self.token_with(name, json!([{"apiGroups": ["switchboard.dev"], "resources": ["operators"], "verbs": verbs}]))
            .await
    }

    /// Returns a token of a service account with these rules.
    pub async fn token_with(&self, name: &str, rules: Value) -> String {
        self.create("/api/v1/namespaces/default/serviceaccounts", json!({"metadata": {"name": name}})).await;
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        self.create(&format!("{rbac}/clusterroles"), json!({"metadata": {"name": name}, "rules": rules})).await;
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
        let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": "default"}]);
        let binding = json!({"metadata": {"name": name}, "roleRef": role, "subjects": subjects});
        self.create(&format!("{rbac}/clusterrolebindings"), binding).await;
        let wish = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}});
        let path = format!("/api/v1/namespaces/default/serviceaccounts/{name}/token");
        let request =
            http::Request::post(path).header("Content-Type", "application/json").body(wish.to_string().into_bytes());
        let made = self.client.request::<Value>(request.unwrap()).await.unwrap();
        made["status"]["token"].as_str().unwrap().to_string()
    }

    /// Kills the process.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for ConsoleFixture {
    fn drop(&mut self) {
        self.kill();
    }
}

const DEPLOYMENTS: &str = "/apis/managed-gitops.redhat.com/v1alpha1";

/// Secret value that no page may display.
pub const CANARY: &str = "canary-0d61c2-value";

/// Returns a ConfigMap for the greeter.
pub fn greeted_config_map(name: &str, called: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"greeter.example.com/greet": "yes"}}, "data": {"name": called}})
}
