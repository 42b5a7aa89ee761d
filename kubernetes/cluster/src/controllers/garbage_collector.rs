//! Garbage collector: deletes dependents with their owners, or releases them.

use serde_json::json;
use switchboard_object::kind::GroupVersion;

use super::client::{ControllerClient, RequestFailure};
use super::ownership_graph::{FOREGROUND, ORPHAN, OwnerReference, OwnershipGraph, OwnershipMetadata};
use crate::store::StoreKey;

/// State of the owner that an owner reference names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerState {
    /// The owner exists.
    Solid,
    /// There is no such object, or another one with that name.
    Absent,
    /// The owner is deleted and waits for its dependents.
    Waiting,
    /// The owner's kind is not served, so its state is unknown.
    Unknown,
    /// A namespaced object cannot own a cluster-scoped one.
    WrongScope,
}

/// Action on a dependent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GarbageAction {
    /// No action.
    Keep,
    /// Remove the references to the owners with these uids.
    Release(Vec<String>),
    /// Delete the dependent, with this propagation policy.
    Delete(&'static str),
}

/// Decides about a dependent that is not being deleted itself. `has_dependents` is whether it owns objects.
pub(super) fn garbage_action(
    dependent: &OwnershipMetadata,
    owners: &[OwnerState],
    has_dependents: bool,
) -> GarbageAction {
    if owners.is_empty() || owners.iter().any(|owner| matches!(owner, OwnerState::Unknown | OwnerState::WrongScope)) {
        return GarbageAction::Keep;
    }
    let waiting = owners.contains(&OwnerState::Waiting);
    if owners.contains(&OwnerState::Solid) {
        let ended = dependent.owner_references.iter().zip(owners).filter(|(_, owner)| **owner != OwnerState::Solid);
        let uids: Vec<String> = ended.map(|(reference, _)| reference.uid.clone()).collect();
        return if uids.is_empty() { GarbageAction::Keep } else { GarbageAction::Release(uids) };
    }
    if waiting && has_dependents {
        return GarbageAction::Delete("Foreground");
    }
    GarbageAction::Delete(match () {
        () if dependent.has_finalizer(ORPHAN) => "Orphan",
        () if dependent.has_finalizer(FOREGROUND) => "Foreground",
        () => "Background",
    })
}

/// Checks an object's owners, or the dependents it waits for, and acts.
pub(super) async fn collect(
    api: &ControllerClient,
    graph: &OwnershipGraph,
    key: &StoreKey,
) -> Result<(), RequestFailure> {
    let Some(metadata) = api.metadata(key) else { return Ok(()) };
    if metadata.waits_for_dependents() {
        return finish_foreground(api, graph, key, &metadata).await;
    }
    if metadata.is_deleting() {
        return Ok(());
    }
    let owners: Vec<OwnerState> = metadata.owner_references.iter().map(|owner| look_up(api, key, owner)).collect();
    if owners.contains(&OwnerState::Unknown) {
        graph.postpone(key);
    }
    let has_dependents = graph.dependents(&metadata.uid).next().is_some();
    match garbage_action(&metadata, &owners, has_dependents) {
        GarbageAction::Keep => Ok(()),
        GarbageAction::Release(uids) => release(api, key, &metadata, &uids).await,
        GarbageAction::Delete(propagation) => {
            if propagation == "Foreground" {
                break_cycle(api, graph, key, &metadata).await?;
            }
            api.delete(key, &metadata, propagation).await
        }
    }
}

fn look_up(api: &ControllerClient, dependent: &StoreKey, owner: &OwnerReference) -> OwnerState {
    let registry = api.logical.registry();
    let resource = GroupVersion::parse(&owner.api_version)
        .and_then(|version| registry.by_kind(&version.group, &version.version, &owner.kind));
    let Some(resource) = resource else { return OwnerState::Unknown };
    if resource.namespaced && dependent.namespace().is_empty() {
        return OwnerState::WrongScope;
    }
    let namespace = if resource.namespaced { dependent.namespace() } else { "" };
    let key = StoreKey::new(dependent.cluster(), &resource.group_resource().to_string(), namespace, &owner.name);
    match api.metadata(&key) {
        Some(found) if found.uid != owner.uid => OwnerState::Absent,
        Some(found) if found.waits_for_dependents() => OwnerState::Waiting,
        Some(_) => OwnerState::Solid,
        None => OwnerState::Absent,
    }
}

/// Finishes the foreground deletion of an object once no dependent blocks it.
async fn finish_foreground(
    api: &ControllerClient,
    graph: &OwnershipGraph,
    key: &StoreKey,
    metadata: &OwnershipMetadata,
) -> Result<(), RequestFailure> {
    let blocked = graph.dependents(&metadata.uid).any(|(dependent, blocks)| blocks && dependent != key);
    if blocked { Ok(()) } else { drop_finalizer(api, key, metadata, FOREGROUND).await }
}

/// Breaks ownership cycles in foreground deletion, which would never finish: if a dependent of this object waits for
/// its own dependents already, this object no longer blocks its owners.
async fn break_cycle(
    api: &ControllerClient,
    graph: &OwnershipGraph,
    key: &StoreKey,
    metadata: &OwnershipMetadata,
) -> Result<(), RequestFailure> {
    let circle = graph
        .dependents(&metadata.uid)
        .any(|(dependent, _)| api.metadata(dependent).is_some_and(|m| m.waits_for_dependents()));
    let blocks = metadata.owner_references.iter().any(|owner| owner.block_owner_deletion == Some(true));
    if !circle || !blocks {
        return Ok(());
    }
    let Some(object) = api.object(key) else { return Ok(()) };
    let mut references = object["metadata"]["ownerReferences"].clone();
    for reference in references.as_array_mut().into_iter().flatten() {
        reference["blockOwnerDeletion"] = false.into();
    }
    api.merge(key, metadata, json!({"metadata": {"ownerReferences": references}})).await?;
    // The delete that follows has the object's old revision as its precondition, so the item is retried after this
    // change.
    Err(RequestFailure { code: 409, message: "the object was just changed".into() })
}

/// Orphans the dependents of a deleted object.
pub(super) async fn orphan(
    api: &ControllerClient,
    graph: &OwnershipGraph,
    key: &StoreKey,
) -> Result<(), RequestFailure> {
    let Some(metadata) = api.metadata(key).filter(|m| m.is_deleting() && m.has_finalizer(ORPHAN)) else {
        return Ok(());
    };
    for (dependent, _) in graph.dependents(&metadata.uid) {
        if let Some(found) = api.metadata(dependent) {
            release(api, dependent, &found, std::slice::from_ref(&metadata.uid)).await?;
        }
    }
    drop_finalizer(api, key, &metadata, ORPHAN).await
}

async fn release(
    api: &ControllerClient,
    key: &StoreKey,
    metadata: &OwnershipMetadata,
    uids: &[String],
) -> Result<(), RequestFailure> {
    let Some(mut object) = api.object(key) else { return Ok(()) };
    let Some(references) = object["metadata"]["ownerReferences"].as_array_mut() else { return Ok(()) };
    let count = references.len();
    references.retain(|reference| !uids.iter().any(|uid| reference["uid"] == uid.as_str()));
    if references.len() == count {
        return Ok(());
    }
    let kept = if references.is_empty() { json!(null) } else { json!(references) };
    api.merge(key, metadata, json!({"metadata": {"ownerReferences": kept}})).await
}

async fn drop_finalizer(
    api: &ControllerClient,
    key: &StoreKey,
    metadata: &OwnershipMetadata,
    finalizer: &str,
) -> Result<(), RequestFailure> {
    let kept: Vec<&String> = metadata.finalizers.iter().filter(|f| *f != finalizer).collect();
    let kept = if kept.is_empty() { json!(null) } else { json!(kept) };
    api.merge(key, metadata, json!({"metadata": {"finalizers": kept}})).await
}
