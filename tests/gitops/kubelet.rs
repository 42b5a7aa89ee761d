//! Simulated kubelet, which reports a status for each Deployment without running anything.

use std::time::Duration;

use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

/// Name of an image that never starts.
pub const BROKEN: &str = "broken";

const REPORT_INTERVAL: Duration = Duration::from_millis(200);

pub struct DeploymentKubelet(tokio::task::JoinHandle<()>);

impl DeploymentKubelet {
    pub fn start(client: kube::Client) -> DeploymentKubelet {
        DeploymentKubelet(tokio::spawn(async move {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment"));
            let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            loop {
                // Ignore errors: an unavailable API server returns, or the test ends.
                for deployment in all.list(&ListParams::default()).await.into_iter().flatten() {
                    report(&client, &resource, &serde_json::to_value(deployment).unwrap()).await;
                }
                tokio::time::sleep(REPORT_INTERVAL).await;
            }
        }))
    }
}

async fn report(client: &kube::Client, resource: &ApiResource, deployment: &Value) {
    let text = |key: &str| deployment["metadata"][key].as_str().unwrap_or_default();
    let status = status(deployment);
    if deployment["status"] == status {
        return;
    }
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), text("namespace"), resource);
    // Ignore Deployments that were deleted in the meantime.
    let _ = api.patch_status(text("name"), &PatchParams::default(), &Patch::Merge(json!({ "status": status }))).await;
}

fn status(deployment: &Value) -> Value {
    let replicas = &deployment["spec"]["replicas"];
    let generation = &deployment["metadata"]["generation"];
    let broken = deployment["spec"]["template"]["spec"]["containers"][0]["image"] == BROKEN;
    let time = &deployment["metadata"]["creationTimestamp"];
    if broken {
        let late = json!({
            "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "it never starts",
            "lastUpdateTime": time, "lastTransitionTime": time,
        });
        return json!({ "observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": null, "availableReplicas": null, "conditions": [late] });
    }
    let fine = json!({
        "type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "it runs",
        "lastUpdateTime": time, "lastTransitionTime": time,
    });
    json!({
        "observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas,
        "availableReplicas": replicas, "conditions": [fine],
    })
}

impl Drop for DeploymentKubelet {
    fn drop(&mut self) {
        self.0.abort();
    }
}
