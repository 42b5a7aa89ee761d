//! Routing: the verbs that kube-apiserver's router allows for a path, which are those in discovery.

use switchboard_object::status::Status;

use super::ApiCall;
use crate::server::{method_not_allowed, no_such_resource};

/// Returns an error for paths and verbs that the resource does not have.
pub(super) fn check(call: &ApiCall) -> Result<(), Status> {
    let (resource, info) = (&call.resource, &call.info);
    let named = !info.name.is_empty();
    let in_namespace = !info.namespace.is_empty();
    let is_namespaces = &*resource.plural == "namespaces" && resource.kind.group.is_empty();
    if info.surplus && !is_proxy(call) || !resource.namespaced && in_namespace && !is_namespaces {
        return Err(no_such_resource());
    }
    // Namespaced objects have no path without the namespace; only lists do.
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

/// Whether the path is a `proxy` subresource, which is followed by another path.
fn is_proxy(call: &ApiCall) -> bool {
    call.info.subresource == "proxy"
}

fn check_subresource(call: &ApiCall) -> Result<(), Status> {
    let info = &call.info;
    match call.resource.subresource(&info.subresource) {
        Some(found) if found.verbs.iter().any(|verb| **verb == *info.verb) => Ok(()),
        Some(_) => Err(method_not_allowed()),
        None if call.resource.custom.is_some() => Err(Status::not_found(&call.resource.group_resource(), &info.name)),
        None => Err(no_such_resource()),
    }
}
