//! Simulated kubelet: runs commands of Jobs as local processes, and pods of an apparatus as test servers, and writes
//! their status.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::api::{get, send};
use crate::kinds::list_path;
use crate::server::{ApparatusServer, TestApparatus};

const SYNC_INTERVAL: Duration = Duration::from_millis(25);
/// Label of an apparatus' pods, which run as the test server regardless of their image.
const SERVER_LABEL: &str = "/metadata/labels/apparatus";
/// Command of a Job that relies on its image, because images are not available.
const NO_COMMAND: &str = "true";

/// Kubelet for some namespaces, stopped when dropped.
pub struct CaseKubelet(JoinHandle<()>);

impl CaseKubelet {
    pub fn start(client: Client, namespaces: Vec<String>, apparatus: TestApparatus, gate: PathBuf) -> Self {
        Self(tokio::spawn(async move {
            let mut machine = KubeletLoop { client, apparatus, gate, pods: BTreeMap::new(), jobs: BTreeMap::new() };
            loop {
                for namespace in &namespaces {
                    machine.sync(namespace).await;
                }
                tokio::time::sleep(SYNC_INTERVAL).await;
            }
        }))
    }
}

impl Drop for CaseKubelet {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct KubeletLoop {
    client: Client,
    apparatus: TestApparatus,
    gate: PathBuf,
    /// Servers by namespace and uid.
    pods: BTreeMap<(String, String), ApparatusServer>,
    jobs: BTreeMap<(String, String), tokio::process::Child>,
}

impl KubeletLoop {
    async fn sync(&mut self, namespace: &str) {
        let pods = self.items("Pod", namespace).await;
        self.pods.retain(|(place, uid), _| place != namespace || pods.iter().any(|pod| exists(pod, uid)));
        for pod in &pods {
            self.pod(namespace, pod).await;
        }
        let jobs = self.items("Job", namespace).await;
        self.jobs.retain(|(place, uid), _| place != namespace || jobs.iter().any(|job| exists(job, uid)));
        for job in &jobs {
            self.job(namespace, job).await;
        }
    }

    async fn items(&self, kind: &str, namespace: &str) -> Vec<Value> {
        let list = get(&self.client, &list_path(kind, namespace)).await;
        list.and_then(|list| list["items"].as_array().cloned()).unwrap_or_default()
    }

    async fn pod(&mut self, namespace: &str, pod: &Value) {
        if pod.pointer(SERVER_LABEL).is_none() || pod.pointer("/metadata/deletionTimestamp").is_some() {
            return;
        }
        let (key, path) = (key(namespace, pod), format!("{}/{}", list_path("Pod", namespace), name(pod)));
        if pod.pointer("/status/phase").is_some_and(|phase| phase == "Failed") {
            self.pods.remove(&key);
            return;
        }
        if self.pods.contains_key(&key) {
            return;
        }
        let server = ApparatusServer::start(self.apparatus.clone(), None).await;
        let annotations = json!({"integration.rock8s.com/address": server.address.to_string()});
        send(&self.client, "PATCH", &path, json!({"metadata": {"annotations": annotations}})).await.ok();
        let ready = json!({"type": "Ready", "status": "True"});
        let status =
            json!({"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}], "conditions": [ready]});
        send(&self.client, "PATCH", &format!("{path}/status"), json!({"status": status})).await.ok();
        self.pods.insert(key, server);
    }

    async fn job(&mut self, namespace: &str, job: &Value) {
        let key = key(namespace, job);
        if job.pointer("/status/completionTime").is_some() || job.pointer("/metadata/deletionTimestamp").is_some() {
            return;
        }
        let path = format!("{}/{}/status", list_path("Job", namespace), name(job));
        let now = jiff_now();
        match self.jobs.get_mut(&key) {
            None => {
                self.jobs.insert(key, start(job, &self.gate));
                let pod = pod_of(job);
                send(&self.client, "POST", &list_path("Pod", namespace), pod).await.ok();
                let status = json!({"active": 1, "startTime": now});
                send(&self.client, "PATCH", &path, json!({"status": status})).await.ok();
            }
            Some(process) => {
                let Ok(Some(ended)) = process.try_wait() else { return };
                assert!(ended.success(), "the Job {} failed", name(job));
                let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now});
                let conditions = json!([condition("SuccessCriteriaMet"), condition("Complete")]);
                let started = &job["status"]["startTime"];
                let status = json!({"active": null, "succeeded": 1, "startTime": started, "completionTime": now, "conditions": conditions});
                send(&self.client, "PATCH", &path, json!({"status": status})).await.ok();
            }
        }
    }
}

/// Returns the pod that the Job controller would create.
fn pod_of(job: &Value) -> Value {
    let uid = job["metadata"]["uid"].as_str().unwrap_or_default();
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": name(job), "uid": uid, "controller": true, "blockOwnerDeletion": true});
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": format!("{}-{}", name(job), &uid[..5]), "ownerReferences": [owner]},
        "spec": job["spec"]["template"]["spec"],
    })
}

fn start(job: &Value, gate: &std::path::Path) -> tokio::process::Child {
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    let words = |field: &str| container[field].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut words = words("command").chain(words("args"));
    let mut command = tokio::process::Command::new(words.next().unwrap_or(NO_COMMAND));
    command.args(words).env("GATE", gate).stdin(Stdio::null()).kill_on_drop(true);
    for variable in container["env"].as_array().into_iter().flatten() {
        command.env(variable["name"].as_str().unwrap(), variable["value"].as_str().unwrap_or_default());
    }
    command.spawn().unwrap()
}

fn exists(object: &Value, uid: &str) -> bool {
    object["metadata"]["uid"] == uid
}

fn key(namespace: &str, object: &Value) -> (String, String) {
    (namespace.to_string(), object["metadata"]["uid"].as_str().unwrap_or_default().to_string())
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn jiff_now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
