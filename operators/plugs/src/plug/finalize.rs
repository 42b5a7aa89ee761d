//! Deletion of a plug.

use serde_json::{Value, json};
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, PatchType, Plan};

use super::halt::Halt;
use super::run::{PlugRun, manager};
use crate::coupling::PlugState;
use crate::model::{CouplingEvent, FINALIZER, PLUGS, Plug, PlugMeta};
use crate::render::{ComputeError, CouplingSide, TemplateRoot, objects};

impl PlugRun<'_> {
    /// Decouples, notifies the apparatus, deletes the plug's own objects, and removes the finalizer.
    pub fn finalize(mut self) -> Result<Plan, DecideError> {
        self.is_ending = true;
        self.delete_legacy_record()?;
        if let Some(words) = self.new_refusal()? {
            // In a run of its own: after a refused write, later writes of the run do not happen.
            self.count_refusals();
            self.save();
            self.show(&PlugState::Failing(words.clone()));
            return Ok(self.plan.failing(words));
        }
        let halted = self.finalize_steps();
        self.end_deletion(halted)
    }

    /// Returns the refusal of the previous run if the status does not show it yet.
    fn new_refusal(&self) -> Result<Option<String>, DecideError> {
        let (Some(refusal), Some(object)) = (self.view.rejected_writes().first(), &self.object) else {
            return Ok(None);
        };
        if refusal.message.contains("is forbidden") {
            crate::rbac::watch_roles(self.view, &refusal.object.namespace)?;
        }
        let all = object["status"]["conditions"].as_array().into_iter().flatten();
        let mut all = all.filter(|one| one["type"] == "Failed");
        Ok(Some(self.refusal_message(refusal)).filter(|words| !all.any(|one| one["message"] == words.as_str())))
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

    /// Applies objects of the `deleted` event, and deletes objects of the `created` event.
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
                // The template of a deleted plug cannot be fixed any more.
                Err(_) => {}
            }
        }
        let about = self.record.plug.clone();
        self.emit_event(CouplingSide::Plug, &about, CouplingEvent::Deleted, 0);
        let own = self.record.own.clone();
        self.remove_all(&own)
    }
}

/// Removes the finalizer.
pub(super) fn remove_finalizer(plan: &mut Plan, object: &Value, meta: &PlugMeta) {
    let all = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let rest: Vec<Value> = all.into_iter().filter(|one| one != FINALIZER).collect();
    let body = json!({"metadata": {"finalizers": rest}});
    plan.push(Mutation::patch(&PLUGS, &meta.namespace, &meta.name, PatchType::Merge, body));
}
