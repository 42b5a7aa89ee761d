//! `switchboard up` as `make run` starts it, with something to look at.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_suite::process::{binary, client};

const PATIENCE: Duration = Duration::from_secs(60);

/// A running Switchboard, killed when dropped.
pub struct Town {
    process: Child,
    pub url: String,
    pub client: kube::Client,
    _home: tempfile::TempDir,
}

impl Town {
    /// The examples at work, with a free port for everything.
    pub async fn build() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let config = home.path().join("switchboard.yaml");
        let data = root.join("examples/integrations/data");
        std::fs::write(&config, format!("console: {{address: '127.0.0.1:0'}}\noperators:\n  greeter: {{}}\n  plugs: {{}}\nintegrations:\n  source: {}\n  interval: 10s\n", data.display())).unwrap();
        let kubeconfig = home.path().join("kubeconfig");
        let mut process = Command::new(binary().unwrap())
            .args(["up", "--ephemeral", "--listen", "127.0.0.1:0", "--example", "postgres", "--config"])
            .arg(&config)
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(process.stderr.take().unwrap());
        let (said, heard) = mpsc::channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(|line| drop(said.send(line))));
        let (mut url, mut serving) = (None, false);
        while url.is_none() || !serving {
            let line = heard.recv_timeout(PATIENCE).expect("it says where it is");
            url = url.or_else(|| line.strip_prefix("console at ").map(|url| url.trim_end_matches('/').to_string()));
            serving |= line.starts_with("serving at ");
        }
        let client = client(&kubeconfig).await.expect("the kubeconfig is whole once it serves");
        let town = Self { process, url: url.unwrap(), client, _home: home };
        town.fill().await;
        town
    }

    /// Things beside the examples: a greeting, a plug without a socket, one that is not allowed, an application.
    async fn fill(&self) {
        self.put("/api/v1/namespaces/default/configmaps", guest("ada", "Ada")).await;
        self.put(
            "/api/v1/namespaces/default/configmaps",
            json!({"metadata": {"name": "greeting"}, "data": {"words": "Good day"}}),
        )
        .await;
        for (namespace, name, socket) in [("shop", "cart", "cache"), ("default", "stranger", "postgres")] {
            let plug = json!({"apiVersion": "integration.rock8s.com/v1beta1", "kind": "Plug", "metadata": {"name": name},
                "spec": {"socket": {"name": socket, "namespace": "data"}, "config": {"database": "carts", "password": CANARY}}});
            self.put(&format!("/apis/integration.rock8s.com/v1beta1/namespaces/{namespace}/plugs"), plug).await;
        }
        self.applications().await;
    }

    async fn applications(&self) {
        let names = json!({"plural": "applications", "singular": "application", "kind": "Application", "listKind": "ApplicationList"});
        let open = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "applications.argoproj.io"},
            "spec": {"group": "argoproj.io", "scope": "Namespaced", "names": names, "versions": [{"name": "v1alpha1", "served": true, "storage": true, "schema": open}]}});
        self.try_put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
        for namespace in ["argocd-a", "argocd-b"] {
            self.put("/api/v1/namespaces", json!({"metadata": {"name": namespace}})).await;
        }
        let states = [
            ("web", "Synced", "Healthy"),
            ("cart", "OutOfSync", "Progressing"),
            ("search", "Synced", "Degraded"),
            ("mail", "Synced", "Healthy"),
        ];
        for (at, (name, sync, health)) in states.into_iter().enumerate() {
            let namespace = if at % 2 == 0 { "argocd-a" } else { "argocd-b" };
            let application = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": name},
                "spec": {"project": "default", "source": {"repoURL": format!("https://deploy:{CANARY}@git.example.com/shop/{name}.git"), "path": "deploy", "targetRevision": "main"},
                    "destination": {"name": "in-cluster", "namespace": "shop"}},
                "status": {"sync": {"status": sync, "revision": "4be0ad1f9c0d2f7c"}, "health": {"status": health, "message": if health == "Degraded" { "back-off restarting failed container" } else { "" }}}});
            let path = format!("/apis/argoproj.io/v1alpha1/namespaces/{namespace}/applications");
            for _ in 0..100 {
                if self.try_put(&path, application.clone()).await {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Makes an object.
    pub async fn put(&self, path: &str, object: Value) {
        assert!(self.try_put(path, object).await, "{path} did not take it");
    }

    async fn try_put(&self, path: &str, object: Value) -> bool {
        let request =
            http::Request::post(path).header("Content-Type", "application/json").body(object.to_string().into_bytes());
        self.client.request::<Value>(request.unwrap()).await.is_ok()
    }

    /// The token of a service account with these rights on operators.
    pub async fn token(&self, name: &str, verbs: &[&str]) -> String {
        self.put("/api/v1/namespaces/default/serviceaccounts", json!({"metadata": {"name": name}})).await;
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let rules = json!([{"apiGroups": ["switchboard.dev"], "resources": ["operators"], "verbs": verbs}]);
        self.put(&format!("{rbac}/clusterroles"), json!({"metadata": {"name": name}, "rules": rules})).await;
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
        let subjects = json!([{"kind": "ServiceAccount", "name": name, "namespace": "default"}]);
        let binding = json!({"metadata": {"name": name}, "roleRef": role, "subjects": subjects});
        self.put(&format!("{rbac}/clusterrolebindings"), binding).await;
        let wish = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}});
        let path = format!("/api/v1/namespaces/default/serviceaccounts/{name}/token");
        let request =
            http::Request::post(path).header("Content-Type", "application/json").body(wish.to_string().into_bytes());
        let made = self.client.request::<Value>(request.unwrap()).await.unwrap();
        made["status"]["token"].as_str().unwrap().to_string()
    }

    /// Ends it without a word.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What no page may show.
pub const CANARY: &str = "canary-0d61c2-value";

/// Somebody to greet.
pub fn guest(name: &str, called: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"greeter.example.com/greet": "yes"}}, "data": {"name": called}})
}
