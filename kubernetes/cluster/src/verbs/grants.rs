//! Writes of roles and bindings: nobody grants what they do not hold.

use switchboard_object::Value;
use switchboard_object::status::Status;

use super::Call;
use crate::auth::rbac::escalation::{Write, check};
use crate::auth::rbac::{GROUP, Kind};

impl Call {
    /// Refuses a role or binding that grants more than the requester has.
    pub(super) fn check_grants(&self, new: &Value, old: Option<&Value>) -> Result<(), Status> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.plural() == &*self.resource.plural);
        let Some(kind) = kind.filter(|_| self.resource.kind.group == GROUP) else { return Ok(()) };
        let policy = self.logical.policy().read(&self.inner.store);
        let namespace = self.namespace();
        check(&policy, &Write { user: &self.user, kind, namespace, request_name: &self.info.name, new, old })
    }
}
