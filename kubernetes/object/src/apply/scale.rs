//! Managed fields across the scale subresource.
//!
//! A `Scale` has no fields of its own: who owns its replicas is who owns the replicas of the resource behind it. The
//! entries are handed to the `Scale`, the write is recorded there by [`update`](super::update), and handed back.

use std::borrow::Cow;

use crate::Value;

use super::element::Element;
use super::entries::{Entries, Entry};
use super::set::Set;

const SCALE_VERSION: &str = "autoscaling/v1";
const REPLICAS_IN_SCALE: &[&str] = &["spec", "replicas"];

/// Where a kind keeps its replicas, by `apiVersion`: the path, or `None` for a version without the scale subresource.
pub type ReplicasPaths<'a> = [(&'a str, Option<&'a [&'a str]>)];

/// The `managedFields` of the `Scale` of a resource that has `parent` as its own: the owners of the replicas.
pub fn scale_entries(parent: Option<&Value>, paths: &ReplicasPaths<'_>) -> Option<Value> {
    let mut entries = Entries::decode(parent).ok()?;
    entries.0.retain(|entry| path_of(paths, &entry.api_version).flatten().is_some_and(|path| has(&entry.set, path)));
    for entry in &mut entries.0 {
        entry.set = Set::of_fields(&[REPLICAS_IN_SCALE]);
        entry.api_version = Cow::Borrowed(SCALE_VERSION);
    }
    entries.encode()
}

/// The `managedFields` of the resource after its `Scale`, which has `scale` as its own, was written. `api_version` is the
/// resource's.
pub fn parent_entries(
    parent: Option<&Value>,
    scale: Option<&Value>,
    api_version: &str,
    paths: &ReplicasPaths<'_>,
) -> Option<Value> {
    let parent = Entries::decode(parent).ok()?;
    let mut scaled = Entries::decode(scale).ok()?;
    let mut out = Entries::default();
    for mut entry in parent.0 {
        // Entries of versions that are gone are dropped.
        let Some(path) = path_of(paths, &entry.api_version) else { continue };
        let owned = path.filter(|path| has(&entry.set, path));
        match (owned, scaled.0.iter().position(|s| s.same_identity(&entry))) {
            (None, _) => out.0.push(entry),
            (Some(_), Some(kept)) => {
                scaled.0.remove(kept);
                out.0.push(entry);
            }
            (Some(path), None) => {
                entry.set = entry.set.difference(&Set::of_fields(&[path]));
                if !entry.set.is_empty() {
                    out.0.push(entry);
                }
            }
        }
    }
    let path = path_of(paths, api_version).flatten()?;
    for entry in scaled.0.into_iter().filter(|entry| has(&entry.set, REPLICAS_IN_SCALE)) {
        // Upstream looks up the time among the resource's entries, where there is none.
        let set = Set::of_fields(&[path]);
        out.0.push(Entry { set, api_version: Cow::Borrowed(api_version), time: None, ..entry });
    }
    out.encode()
}

fn path_of<'p>(paths: &ReplicasPaths<'p>, api_version: &str) -> Option<Option<&'p [&'p str]>> {
    paths.iter().find(|(version, _)| *version == api_version).map(|(_, path)| *path)
}

fn has(set: &Set<'_>, path: &[&str]) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    let mut level = set;
    for field in parents {
        match level.get(&Element::Field(field)) {
            Some(node) => level = &node.children,
            None => return false,
        }
    }
    level.get(&Element::Field(last)).is_some_and(|node| node.member)
}
