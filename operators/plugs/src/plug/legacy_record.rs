//! Records of an earlier version in the plug's namespace, where every user with write access to Secrets could forge
//! them.

use serde_json::json;
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, PatchType};

use super::run::PlugRun;
use crate::coupling::{EventKind, ObjectIdentity, RECORD_TYPE, SECRETS, kubernetes_event, legacy_record_name};
use crate::render::CouplingSide;

/// Message of the warning about an ignored record.
const LEGACY_RECORD_MESSAGE: &str = "deleted a record of the coupling in the plug's namespace without using it, because other users may write there. \
    The plug is coupled again; objects that it created before and no longer creates remain";

impl PlugRun<'_> {
    /// Deletes such a record without reading it, including the finalizer that would block its namespace.
    pub fn delete_legacy_record(&mut self) -> Result<(), DecideError> {
        if !self.is_new() {
            return Ok(());
        }
        let (namespace, name) = (self.meta.namespace.clone(), legacy_record_name(&self.meta.name));
        let found = self.view.get(&SECRETS, &namespace, &name)?.map(|secret| secret.value());
        if found.is_none_or(|secret| secret["type"] != RECORD_TYPE) {
            return Ok(());
        }
        let warning = EventKind::Warning { reason: "RecordNotBelieved", message: LEGACY_RECORD_MESSAGE };
        self.plan.push(kubernetes_event(CouplingSide::Plug, &ObjectIdentity::of(&self.meta), warning, "", &self.now));
        let body = json!({"metadata": {"finalizers": null}});
        self.plan.push(Mutation::patch(&SECRETS, &namespace, &name, PatchType::Merge, body));
        self.plan.push(Mutation::delete(&SECRETS, &namespace, &name).unconditional());
        Ok(())
    }
}
