//! The order in which writes are carried out: what others need comes first, deletions come last.

use crate::decision::Write;
use crate::plan::Act;
use crate::resource::Resource;

/// Writes of one object and subresource that could not become one, in their order.
pub(super) type Group = Vec<Write>;

const STATUS: u8 = 5;
/// Behind everything; deletions go through the classes backwards.
const DELETIONS: u8 = 10;

/// The writes of all groups: by class, and within a class in the operator's order.
pub(super) fn order(mut groups: Vec<Group>) -> Vec<Write> {
    // The sort is stable, so that an operator's order stays within a class.
    groups.sort_by_key(|group| group.last().map_or(0, class));
    groups.into_iter().flatten().collect()
}

fn class(write: &Write) -> u8 {
    let kind = kind_class(&write.mutation.resource);
    match write.mutation.act {
        Act::Delete { .. } => DELETIONS - kind,
        _ if write.mutation.subresource.is_some() => STATUS,
        _ => kind,
    }
}

fn kind_class(resource: &Resource) -> u8 {
    match (resource.group.as_ref(), resource.kind.as_ref()) {
        ("", "Namespace") => 0,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => 1,
        ("rbac.authorization.k8s.io", _) | ("", "ServiceAccount") => 2,
        ("apps" | "batch", _) | ("", "Pod" | "ReplicationController") => 4,
        _ => 3,
    }
}
