//! Records that an earlier version kept beside its plugs, where whoever writes Secrets could write them too.

use serde_json::json;
use switchboard_kernel::operator::Stop;
use switchboard_kernel::plan::{Mutation, PatchForm};

use super::work::Work;
use crate::coupling::{Identity, Notice, RECORD_TYPE, SECRETS, former_name, notice};
use crate::render::Who;

/// What becomes of a record that may be anybody's.
const WORDS: &str = "a record of the coupling lay beside the plug, where others may write it: it was not believed, and removed. \
    The plug is coupled anew; what it made before and does not make any more is left";

impl Work<'_> {
    /// Nothing that stands in such a record is done. It goes, with the finalizer that would keep its namespace.
    pub fn disown_former(&mut self) -> Result<(), Stop> {
        if !self.is_new() {
            return Ok(());
        }
        let (namespace, name) = (self.meta.namespace.clone(), former_name(&self.meta.name));
        let found = self.view.get(&SECRETS, &namespace, &name)?.map(|secret| secret.value());
        if found.is_none_or(|secret| secret["type"] != RECORD_TYPE) {
            return Ok(());
        }
        let warning = Notice::Warning { reason: "RecordNotBelieved", message: WORDS };
        self.plan.push(notice(Who::Plug, &Identity::of(&self.meta), warning, "", &self.now));
        let body = json!({"metadata": {"finalizers": null}});
        self.plan.push(Mutation::patch(&SECRETS, &namespace, &name, PatchForm::Merge, body));
        self.plan.push(Mutation::delete(&SECRETS, &namespace, &name).regardless());
        Ok(())
    }
}
