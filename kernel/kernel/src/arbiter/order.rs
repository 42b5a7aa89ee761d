//! Execution order of writes: dependencies first, deletions last.

use std::cmp::Ordering;

use crate::decision::Write;
use crate::plan::WriteOp;
use crate::resource::Resource;

/// Writes to one object and subresource that could not be squashed into one, in their order.
pub(super) type WriteGroup = Vec<Write>;

const STATUS: u8 = 5;
/// Class of deletions, behind all others; they go through the classes backwards.
const DELETIONS: u8 = 10;

/// Orders the writes of all groups by class, kind and name, independent of the operator's order. A group is placed
/// where its last write belongs, so that an object that is deleted and recreated exists before writes that need it.
pub(super) fn order(mut groups: Vec<WriteGroup>) -> Vec<Write> {
    // The sort is stable: equal entries are writes that were not squashed on purpose.
    groups.sort_by(|a, b| match (a.last(), b.last()) {
        (Some(a), Some(b)) => compare(a, b),
        _ => a.len().cmp(&b.len()),
    });
    groups.into_iter().flatten().collect()
}

fn compare(a: &Write, b: &Write) -> Ordering {
    let names = |write: &Write| (write.object.clone(), write.mutation.subresource.clone());
    let by_class = class(a).cmp(&class(b));
    // Deletions go backwards within a class too: a RoleBinding is deleted before its Role.
    by_class.then_with(|| if deletes(a) { names(b).cmp(&names(a)) } else { names(a).cmp(&names(b)) })
}

fn deletes(write: &Write) -> bool {
    matches!(write.mutation.operation, WriteOp::Delete { .. })
}

fn class(write: &Write) -> u8 {
    let kind = kind_class(&write.mutation.resource);
    match write.mutation.subresource {
        _ if deletes(write) => DELETIONS - kind,
        Some(_) => STATUS,
        None => kind,
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
