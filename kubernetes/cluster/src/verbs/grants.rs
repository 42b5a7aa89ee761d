//! Privilege escalation check on writes of roles and bindings.

use switchboard_object::Value;
use switchboard_object::status::Status;

use super::ApiCall;
use crate::auth::rbac::escalation::{RbacWrite, check};
use crate::auth::rbac::{GROUP, RbacKind};

impl ApiCall {
    /// Returns an error if a role or binding grants more than the requester has.
    pub(super) fn check_grants(&self, new: &Value, old: Option<&Value>) -> Result<(), Status> {
        let kind = RbacKind::ALL.into_iter().find(|kind| kind.plural() == &*self.resource.plural);
        let Some(kind) = kind.filter(|_| self.resource.kind.group == GROUP) else { return Ok(()) };
        let policy = self.logical.policy().read(&self.inner.store);
        let namespace = self.namespace();
        check(&policy, &RbacWrite { user: &self.user, kind, namespace, request_name: &self.info.name, new, old })
    }
}
