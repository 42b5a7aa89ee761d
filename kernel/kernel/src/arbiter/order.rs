//! The order in which writes are carried out: what others need comes first, deletions come last.

use std::cmp::Ordering;

use crate::decision::Write;
use crate::plan::Act;
use crate::resource::Resource;

/// Writes of one object and subresource that could not become one, in their order.
pub(super) type Group = Vec<Write>;

const STATUS: u8 = 5;
/// Behind everything; deletions go through the classes backwards.
const DELETIONS: u8 = 10;

/// The writes of all groups: by class, and within a class by kind and name, whatever order the operator gave them in. A
/// group stands where its last write belongs, so that an object which is deleted and made anew is there for what needs it.
pub(super) fn order(mut groups: Vec<Group>) -> Vec<Write> {
    // The sort is stable: what is equal are writes that were kept apart on purpose.
    groups.sort_by(|a, b| match (a.last(), b.last()) {
        (Some(a), Some(b)) => compare(a, b),
        _ => a.len().cmp(&b.len()),
    });
    groups.into_iter().flatten().collect()
}

fn compare(a: &Write, b: &Write) -> Ordering {
    let names = |write: &Write| (write.object.clone(), write.mutation.subresource.clone());
    let by_class = class(a).cmp(&class(b));
    // Deletions go backwards within a class too: a RoleBinding goes before its Role.
    by_class.then_with(|| if deletes(a) { names(b).cmp(&names(a)) } else { names(a).cmp(&names(b)) })
}

fn deletes(write: &Write) -> bool {
    matches!(write.mutation.act, Act::Delete { .. })
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
