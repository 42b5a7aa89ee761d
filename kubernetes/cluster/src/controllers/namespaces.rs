//! Namespace termination: everything in it is deleted, then its own finalizer is removed.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};

use super::BATCH_SIZE;
use super::client::{ControllerClient, RequestFailure};
use super::ownership_graph::OwnershipMetadata;
use crate::store::StoreKey;

/// Finalizer in a namespace's spec that represents its content.
const FINALIZER: &str = "kubernetes";
/// Type, and reason and message of the good state, in the order of the status.
const CONDITIONS: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

/// Remaining content of a namespace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RemainingContent {
    /// Number of objects by `<plural>.<group>`.
    pub resources: BTreeMap<String, usize>,
    /// Number of objects by finalizer.
    pub finalizers: BTreeMap<String, usize>,
    /// Errors of deletions.
    pub errors: Vec<String>,
}

/// Deletes the content of the namespace. Once nothing is left, removes the namespace.
pub(super) async fn terminate(api: &ControllerClient, key: &StoreKey) -> Result<(), RequestFailure> {
    let Some(namespace) = api.object(key) else { return Ok(()) };
    let own = namespace["spec"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|f| f == FINALIZER));
    if namespace["metadata"]["deletionTimestamp"].is_null() || !own {
        return Ok(());
    }
    let remains = delete_content(api, key.name()).await;
    if !remains.is_empty() {
        return report_remaining_content(api, key, &namespace, &remains).await;
    }
    report_remaining_content(api, key, &namespace, &remains).await?;
    finalize(api, key).await
}

async fn delete_content(api: &ControllerClient, namespace: &str) -> RemainingContent {
    let mut remains = RemainingContent::default();
    // Pods are deleted first, so that the objects they use outlive them.
    delete_all(api, "pods", namespace, &mut remains).await;
    if !remains.resources.is_empty() {
        // Kubernetes does not count other objects while it waits for pods.
        return remains;
    }
    let registry = api.logical.registry();
    let mut resources = BTreeSet::new();
    for group in registry.groups() {
        let served = group.versions.iter().flat_map(|version| &version.resources);
        for resource in served.filter(|r| r.namespaced && r.verbs.iter().any(|verb| &**verb == "delete")) {
            resources.insert(resource.group_resource().to_string());
        }
    }
    for resource in resources {
        delete_all(api, &resource, namespace, &mut remains).await;
    }
    remains
}

async fn delete_all(api: &ControllerClient, resource: &str, namespace: &str, remains: &mut RemainingContent) {
    let keys = api.keys(resource, Some(namespace));
    for some in keys.chunks(BATCH_SIZE) {
        let deletes = some.iter().map(|key| async move {
            let metadata = api.metadata(key)?;
            if metadata.is_deleting() { None } else { api.delete(key, &metadata, "Background").await.err() }
        });
        let failed = join_all(deletes).await.into_iter().flatten();
        // A conflict means that another client wrote meanwhile; its change enqueues the item again.
        remains.errors.extend(failed.filter(|f| f.code != 409).map(|f| f.message));
    }
    let left: Vec<OwnershipMetadata> =
        api.keys(resource, Some(namespace)).iter().filter_map(|key| api.metadata(key)).collect();
    remains.count(resource, &left);
}

impl RemainingContent {
    fn count(&mut self, resource: &str, left: &[OwnershipMetadata]) {
        if left.is_empty() {
            return;
        }
        // The core group's name is empty, but Kubernetes still writes the dot.
        let name = if resource.contains('.') { resource.to_string() } else { format!("{resource}.") };
        self.resources.insert(name, left.len());
        for finalizer in left.iter().flat_map(|metadata| &metadata.finalizers) {
            *self.finalizers.entry(finalizer.clone()).or_default() += 1;
        }
    }

    fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.errors.is_empty()
    }

    /// Returns reason and message of a condition in the bad state.
    fn condition_failure(&self, condition: &str) -> Option<(&'static str, String)> {
        let list = |items: &BTreeMap<String, usize>, words: &str, after: &str| {
            let each: Vec<String> =
                items.iter().map(|(name, count)| format!("{name} {words} {count} {after}")).collect();
            each.join(", ")
        };
        match condition {
            "NamespaceDeletionContentFailure" if !self.errors.is_empty() => {
                let mut errors = self.errors.clone();
                errors.sort();
                let message =
                    format!("Failed to delete all resource types, {} remaining: {}", errors.len(), errors.join(", "));
                Some(("ContentDeletionFailed", message))
            }
            "NamespaceContentRemaining" if !self.resources.is_empty() => {
                let what = list(&self.resources, "has", "resource instances");
                Some(("SomeResourcesRemain", format!("Some resources are remaining: {what}")))
            }
            "NamespaceFinalizersRemaining" if !self.finalizers.is_empty() => {
                let what = list(&self.finalizers, "in", "resource instances");
                let message = format!("Some content in the namespace has finalizers remaining: {what}");
                Some(("SomeFinalizersRemain", message))
            }
            _ => None,
        }
    }

    /// Updates the conditions of the status.
    pub fn conditions(&self, old: &Value, now: &str) -> Value {
        let mut conditions: Vec<Value> = old.as_array().cloned().unwrap_or_default();
        for (kind, reason, message) in CONDITIONS {
            let (status, reason, message) = match self.condition_failure(kind) {
                Some((reason, message)) => ("True", reason, message),
                None => ("False", reason, message.to_string()),
            };
            let fresh = json!({
                "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now,
            });
            match conditions.iter_mut().find(|c| c["type"] == kind) {
                Some(known) if known["status"] == status => {
                    known["reason"] = reason.into();
                    known["message"] = fresh["message"].clone();
                }
                Some(known) => *known = fresh,
                None => conditions.push(fresh),
            }
        }
        conditions.into()
    }
}

/// Reports the remaining content in the status.
async fn report_remaining_content(
    api: &ControllerClient,
    key: &StoreKey,
    namespace: &Value,
    remains: &RemainingContent,
) -> Result<(), RequestFailure> {
    let old = &namespace["status"]["conditions"];
    let conditions = remains.conditions(old, &api.inner.clock_and_rng.now_text());
    if *old == conditions {
        return Ok(());
    }
    let mut changed = namespace.clone();
    changed["status"]["conditions"] = conditions;
    api.send_object_request(Method::PUT, key, "/status", "application/json", &changed).await.map(drop)
}

async fn finalize(api: &ControllerClient, key: &StoreKey) -> Result<(), RequestFailure> {
    let Some(mut namespace) = api.object(key) else { return Ok(()) };
    if let Some(finalizers) = namespace["spec"]["finalizers"].as_array_mut() {
        finalizers.retain(|f| f != FINALIZER);
    }
    api.send_object_request(Method::PUT, key, "/finalize", "application/json", &namespace).await.map(drop)
}
