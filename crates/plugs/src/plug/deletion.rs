//! The end of a plug.

use serde_json::{Value, json};
use switchboard_kernel::operator::Stop;
use switchboard_kernel::plan::{Mutation, PatchForm, Plan};

use super::halt::Halt;
use super::work::{NAMESPACES, Work, manager};
use crate::coupling::Stand;
use crate::model::{Event, FINALIZER, PLUGS, Plug};
use crate::render::{Roots, Trouble, Who, objects};

impl Work<'_> {
    /// Takes apart what is bound, tells of the end, and lets the plug go.
    pub fn bury(mut self) -> Result<Plan, Stop> {
        if let Some(refusal) = self.view.refused().first() {
            let message = refusal.message.clone();
            if message.contains("is forbidden") {
                crate::authority::watch(self.view, &refusal.object.namespace)?;
            }
            self.show(&Stand::Failing(message));
        }
        let halted = self.bury_steps();
        self.end_gone(halted)
    }

    fn bury_steps(&mut self) -> Result<(), Halt> {
        let namespace = self.view.get(&NAMESPACES, "", &self.meta.namespace)?;
        self.namespace_goes =
            namespace.is_none_or(|object| object.value()["metadata"]["deletionTimestamp"].is_string());
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
        self.let_go();
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
            let performed = match last {
                Ok(all) => self.perform(&all, Event::Deleted, &account, &manager(&plug.meta, Who::Plug)),
                Err(Trouble::Stop(stop)) => return Err(stop.into()),
                // Nobody can mend the template of a plug that goes.
                Err(_) => Ok(()),
            };
            performed?;
        }
        let about = self.record.plug.clone();
        self.tell(Who::Plug, &about, Event::Deleted, 0);
        let own = self.record.own.clone();
        self.remove_all(&own)
    }

    fn let_go(&mut self) {
        let Some(object) = self.object.as_ref().filter(|_| self.meta.kept) else { return };
        let all = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let rest: Vec<Value> = all.into_iter().filter(|one| one != FINALIZER).collect();
        let body = json!({"metadata": {"finalizers": rest}});
        let (namespace, name) = (self.meta.namespace.clone(), self.meta.name.clone());
        self.plan.push(Mutation::patch(&PLUGS, &namespace, &name, PatchForm::Merge, body));
    }
}
