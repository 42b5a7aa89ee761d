//! Records that an earlier version kept beside its plugs, where whoever writes Secrets could write them too.

use serde_json::json;
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, PatchType};

use super::run::PlugRun;
use crate::coupling::{EventKind, ObjectIdentity, RECORD_TYPE, SECRETS, kubernetes_event, legacy_record_name};
use crate::render::CouplingSide;

/// What becomes of a record that may be anybody's.
const LEGACY_RECORD_MESSAGE: &str = "a record of the coupling lay beside the plug, where others may write it: it was not believed, and removed. \
    The plug is coupled anew; what it made before and does not make any more is left";

impl PlugRun<'_> {
    /// Nothing that stands in such a record is done. It goes, with the finalizer that would keep its namespace.
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
