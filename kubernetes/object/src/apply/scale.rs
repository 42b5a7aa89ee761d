//! Managed fields of the scale subresource.
//!
//! A `Scale` has no stored fields of its own: its replicas are owned by the managers that own the replicas of the
//! parent resource. These entries are copied to the `Scale`, [`update`](super::update) records the write there, and the
//! result is copied back to the parent.

use std::borrow::Cow;

use crate::Value;

use super::element::PathElement;
use super::entries::{ManagedFields, ManagedFieldsEntry};
use super::set::FieldSet;

const SCALE_VERSION: &str = "autoscaling/v1";
const REPLICAS_IN_SCALE: &[&str] = &["spec", "replicas"];

/// Path of a kind's replicas by `apiVersion`; `None` for a version without the scale subresource.
pub type ReplicasPaths<'a> = [(&'a str, Option<&'a [&'a str]>)];

/// Returns the `managedFields` of the `Scale` of a resource whose own list is `parent`: the owners of the replicas.
pub fn scale_entries(parent: Option<&Value>, paths: &ReplicasPaths<'_>) -> Option<Value> {
    let mut entries = ManagedFields::decode(parent).ok()?;
    entries.0.retain(|entry| path_of(paths, &entry.api_version).flatten().is_some_and(|path| has(&entry.set, path)));
    for entry in &mut entries.0 {
        entry.set = FieldSet::of_fields(&[REPLICAS_IN_SCALE]);
        entry.api_version = Cow::Borrowed(SCALE_VERSION);
    }
    entries.encode()
}

/// Returns the `managedFields` of the resource after a write of its `Scale`, whose list is `scale`. `api_version` is
/// that of the resource.
pub fn parent_entries(
    parent: Option<&Value>,
    scale: Option<&Value>,
    api_version: &str,
    paths: &ReplicasPaths<'_>,
) -> Option<Value> {
    let parent = ManagedFields::decode(parent).ok()?;
    let mut scaled = ManagedFields::decode(scale).ok()?;
    let mut out = ManagedFields::default();
    for mut entry in parent.0 {
        // Entries of versions that are no longer served are dropped.
        let Some(path) = path_of(paths, &entry.api_version) else { continue };
        let owned = path.filter(|path| has(&entry.set, path));
        match (owned, scaled.0.iter().position(|s| s.same_identity(&entry))) {
            (None, _) => out.0.push(entry),
            (Some(_), Some(kept)) => {
                scaled.0.remove(kept);
                out.0.push(entry);
            }
            (Some(path), None) => {
                entry.set = entry.set.difference(&FieldSet::of_fields(&[path]));
                if !entry.set.is_empty() {
                    out.0.push(entry);
                }
            }
        }
    }
    let path = path_of(paths, api_version).flatten()?;
    for entry in scaled.0.into_iter().filter(|entry| has(&entry.set, REPLICAS_IN_SCALE)) {
        // kube-apiserver looks up the time among the resource's entries, where there is none.
        let set = FieldSet::of_fields(&[path]);
        out.0.push(ManagedFieldsEntry { set, api_version: Cow::Borrowed(api_version), time: None, ..entry });
    }
    out.encode()
}

fn path_of<'p>(paths: &ReplicasPaths<'p>, api_version: &str) -> Option<Option<&'p [&'p str]>> {
    paths.iter().find(|(version, _)| *version == api_version).map(|(_, path)| *path)
}

fn has(set: &FieldSet<'_>, path: &[&str]) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    let mut level = set;
    for field in parents {
        match level.get(&PathElement::Field(field)) {
            Some(node) => level = &node.children,
            None => return false,
        }
    }
    level.get(&PathElement::Field(last)).is_some_and(|node| node.member)
}
