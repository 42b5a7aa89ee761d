//! Namespace lifecycle admission: the namespace of a write must exist, and must not be terminating for a create.

use serde_json::json;
use switchboard_object::kind::GroupResource;
use switchboard_object::status::Status;

use super::ApiCall;
use crate::store::StoreKey;
use crate::wire;

/// Namespaces that cannot be deleted.
pub(super) const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Returns an error for a create in a namespace that does not exist or is terminating.
pub(super) fn check_create(call: &ApiCall, name: &str) -> Result<(), Status> {
    let Some(phase) = phase(call)? else { return Ok(()) };
    if phase != "Terminating" {
        return Ok(());
    }
    let namespace = call.namespace();
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(&call.resource.group_resource(), name, &why);
    if let Some(details) = &mut status.details {
        details["causes"] = json!([{
            "reason": "NamespaceTerminating",
            "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        }]);
    }
    Err(status)
}

/// Returns an error for an update in a namespace that does not exist.
pub(super) fn check_update(call: &ApiCall) -> Result<(), Status> {
    phase(call).map(|_| ())
}

/// Returns the phase of the request's namespace; `None` for cluster-scoped resources.
fn phase(call: &ApiCall) -> Result<Option<String>, Status> {
    let namespace = call.namespace();
    if namespace.is_empty() {
        return Ok(None);
    }
    let key = StoreKey::new(call.logical.name(), "namespaces", "", namespace);
    let found = call.inner.store.get(&key);
    // A dump may be a part of a cluster, so a namespace that is not in it may exist.
    if found.is_none() && call.inner.recorder.get().is_some() {
        return Ok(None);
    }
    let found = found.ok_or_else(|| Status::not_found(&GroupResource::new("", "namespaces"), namespace))?;
    let object = wire::parse(&found.bytes);
    Ok(Some(object["status"]["phase"].as_str().unwrap_or_default().to_string()))
}
