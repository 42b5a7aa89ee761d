//! Volumes and claims in use are deleted only when nobody uses them any more.

use serde_json::{Value, json};

use super::api::{Api, Failed};
use crate::store::Key;

const CLAIM: &str = "kubernetes.io/pvc-protection";
const VOLUME: &str = "kubernetes.io/pv-protection";

/// Removes the protection of a deleted volume or claim that nobody uses.
pub(super) async fn release(api: &Api, key: &Key) -> Result<(), Failed> {
    let Some(metadata) = api.metadata(key).filter(|metadata| metadata.is_going()) else { return Ok(()) };
    let is_claim = key.resource() == "persistentvolumeclaims";
    let finalizer = if is_claim { CLAIM } else { VOLUME };
    let used = if is_claim { claim_is_used(api, key) } else { volume_is_bound(api, key) };
    if used || !metadata.has(finalizer) {
        return Ok(());
    }
    let kept: Vec<&String> = metadata.finalizers.iter().filter(|f| *f != finalizer).collect();
    let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
    api.merge(key, &metadata, json!({"metadata": {"finalizers": kept}})).await
}

fn claim_is_used(api: &Api, key: &Key) -> bool {
    api.keys("pods", Some(key.namespace())).iter().filter_map(|pod| api.object(pod)).any(|pod| uses(&pod, key.name()))
}

/// A pod that runs on a node, or may still come to run, uses the claims it names.
pub(super) fn uses(pod: &Value, claim: &str) -> bool {
    // A pod that no node has taken does not keep a claim alive, as upstream.
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

fn volume_is_bound(api: &Api, key: &Key) -> bool {
    api.object(key).is_some_and(|volume| volume["status"]["phase"] == "Bound")
}
