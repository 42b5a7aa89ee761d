//! The garbage collector: dependents follow their owners, or are set free.

use serde_json::json;
use switchboard_object::kind::GroupVersion;

use super::api::{Api, Failed};
use super::graph::{FOREGROUND, Graph, Metadata, ORPHAN, OwnerReference};
use crate::store::Key;

/// What an owner reference points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The owner lives.
    Solid,
    /// There is no such object, or another one of that name.
    Absent,
    /// The owner is deleted and waits for its dependents.
    Waiting,
    /// Nobody serves the owner's kind, so nobody can say.
    Unknown,
    /// A namespaced object cannot own one of the cluster scope.
    WrongScope,
}

/// What is to be done with a dependent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Keep,
    /// Drop the references to the owners of these uids.
    Release(Vec<String>),
    /// Delete it, its own dependents first, last or never.
    Delete(&'static str),
}

/// Decides over a dependent that is not being deleted itself. `has_dependents`: it owns objects.
pub(super) fn judge(dependent: &Metadata, owners: &[Owner], has_dependents: bool) -> Verdict {
    if owners.is_empty() || owners.iter().any(|owner| matches!(owner, Owner::Unknown | Owner::WrongScope)) {
        return Verdict::Keep;
    }
    let waiting = owners.contains(&Owner::Waiting);
    if owners.contains(&Owner::Solid) {
        let ended = dependent.owner_references.iter().zip(owners).filter(|(_, owner)| **owner != Owner::Solid);
        let uids: Vec<String> = ended.map(|(reference, _)| reference.uid.clone()).collect();
        return if uids.is_empty() { Verdict::Keep } else { Verdict::Release(uids) };
    }
    if waiting && has_dependents {
        return Verdict::Delete("Foreground");
    }
    Verdict::Delete(match () {
        () if dependent.has(ORPHAN) => "Orphan",
        () if dependent.has(FOREGROUND) => "Foreground",
        () => "Background",
    })
}

/// Looks at an object's owners, or at what it waits for, and acts.
pub(super) async fn collect(api: &Api, graph: &Graph, key: &Key) -> Result<(), Failed> {
    let Some(metadata) = api.metadata(key) else { return Ok(()) };
    if metadata.waits_for_dependents() {
        return finish_foreground(api, graph, key, &metadata).await;
    }
    if metadata.is_going() {
        return Ok(());
    }
    let owners: Vec<Owner> = metadata.owner_references.iter().map(|owner| look_up(api, key, owner)).collect();
    if owners.contains(&Owner::Unknown) {
        graph.postpone(key);
    }
    let has_dependents = graph.dependents(&metadata.uid).next().is_some();
    match judge(&metadata, &owners, has_dependents) {
        Verdict::Keep => Ok(()),
        Verdict::Release(uids) => release(api, key, &metadata, &uids).await,
        Verdict::Delete(propagation) => {
            if propagation == "Foreground" {
                break_circle(api, graph, key, &metadata).await?;
            }
            api.delete(key, &metadata, propagation).await
        }
    }
}

fn look_up(api: &Api, dependent: &Key, owner: &OwnerReference) -> Owner {
    let registry = api.logical.registry();
    let resource = GroupVersion::parse(&owner.api_version)
        .and_then(|version| registry.by_kind(&version.group, &version.version, &owner.kind));
    let Some(resource) = resource else { return Owner::Unknown };
    if resource.namespaced && dependent.namespace().is_empty() {
        return Owner::WrongScope;
    }
    let namespace = if resource.namespaced { dependent.namespace() } else { "" };
    let key = Key::new(dependent.cluster(), &resource.group_resource().to_string(), namespace, &owner.name);
    match api.metadata(&key) {
        Some(found) if found.uid != owner.uid => Owner::Absent,
        Some(found) if found.waits_for_dependents() => Owner::Waiting,
        Some(_) => Owner::Solid,
        None => Owner::Absent,
    }
}

/// An object that waits for its dependents goes when none of them blocks it any more.
async fn finish_foreground(api: &Api, graph: &Graph, key: &Key, metadata: &Metadata) -> Result<(), Failed> {
    let blocked = graph.dependents(&metadata.uid).any(|(dependent, blocks)| blocks && dependent != key);
    if blocked { Ok(()) } else { drop_finalizer(api, key, metadata, FOREGROUND).await }
}

/// Two objects that own each other, both waiting for their dependents, would wait for ever: when a dependent of this
/// one waits already, this one no longer blocks its owners.
async fn break_circle(api: &Api, graph: &Graph, key: &Key, metadata: &Metadata) -> Result<(), Failed> {
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
    // The delete that follows is for the object as it was; it comes back with the change just made.
    Err(Failed { code: 409, message: "the object was just changed".into() })
}

/// Lets the dependents of a deleted object live without it.
pub(super) async fn orphan(api: &Api, graph: &Graph, key: &Key) -> Result<(), Failed> {
    let Some(metadata) = api.metadata(key).filter(|m| m.is_going() && m.has(ORPHAN)) else { return Ok(()) };
    for (dependent, _) in graph.dependents(&metadata.uid) {
        if let Some(found) = api.metadata(dependent) {
            release(api, dependent, &found, std::slice::from_ref(&metadata.uid)).await?;
        }
    }
    drop_finalizer(api, key, &metadata, ORPHAN).await
}

async fn release(api: &Api, key: &Key, metadata: &Metadata, uids: &[String]) -> Result<(), Failed> {
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

async fn drop_finalizer(api: &Api, key: &Key, metadata: &Metadata, finalizer: &str) -> Result<(), Failed> {
    let kept: Vec<&String> = metadata.finalizers.iter().filter(|f| *f != finalizer).collect();
    let kept = if kept.is_empty() { json!(null) } else { json!(kept) };
    api.merge(key, metadata, json!({"metadata": {"finalizers": kept}})).await
}
