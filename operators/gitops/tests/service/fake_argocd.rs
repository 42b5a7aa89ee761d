//! Fake Argo CD: writes the statuses that Argo CD would write, without comparing, syncing or deleting anything.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::fixture::{ARGO, send};

/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Fake Argo CD for one namespace.
pub struct FakeArgoCd {
    task: JoinHandle<()>,
    /// Whether deletions and syncs never finish.
    pub is_stuck: Arc<AtomicBool>,
    /// Number of Applications deleted together with their deployed resources.
    pub cascades: Arc<AtomicUsize>,
}

impl Drop for FakeArgoCd {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FakeArgoCd {
    pub fn start(client: Client, namespace: &str) -> FakeArgoCd {
        let is_stuck = Arc::new(AtomicBool::new(false));
        let cascades = Arc::new(AtomicUsize::new(0));
        let (stuck, counted, namespace) = (is_stuck.clone(), cascades.clone(), namespace.to_string());
        let task = tokio::spawn(async move {
            loop {
                let path = format!("{ARGO}/namespaces/{namespace}/applications");
                let list = send(&client, "GET", &path, Value::Null).await.unwrap_or_default();
                let projects = format!("{ARGO}/namespaces/{namespace}/appprojects");
                let projects = send(&client, "GET", &projects, Value::Null).await.unwrap_or_default();
                let names = projects["items"].as_array().into_iter().flatten();
                let names = names.filter_map(|object| object["metadata"]["name"].as_str()).chain(["default"]);
                let names: BTreeSet<String> = names.map(str::to_string).collect();
                for object in list["items"].as_array().into_iter().flatten() {
                    if let Some(patch) = answer(object, stuck.load(Ordering::Relaxed), &names) {
                        let name = object["metadata"]["name"].as_str().unwrap();
                        // A conflicting write is retried at the next poll.
                        let done = send(&client, "PATCH", &format!("{path}/{name}"), patch).await;
                        if done.is_ok() && object["metadata"]["deletionTimestamp"].is_string() {
                            counted.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        });
        FakeArgoCd { task, is_stuck, cascades }
    }

    pub fn stuck(&self, stuck: bool) {
        self.is_stuck.store(stuck, Ordering::Relaxed);
    }
}

/// Next write of Argo CD.
fn answer(object: &Value, stuck: bool, projects: &BTreeSet<String>) -> Option<Value> {
    let metadata = &object["metadata"];
    let version = &metadata["resourceVersion"];
    if !metadata["deletionTimestamp"].is_null() {
        // Argo CD deletes no resources of an Application without a project, and only logs that.
        let goes = !stuck && projects.contains(object["spec"]["project"].as_str().unwrap_or_default());
        return goes.then(|| json!({"metadata": {"resourceVersion": version, "finalizers": []}}));
    }
    // Argo CD neither compares nor syncs a paused Application.
    if metadata["annotations"]["argocd.argoproj.io/skip-reconcile"] == "true" {
        return None;
    }
    if metadata["annotations"]["argocd.argoproj.io/refresh"].is_string() {
        let spec = &object["spec"];
        return Some(json!({
            "metadata": {"resourceVersion": version, "annotations": {"argocd.argoproj.io/refresh": null}},
            "status": status(spec),
        }));
    }
    let state = &object["status"]["operationState"];
    if object["operation"].is_object() {
        let phase = match state["phase"].as_str() {
            Some("Terminating") => "Failed",
            Some("Running") if stuck => return None,
            Some("Running") => "Succeeded",
            _ => "Running",
        };
        let over = phase != "Running";
        let mut patch = json!({"metadata": {"resourceVersion": version}, "status": {"operationState":
            {"operation": object["operation"], "phase": phase, "startedAt": "2026-11-16T08:00:00Z",
             "message": if phase == "Failed" { "Operation terminated" } else { "" }}}});
        if over {
            patch["operation"] = Value::Null;
        }
        return Some(patch);
    }
    let spec = &object["spec"];
    let compared = json!({"source": spec["source"], "destination": spec["destination"]});
    if object["status"]["sync"]["comparedTo"] == compared {
        return None;
    }
    Some(json!({"metadata": {"resourceVersion": version}, "status": status(spec)}))
}

/// Status after a comparison.
fn status(spec: &Value) -> Value {
    json!({
        "sync": {"status": "Synced", "revision": "4403172",
            "comparedTo": {"source": spec["source"], "destination": spec["destination"]}},
        "health": {"status": "Healthy"},
        "resources": [{"version": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "words", "status": "Synced"}],
    })
}

/// CustomResourceDefinitions of the kinds, with any content.
pub fn crds() -> Vec<Value> {
    let kind = |kind: &str, plural: &str| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.argoproj.io")},
            "spec": {"group": "argoproj.io", "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "listKind": format!("{kind}List"), "singular": kind.to_lowercase()},
                "versions": [{"name": "v1alpha1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                    {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
        })
    };
    vec![kind("Application", "applications"), kind("AppProject", "appprojects")]
}
