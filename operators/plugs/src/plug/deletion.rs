//! The end of a plug.

use serde_json::{Value, json};
use switchboard_kernel::operator::Stop;
use switchboard_kernel::plan::{Mutation, PatchForm, Plan};

use super::halt::Halt;
use super::work::{Work, manager};
use crate::coupling::Stand;
use crate::model::{Event, FINALIZER, Meta, PLUGS, Plug};
use crate::render::{Roots, Trouble, Who, objects};

impl Work<'_> {
    /// Takes apart what is bound, tells of the end, and lets the plug go.
    pub fn bury(mut self) -> Result<Plan, Stop> {
        self.parting = true;
        self.disown_former()?;
        if let Some(words) = self.refused_first()? {
            // Shown by a run of its own: a run that is refused writes nothing of what stands behind.
            self.count_refusals();
            self.save();
            self.show(&Stand::Failing(words.clone()));
            return Ok(self.plan.failing(words));
        }
        let halted = self.bury_steps();
        self.end_gone(halted)
    }

    /// What was refused of the run before, if it is not shown yet.
    fn refused_first(&self) -> Result<Option<String>, Stop> {
        let (Some(refusal), Some(object)) = (self.view.refused().first(), &self.object) else { return Ok(None) };
        if refusal.message.contains("is forbidden") {
            crate::authority::watch(self.view, &refusal.object.namespace)?;
        }
        let all = object["status"]["conditions"].as_array().into_iter().flatten();
        let mut all = all.filter(|one| one["type"] == "Failed");
        Ok(Some(refusal.message.clone()).filter(|words| !all.any(|one| one["message"] == words.as_str())))
    }

    fn bury_steps(&mut self) -> Result<(), Halt> {
        if self.record.is_bound() {
            self.part()?;
            let (refusals, abandoned) = (self.record.refusals, self.record.abandoned.clone());
            self.record.release();
            (self.record.refusals, self.record.abandoned) = (refusals, abandoned);
            self.save();
        } else {
            self.count_refusals();
        }
        if self.record.created {
            self.last_of_all()?;
        }
        self.forget();
        if let Some(object) = self.object.as_ref().filter(|_| self.meta.kept) {
            let_go(&mut self.plan, object, &self.meta);
        }
        Ok(())
    }

    /// What was asked for at the end, and what was made at the beginning.
    fn last_of_all(&mut self) -> Result<(), Halt> {
        if let Some(Ok(plug)) = self.object.as_ref().map(Plug::read) {
            self.call_deleted(&plug.seen)?;
            let root = Roots::alone(Who::Plug, &plug.seen).value();
            let last = objects(
                &self.engine(),
                &plug.meta,
                &plug.side.resources,
                |entry| entry.when.contains(&Event::Deleted),
                &root,
            );
            let account = self.account(&plug.meta.namespace, &plug.side.service_account);
            match last {
                Ok(all) => {
                    self.intend_to_recreate(&all, Event::Deleted, &account)?;
                    self.perform(&all, Event::Deleted, &account, &manager(&plug.meta, Who::Plug))?;
                }
                Err(Trouble::Stop(stop)) => return Err(stop.into()),
                // Nobody can mend the template of a plug that goes.
                Err(_) => {}
            }
        }
        let about = self.record.plug.clone();
        self.tell(Who::Plug, &about, Event::Deleted, 0);
        let own = self.record.own.clone();
        self.remove_all(&own)
    }
}

/// Takes the finalizer away.
pub(super) fn let_go(plan: &mut Plan, object: &Value, meta: &Meta) {
    let all = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let rest: Vec<Value> = all.into_iter().filter(|one| one != FINALIZER).collect();
    let body = json!({"metadata": {"finalizers": rest}});
    plan.push(Mutation::patch(&PLUGS, &meta.namespace, &meta.name, PatchForm::Merge, body));
}
