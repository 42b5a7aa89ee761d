//! Protection of volumes and claims: they are deleted once they are no longer in use.

use serde_json::{Value, json};

use super::client::{ControllerClient, RequestFailure};
use crate::store::StoreKey;

const CLAIM: &str = "kubernetes.io/pvc-protection";
const VOLUME: &str = "kubernetes.io/pv-protection";

/// Removes the protection finalizer of a deleted volume or claim that is not in use.
pub(super) async fn release(api: &ControllerClient, key: &StoreKey) -> Result<(), RequestFailure> {
    let Some(metadata) = api.metadata(key).filter(|metadata| metadata.is_deleting()) else { return Ok(()) };
    let is_claim = key.resource() == "persistentvolumeclaims";
    let finalizer = if is_claim { CLAIM } else { VOLUME };
    let used = if is_claim { claim_is_used(api, key) } else { volume_is_bound(api, key) };
    if used || !metadata.has_finalizer(finalizer) {
        return Ok(());
    }
    let kept: Vec<&String> = metadata.finalizers.iter().filter(|f| *f != finalizer).collect();
    let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
    api.merge(key, &metadata, json!({"metadata": {"finalizers": kept}})).await
}

fn claim_is_used(api: &ControllerClient, key: &StoreKey) -> bool {
    api.keys("pods", Some(key.namespace())).iter().filter_map(|pod| api.object(pod)).any(|pod| uses(&pod, key.name()))
}

/// Whether a pod uses a claim: it names the claim, and runs on a node or may still run.
pub(super) fn uses(pod: &Value, claim: &str) -> bool {
    // As in Kubernetes, an unscheduled pod does not keep a claim alive.
    if pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() {
        return false;
    }
    let over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let named = volumes.clone().any(|v| v["persistentVolumeClaim"]["claimName"] == claim);
    let own = pod["metadata"]["name"].as_str().unwrap_or_default();
    let ephemeral = volumes
        .filter(|v| v["ephemeral"].is_object())
        .any(|v| format!("{own}-{}", v["name"].as_str().unwrap_or_default()) == claim);
    !over && (named || ephemeral)
}

fn volume_is_bound(api: &ControllerClient, key: &StoreKey) -> bool {
    api.object(key).is_some_and(|volume| volume["status"]["phase"] == "Bound")
}
