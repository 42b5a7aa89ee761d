//! Who makes a request, and may they: the gate, asked with what the server knows.

use http::request::Parts;
use switchboard_object::status::Status;

use super::{Inner, Logical};
use crate::auth::gate::LivePolicy;
use crate::auth::{Attributes, User};
use crate::request::Info;

impl Inner {
    /// The user the request acts as; or the refusal.
    pub(super) fn admit(&self, logical: Option<&Logical>, parts: &Parts, info: &Info) -> Result<User, Status> {
        let from = (&parts.headers, &parts.extensions);
        let policy = logical.map(Logical::policy);
        self.gate.admit(attributes(info), from, (&self.store, policy), self.ambient.now())
    }
}

impl Logical {
    /// Its roles and bindings.
    pub(crate) fn policy(&self) -> &LivePolicy {
        &self.policy
    }
}

fn attributes(info: &Info) -> Attributes {
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
