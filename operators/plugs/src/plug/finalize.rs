//! The end of a plug.

use serde_json::{Value, json};
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, PatchType, Plan};

use super::halt::Halt;
use super::run::{PlugRun, manager};
use crate::coupling::PlugState;
use crate::model::{CouplingEvent, FINALIZER, PLUGS, Plug, PlugMeta};
use crate::render::{ComputeError, CouplingSide, TemplateRoot, objects};

impl PlugRun<'_> {
    /// Takes apart what is bound, tells of the end, and lets the plug go.
    pub fn finalize(mut self) -> Result<Plan, DecideError> {
        self.is_ending = true;
        self.delete_legacy_record()?;
        if let Some(words) = self.new_refusal()? {
            // Shown by a run of its own: a run that is refused writes nothing of what stands behind.
            self.count_refusals();
            self.save();
            self.show(&PlugState::Failing(words.clone()));
            return Ok(self.plan.failing(words));
        }
        let halted = self.finalize_steps();
        self.end_deletion(halted)
    }

    /// What was refused of the run before, if it is not shown yet.
    fn new_refusal(&self) -> Result<Option<String>, DecideError> {
        let (Some(refusal), Some(object)) = (self.view.rejected_writes().first(), &self.object) else {
            return Ok(None);
        };
        if refusal.message.contains("is forbidden") {
            crate::rbac::watch_roles(self.view, &refusal.object.namespace)?;
        }
        let all = object["status"]["conditions"].as_array().into_iter().flatten();
        let mut all = all.filter(|one| one["type"] == "Failed");
        Ok(Some(refusal.message.clone()).filter(|words| !all.any(|one| one["message"] == words.as_str())))
    }

    fn finalize_steps(&mut self) -> Result<(), Halt> {
        if self.record.is_bound() {
            self.decouple()?;
            let (refusals, abandoned) = (self.record.refusals, self.record.abandoned.clone());
            self.record.release();
            (self.record.refusals, self.record.abandoned) = (refusals, abandoned);
            self.save();
        } else {
            self.count_refusals();
        }
        if self.record.created {
            self.delete_own_objects()?;
        }
        self.delete_record();
        if let Some(object) = self.object.as_ref().filter(|_| self.meta.has_finalizer) {
            remove_finalizer(&mut self.plan, object, &self.meta);
        }
        Ok(())
    }

    /// What was asked for at the end, and what was made at the beginning.
    fn delete_own_objects(&mut self) -> Result<(), Halt> {
        if let Some(Ok(plug)) = self.object.as_ref().map(Plug::read) {
            self.notify_deleted(&plug.manifest)?;
            let root = TemplateRoot::alone(CouplingSide::Plug, &plug.manifest).value();
            let last = objects(
                &self.engine(),
                &plug.meta,
                &plug.side.resources,
                |entry| entry.when.contains(&CouplingEvent::Deleted),
                &root,
            );
            let account = self.account(&plug.meta.namespace, &plug.side.service_account);
            match last {
                Ok(all) => {
                    self.record_recreations(&all, CouplingEvent::Deleted, &account)?;
                    self.perform(&all, CouplingEvent::Deleted, &account, &manager(&plug.meta, CouplingSide::Plug))?;
                }
                Err(ComputeError::Decide(stop)) => return Err(stop.into()),
                // Nobody can mend the template of a plug that goes.
                Err(_) => {}
            }
        }
        let about = self.record.plug.clone();
        self.emit_event(CouplingSide::Plug, &about, CouplingEvent::Deleted, 0);
        let own = self.record.own.clone();
        self.remove_all(&own)
    }
}

/// Takes the finalizer away.
pub(super) fn remove_finalizer(plan: &mut Plan, object: &Value, meta: &PlugMeta) {
    let all = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let rest: Vec<Value> = all.into_iter().filter(|one| one != FINALIZER).collect();
    let body = json!({"metadata": {"finalizers": rest}});
    plan.push(Mutation::patch(&PLUGS, &meta.namespace, &meta.name, PatchType::Merge, body));
}
