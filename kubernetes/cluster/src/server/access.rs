//! Authentication and authorization of a request, with the server's state.

use http::request::Parts;
use switchboard_object::status::Status;

use super::{LogicalCluster, ServerState};
use crate::auth::filters::PolicyCache;
use crate::auth::{Attributes, User};
use crate::request::RequestInfo;

impl ServerState {
    /// Returns the user that the request acts as, or an error.
    pub(super) fn admit(
        &self,
        logical: Option<&LogicalCluster>,
        parts: &Parts,
        info: &RequestInfo,
    ) -> Result<User, Status> {
        let from = (&parts.headers, &parts.extensions);
        let policy = logical.map(LogicalCluster::policy);
        self.auth_keys.admit(attributes(info), from, (&self.store, policy), self.clock_and_rng.now())
    }
}

impl LogicalCluster {
    /// Returns the roles and bindings.
    pub(crate) fn policy(&self) -> &PolicyCache {
        &self.policy
    }
}

fn attributes(info: &RequestInfo) -> Attributes {
    Attributes {
        user: User::default(),
        verb: info.verb.into(),
        group: info.group.clone(),
        version: info.version.clone(),
        resource: info.resource.clone(),
        subresource: info.subresource.clone(),
        namespace: info.namespace.clone(),
        name: info.name.clone(),
        path: info.path.clone(),
        is_resource: info.is_resource,
        field_selector: info.field_selector.clone(),
        label_selector: info.label_selector.clone(),
    }
}
