//! A pod may come before the service account of its new namespace; like upstream, it waits a moment for it.

use std::time::Duration;

use switchboard_object::Value;
use tokio::time::sleep;

use super::Call;
use crate::store::Key;

/// How often, and how far apart, the account is looked for: a second in all, as upstream does.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Returns when the service account of a new pod is there, or when it is not worth waiting for any longer.
pub(super) async fn arrive(call: &Call, object: &Value) {
    if call.resource.custom.is_some() || call.stored_resource() != "pods" {
        return;
    }
    let named = object["spec"]["serviceAccountName"].as_str().filter(|name| !name.is_empty()).unwrap_or("default");
    let stored = |resource: &str, namespace: &str, name: &str| {
        call.inner.store.get(&Key::new(call.logical.name(), resource, namespace, name)).is_some()
    };
    for _ in 0..TRIES {
        if stored("serviceaccounts", call.namespace(), named) || !stored("namespaces", "", call.namespace()) {
            return;
        }
        sleep(PAUSE).await;
    }
}
