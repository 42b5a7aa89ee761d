//! Which verbs a path has: upstream's router, which knows only what discovery lists.

use switchboard_object::status::Status;

use super::Call;
use crate::server::{method_not_allowed, no_such_resource};

/// Refuses paths and verbs the resource does not have.
pub(super) fn check(call: &Call) -> Result<(), Status> {
    let (resource, info) = (&call.resource, &call.info);
    let named = !info.name.is_empty();
    let in_namespace = !info.namespace.is_empty();
    let is_namespaces = &*resource.plural == "namespaces" && resource.kind.group.is_empty();
    if info.surplus && !takes_rest(call) || !resource.namespaced && in_namespace && !is_namespaces {
        return Err(no_such_resource());
    }
    // Objects of a namespace have no path without it; only lists do.
    if resource.namespaced && !in_namespace && named {
        return Err(no_such_resource());
    }
    if !info.subresource.is_empty() {
        return check_subresource(call);
    }
    let fits = match info.verb {
        "create" | "deletecollection" => !named && (in_namespace || !resource.namespaced),
        "update" | "patch" | "delete" | "get" => named,
        _ => true,
    };
    if fits && resource.has_verb(info.verb) { Ok(()) } else { Err(method_not_allowed()) }
}

/// `proxy` takes a path of its own.
fn takes_rest(call: &Call) -> bool {
    call.info.subresource == "proxy"
}

fn check_subresource(call: &Call) -> Result<(), Status> {
    let info = &call.info;
    match call.resource.subresource(&info.subresource) {
        Some(found) if found.verbs.iter().any(|verb| **verb == *info.verb) => Ok(()),
        Some(_) => Err(method_not_allowed()),
        None if call.resource.custom.is_some() => Err(Status::not_found(&call.resource.group_resource(), &info.name)),
        None => Err(no_such_resource()),
    }
}
