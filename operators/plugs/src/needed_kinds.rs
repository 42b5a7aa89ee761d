//! Kinds that a unit is about to read, so that their watches start together: one after the other, each would cost the
//! first coupling a round trip to the API server.
//!
//! Kinds are taken from the specs. ConfigMaps, Secrets and others are therefore watched only if a spec names them.

use switchboard_kernel::resource::Resource;
use switchboard_kernel::view::View;

use crate::apparatus::{PODS, SERVICES};
use crate::coupling::SECRETS;
use crate::kinds;
use crate::model::{CouplingEvent, ObjectTemplate, Plug, SOCKETS, SideSpec, Socket};
use crate::plug::{CONFIG_MAPS, NAMESPACES};
use crate::rbac::{CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES};

/// Starts the watches of all kinds that a plug needs, if its run waits for one of them.
pub(crate) fn open_for_plug(view: &View, plug: &Plug) {
    if plug.meta.is_deleting {
        return;
    }
    let mut needed = vec![SECRETS, SOCKETS];
    add_side(view, &plug.side, &mut needed);
    let socket = plug.socket.as_ref().and_then(|(namespace, name)| {
        // The run that follows reads the socket in the same way.
        let object = view.get_ignoring_status(&SOCKETS, namespace, name).ok()??;
        Socket::read(&object.value()).ok()
    });
    if let Some(socket) = socket {
        add_side(view, &socket.side, &mut needed);
        if socket.consent.needs_labels() {
            needed.push(NAMESPACES);
        }
    }
    view.open_together(&needed);
}

/// Starts the watches of all kinds that a socket needs, if its run waits for one of them.
pub(crate) fn open_for_socket(view: &View, socket: &Socket) {
    if socket.meta.is_deleting {
        return;
    }
    let mut needed = vec![SECRETS];
    add_side(view, &socket.side, &mut needed);
    view.open_together(&needed);
}

fn add_side(view: &View, side: &SideSpec, needed: &mut Vec<Resource>) {
    let sources = [&side.data, &side.config, &side.result];
    let config_maps = sources.iter().any(|from| from.config_map.is_some());
    let secrets = sources.iter().any(|from| from.secret.is_some());
    let vars: Vec<_> = side.vars.iter().chain(&side.result_vars).collect();
    if config_maps {
        needed.push(CONFIG_MAPS);
    }
    // Reads on behalf of a service account are authorized.
    if config_maps || secrets || !vars.is_empty() {
        needed.extend([CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES]);
    }
    if side.apparatus.is_some() {
        needed.extend([PODS, SERVICES]);
    }
    let early = [CouplingEvent::Created, CouplingEvent::Coupled, CouplingEvent::Updated];
    let lasting = side.resources.iter().filter(|entry| early.iter().any(|event| entry.when.contains(event)));
    let templates = lasting.chain(&side.result_resources).flat_map(|entry| &entry.templates);
    let of_template = templates.filter_map(|template| match template {
        ObjectTemplate::Tree { tree, .. } => Some((tree["apiVersion"].as_str()?, tree["kind"].as_str()?)),
        // The kind is known only when the text is rendered.
        ObjectTemplate::Text { .. } => None,
    });
    let named = vars.iter().map(|var| (var.object.api_version.as_str(), var.object.kind.as_str()));
    // A kind that is not built in waits for the definitions, which the lookup reads.
    needed.extend(named.chain(of_template).filter_map(|(version, kind)| kinds::resource(view, version, kind).ok()?));
}

#[cfg(test)]
mod tests;
