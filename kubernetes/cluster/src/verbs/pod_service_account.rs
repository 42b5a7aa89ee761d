//! Service account of a new Pod. As in Kubernetes, a Pod in a new namespace waits briefly for the account to be
//! created.

use std::time::Duration;

use switchboard_object::Value;
use tokio::time::sleep;

use super::ApiCall;
use crate::store::StoreKey;

/// Number of lookups of the account. With the interval this is one second, as in Kubernetes.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until the service account of a new Pod exists, at most for the number of lookups.
pub(super) async fn wait_for_service_account(call: &ApiCall, object: &Value) {
    if call.resource.custom.is_some() || call.stored_resource() != "pods" {
        return;
    }
    let named = object["spec"]["serviceAccountName"].as_str().filter(|name| !name.is_empty()).unwrap_or("default");
    let stored = |resource: &str, namespace: &str, name: &str| {
        call.inner.store.get(&StoreKey::new(call.logical.name(), resource, namespace, name)).is_some()
    };
    for _ in 0..TRIES {
        if stored("serviceaccounts", call.namespace(), named) || !stored("namespaces", "", call.namespace()) {
            return;
        }
        sleep(PAUSE).await;
    }
}
