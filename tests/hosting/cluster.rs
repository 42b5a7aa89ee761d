//! A cluster with access to objects by path.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http::{Method, Request};
use serde_json::Value;
use switchboard_object::yaml;
use switchboard_suite::process;

/// Timeout of conditions.
const TIMEOUT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(50);

/// A cluster, specified by its kubeconfig.
pub struct TestCluster {
    pub kubeconfig: PathBuf,
    client: kube::Client,
    runtime: tokio::runtime::Runtime,
}

impl TestCluster {
    pub fn of(kubeconfig: &Path) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = runtime.block_on(process::client(kubeconfig)).expect("the kubeconfig is complete");
        Self { kubeconfig: kubeconfig.to_path_buf(), client, runtime }
    }

    fn send(&self, method: Method, path: &str, form: &str, body: &Value) -> Result<Value, kube::Error> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder().method(method).uri(path).header("Content-Type", form).body(body).unwrap();
        self.runtime.block_on(self.client.request(request))
    }

    /// Returns the object at a path, or null.
    pub fn get(&self, path: &str) -> Value {
        match self.send(Method::GET, path, "application/json", &Value::Null) {
            Ok(found) => found,
            Err(kube::Error::Api(status)) if status.code == 404 => Value::Null,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    /// Applies all documents of a text in order.
    pub fn apply(&self, text: &str) {
        for document in yaml::read_all(text).unwrap() {
            let path = format!("{}?fieldManager=suite&force=true", path_of(&document.value));
            // A custom resource may not be served right after its definition is created.
            until(&path, || {
                let made = self.send(Method::PATCH, &path, "application/apply-patch+yaml", &document.value);
                match made {
                    Ok(_) => true,
                    Err(kube::Error::Api(status)) if status.code == 404 => false,
                    Err(error) => panic!("{path}: {error}"),
                }
            });
        }
    }

    /// Patches the object at a path.
    pub fn merge(&self, path: &str, patch: Value) {
        self.send(Method::PATCH, path, "application/merge-patch+json", &patch).unwrap();
    }

    /// Deletes the object at a path.
    pub fn delete(&self, path: &str) {
        match self.send(Method::DELETE, path, "application/json", &Value::Null) {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("{path}: {error}"),
        }
    }
}

/// Returns the path of an object of the suite.
fn path_of(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("/apiVersion"), text("/kind"));
    let root = if version.contains('/') { "/apis" } else { "/api" };
    let namespace = match text("/metadata/namespace") {
        "" => String::new(),
        name => format!("/namespaces/{name}"),
    };
    let plural = match kind {
        "Ingress" => "ingresses".to_string(),
        "Proxy" => "proxies".to_string(),
        _ => format!("{}s", kind.to_lowercase()),
    };
    format!("{root}/{version}{namespace}/{plural}/{}", text("/metadata/name"))
}

/// Polls until a condition holds.
#[track_caller]
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < TIMEOUT, "{what}: not within {TIMEOUT:?}");
        std::thread::sleep(POLL);
    }
}
