//! Cluster of the study: ten copies of the operators' manifests, and the changes of the script.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http::{Method, Request};
use serde_json::{Value, json};
use switchboard_object::yaml;
use switchboard_suite::process;
use switchboard_suite::real::workspace;

const MANIFESTS: [&str; 3] = ["00-crd.yaml", "10-access.yaml", "20-beacon.yaml"];
/// Timeout of conditions.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// A cluster.
pub struct StudyCluster {
    /// Kubeconfig of the administrator.
    pub kubeconfig: PathBuf,
    operators: usize,
    client: kube::Client,
    runtime: tokio::runtime::Runtime,
}

/// Returns the name of an operator's instance.
pub fn instance(number: usize) -> String {
    format!("i{number}")
}

impl StudyCluster {
    /// Creates a cluster from a kubeconfig.
    pub fn of(kubeconfig: &Path, operators: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime can be made");
        let client = runtime.block_on(process::client(kubeconfig)).expect("the kubeconfig is complete");
        Self { kubeconfig: kubeconfig.to_path_buf(), operators, client, runtime }
    }

    /// Sends a request; null if the object does not exist.
    pub fn send(&self, method: Method, path: &str, form: &str, body: &Value) -> Value {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder().method(method).uri(path).header("Content-Type", form).body(body);
        match self.runtime.block_on(self.client.request(request.expect("the request is whole"))) {
            Ok(found) => found,
            Err(kube::Error::Api(status)) if status.code == 404 => Value::Null,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    /// Returns the object at a path, or null.
    pub fn get(&self, path: &str) -> Value {
        self.send(Method::GET, path, "application/json", &Value::Null)
    }

    /// Patches the object at a path.
    pub fn merge(&self, path: &str, patch: &Value) {
        self.send(Method::PATCH, path, "application/merge-patch+json", patch);
    }

    /// Installs every operator's manifests, and the service account of the host.
    pub fn install(&self) {
        let read = |file: &str| std::fs::read_to_string(workspace().join("examples/beacon/manifests").join(file));
        for number in 0..self.operators {
            let name = instance(number);
            for file in MANIFESTS {
                let text = read(file).expect("the manifests are there");
                let text = text.replace("beacon-operator", &format!("beacon-operator-{name}"));
                self.apply(&text.replace("\n  name: cluster\n", &format!("\n  name: {name}\n")));
            }
        }
        self.apply(KERNEL);
    }

    fn apply(&self, text: &str) {
        for document in yaml::read_all(text).expect("manifests are YAML") {
            let path = format!("{}?fieldManager=study&force=true", path_of(&document.value));
            until(&path, || {
                let made = self.send(Method::PATCH, &path, "application/apply-patch+yaml", &document.value);
                !made.is_null()
            });
        }
    }

    /// Writes a kubeconfig of a service account into a folder.
    pub fn identity(&self, namespace: &str, name: &str, folder: &Path) -> PathBuf {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let wish = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 7200}});
        let token = self.send(Method::POST, &path, "application/json", &wish)["status"]["token"].clone();
        let text = std::fs::read_to_string(&self.kubeconfig).expect("the kubeconfig is there");
        let mut config = yaml::read(&text).expect("a kubeconfig is YAML").value;
        config["users"][0]["user"] = json!({"token": token});
        let file = folder.join(format!("{namespace}.kubeconfig"));
        std::fs::write(&file, config.to_string()).expect("a file can be written");
        file
    }

    /// Whether every operator has reported its status for a Deployment that does not run.
    pub fn is_settled(&self) -> bool {
        (0..self.operators).all(|number| {
            let beacon = self.get(&format!("/apis/beacon.example.com/v1/beacons/{}", instance(number)));
            let conditions = beacon["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let has = |kind: &str| conditions.iter().any(|one| one["type"] == kind && one["reason"] != "Failed");
            ["WorkloadDegraded", "SurroundingsDegraded", "Progressing"].into_iter().all(has)
        })
    }
}

/// Service account of the host, which reads everything and impersonates others.
const KERNEL: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: switchboard}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: kernel, namespace: switchboard}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: switchboard-kernel}
rules:
- {apiGroups: ['*'], resources: ['*'], verbs: [get, list, watch]}
- {apiGroups: [''], resources: [serviceaccounts, groups], verbs: [impersonate]}
- {apiGroups: [''], resources: [serviceaccounts/token], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: switchboard-kernel}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: switchboard-kernel}
subjects:
- {kind: ServiceAccount, name: kernel, namespace: switchboard}
";

fn path_of(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let version = text("/apiVersion");
    let root = if version.contains('/') { "/apis" } else { "/api" };
    let namespace = match text("/metadata/namespace") {
        "" => String::new(),
        name => format!("/namespaces/{name}"),
    };
    format!("{root}/{version}{namespace}/{}s/{}", text("/kind").to_lowercase(), text("/metadata/name"))
}

/// Polls until a condition holds, and returns the duration.
pub fn until(what: &str, mut done: impl FnMut() -> bool) -> Duration {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < TIMEOUT, "{what}: not within {TIMEOUT:?}");
        std::thread::sleep(POLL);
    }
    begin.elapsed()
}
