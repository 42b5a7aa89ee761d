//! Default objects of every namespace: the service account `default` and the authority's certificate.

use serde_json::{Value, json};

use super::client::{ControllerClient, RequestFailure};
use super::ownership_graph::{DEFAULT_ACCOUNT, ROOT_CERTIFICATE};
use crate::store::StoreKey;

const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
    endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
    distributions of Kubernetes clusters.";

/// Creates the missing default objects of a namespace.
pub(super) async fn provision(api: &ControllerClient, key: &StoreKey) -> Result<(), RequestFailure> {
    let Some(namespace) = api.object(key) else { return Ok(()) };
    if namespace["status"]["phase"] == "Terminating" || !namespace["metadata"]["deletionTimestamp"].is_null() {
        return Ok(());
    }
    let account = StoreKey::new(key.cluster(), "serviceaccounts", key.name(), DEFAULT_ACCOUNT);
    if api.inner.store.get(&account).is_none() {
        let object = json!({"metadata": {"name": DEFAULT_ACCOUNT, "namespace": key.name()}});
        ignore_vanished(api.create(&account, &object).await)?;
    }
    let authority = api.inner.auth_keys.authority.as_str();
    if authority.is_empty() {
        return Ok(());
    }
    let key = StoreKey::new(key.cluster(), "configmaps", key.name(), ROOT_CERTIFICATE);
    let data = json!({"ca.crt": authority});
    match api.object(&key) {
        None => ignore_vanished(api.create(&key, &root_certificate(&key, data)).await),
        Some(found) if found["data"] != data => {
            let metadata = api.metadata(&key).unwrap_or_default();
            // A merge would keep keys that a user added.
            let mut change: serde_json::Map<String, Value> = serde_json::Map::new();
            for key in found["data"].as_object().into_iter().flat_map(|d| d.keys()) {
                change.insert(key.clone(), Value::Null);
            }
            change.insert("ca.crt".into(), authority.into());
            api.merge(&key, &metadata, json!({"data": change})).await
        }
        Some(_) => Ok(()),
    }
}

fn root_certificate(key: &StoreKey, data: Value) -> Value {
    json!({
        "metadata": {
            "name": ROOT_CERTIFICATE, "namespace": key.namespace(),
            "annotations": {"kubernetes.io/description": DESCRIPTION},
        },
        "data": data,
    })
}

/// Ignores errors of a namespace that is terminating by now.
fn ignore_vanished(done: Result<(), RequestFailure>) -> Result<(), RequestFailure> {
    match done {
        Err(failed) if matches!(failed.code, 403 | 404) => Ok(()),
        other => other,
    }
}
