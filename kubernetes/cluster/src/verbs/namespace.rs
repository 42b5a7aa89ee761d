//! What the namespace says about a write: it must exist, and take new content.

use serde_json::json;
use switchboard_object::kind::GroupResource;
use switchboard_object::status::Status;

use super::Call;
use crate::store::Key;
use crate::wire;

/// Namespaces nobody may delete.
pub(super) const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Refuses a create in a namespace that does not exist or is going away.
pub(super) fn check_create(call: &Call, name: &str) -> Result<(), Status> {
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

/// Refuses an update in a namespace that does not exist.
pub(super) fn check_update(call: &Call) -> Result<(), Status> {
    phase(call).map(|_| ())
}

/// The phase of the request's namespace; `None` for cluster-scoped resources.
fn phase(call: &Call) -> Result<Option<String>, Status> {
    let namespace = call.namespace();
    if namespace.is_empty() {
        return Ok(None);
    }
    let key = Key::new(call.logical.name(), "namespaces", "", namespace);
    let found = call.inner.store.get(&key);
    // A dump may be a part of a cluster; what it does not have may be there all the same.
    if found.is_none() && call.inner.recorder.get().is_some() {
        return Ok(None);
    }
    let found = found.ok_or_else(|| Status::not_found(&GroupResource::new("", "namespaces"), namespace))?;
    let object = wire::parse(&found.bytes);
    Ok(Some(object["status"]["phase"].as_str().unwrap_or_default().to_string()))
}
