//! Applies, deletes and recreates objects as a service account.

use serde_json::{Value, json};
use switchboard_kernel::operator::ServiceAccount;
use switchboard_kernel::plan::{Mutation, PatchType, WriteOp};
use switchboard_kernel::resource::Resource;

use super::authorized_reader::resource_of;
use super::halt::{Continuation, Halt};
use super::run::PlugRun;
use crate::coupling::{AppliedObject, PlugState, contains, fold_string_data, hash};
use crate::model::{CouplingEvent, ResourceAction};
use crate::render::{ComputeError, RenderedObject};

/// Prefix of the annotation on an applied object, followed by a hash of the plug. Several couplings may apply the same
/// object.
pub const COUPLING_MARK_PREFIX: &str = "integration.rock8s.com/of.";
/// Deletes dependents without waiting for them. The default of some kinds would orphan them, for example the pods of a
/// Job.
const PROPAGATION: &str = "Background";

impl PlugRun<'_> {
    /// Returns the entry of the record for a rendered object.
    pub fn applied_object(
        &self,
        rendered: &RenderedObject,
        account: &ServiceAccount,
    ) -> Result<AppliedObject, ComputeError> {
        let text =
            |pointer: &str| rendered.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let resource = resource_of(self.view, &api_version, &kind).map_err(|error| error.at(&rendered.path))?;
        let namespace = if resource.namespaced { text("/metadata/namespace") } else { String::new() };
        let account = (account.namespace.clone(), account.name.clone());
        let (name, goes, place) = (text("/metadata/name"), rendered.removed_when_decoupled, rendered.path.clone());
        Ok(AppliedObject { api_version, kind, namespace, name, account, removed_when_decoupled: goes, path: place })
    }

    /// Performs an event for the objects of one side.
    pub fn perform(
        &mut self,
        all: &[RenderedObject],
        event: CouplingEvent,
        account: &ServiceAccount,
        manager: &str,
    ) -> Result<(), Halt> {
        for one in all.iter().filter(|one| one.events.contains(&event)) {
            let made = self.applied_object(one, account)?;
            if self.record.abandoned.contains(&made.display_name()) {
                continue;
            }
            let (resource, live) = self.live_object(&made)?;
            if live.is_none() && self.is_terminating(&made.namespace)? {
                continue;
            }
            match one.action {
                ResourceAction::Delete => self.remove(&made, &resource, live.as_ref()),
                ResourceAction::Apply => self.apply(one, &made, &resource, live.as_ref(), account, manager)?,
                ResourceAction::Recreate => {
                    let pending = self.record.pending.as_ref();
                    let old = match is_coupled_phase(event) {
                        true => pending.and_then(|pending| pending.replaced.get(&made.display_name())),
                        false => self.record.replaced.get(&replacement_key(event, &made)),
                    };
                    let is_old = live
                        .as_ref()
                        .is_some_and(|live| old.is_some_and(|uid| live["metadata"]["uid"] == uid.as_str()));
                    if is_old {
                        self.remove(&made, &resource, live.as_ref());
                        return Err(self.waiting_for(format!("{} to be deleted", made.display_name())));
                    }
                    self.apply(one, &made, &resource, live.as_ref(), account, manager)?;
                }
            }
        }
        Ok(())
    }

    /// Records the objects to delete before they are recreated at creation, decoupling or deletion. The record is
    /// written before any deletion.
    pub fn record_recreations(
        &mut self,
        all: &[RenderedObject],
        event: CouplingEvent,
        account: &ServiceAccount,
    ) -> Result<(), Halt> {
        for one in all.iter().filter(|one| one.action == ResourceAction::Recreate && one.events.contains(&event)) {
            let made = self.applied_object(one, account)?;
            let (_, live) = self.live_object(&made)?;
            let uid = live.and_then(|live| live["metadata"]["uid"].as_str().map(str::to_string)).unwrap_or_default();
            self.record.replaced.entry(replacement_key(event, &made)).or_insert(uid);
        }
        if all.iter().any(|one| one.action == ResourceAction::Recreate) {
            self.save();
        }
        Ok(())
    }

    /// Reverts changes by other writers and recreates deleted objects. No event is emitted.
    pub fn repair(&mut self, all: &[RenderedObject], account: &ServiceAccount, manager: &str) -> Result<(), Halt> {
        for one in all.iter().filter(|one| one.action != ResourceAction::Delete) {
            let made = self.applied_object(one, account)?;
            let (resource, live) = self.live_object(&made)?;
            let wanted = match &live {
                None => !expires_by_itself(&one.object),
                Some(live) => {
                    one.action == ResourceAction::Apply
                        && one.events.contains(&CouplingEvent::Updated)
                        && !contains(live, &one.object)
                }
            };
            if wanted {
                self.apply(one, &made, &resource, live.as_ref(), account, manager)?;
            }
        }
        Ok(())
    }

    fn apply(
        &mut self,
        one: &RenderedObject,
        made: &AppliedObject,
        resource: &Resource,
        live: Option<&Value>,
        account: &ServiceAccount,
        manager: &str,
    ) -> Result<(), Halt> {
        if live.is_some_and(|live| live["metadata"]["deletionTimestamp"].is_string()) {
            return Err(self.waiting_for(format!("{} to be deleted", made.display_name())));
        }
        let mut body = fold_string_data(one.object.clone());
        if made.namespace.is_empty()
            && let Some(metadata) = body["metadata"].as_object_mut()
        {
            metadata.remove("namespace");
        }
        let (mark, of) = self.coupling_mark();
        let annotations = &mut body["metadata"]["annotations"];
        if annotations.is_null() {
            *annotations = json!({});
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(mark, of.into());
        }
        let write = Mutation::apply(resource, body).acting_as(account.clone()).managed_by(manager).unconditional();
        self.plan.push(if one.force { write.forced() } else { write });
        Ok(())
    }

    /// Deletes an existing object with the service account that applied it.
    pub fn remove(&mut self, made: &AppliedObject, resource: &Resource, live: Option<&Value>) {
        if live.is_none_or(|live| live["metadata"]["deletionTimestamp"].is_string()) {
            return;
        }
        let mut write = Mutation::delete(resource, &made.namespace, &made.name);
        write.operation = WriteOp::Delete { propagation: Some(PROPAGATION.to_string()) };
        let account = self.account(&made.account.0, &made.account.1);
        self.plan.push(write.acting_as(account));
    }

    /// Deletes an object of a coupling. If another coupling applies the object too, only the annotation is removed.
    pub fn release(&mut self, made: &AppliedObject, resource: &Resource, live: Option<&Value>) {
        let (mark, _) = self.coupling_mark();
        let all = live.and_then(|live| live["metadata"]["annotations"].as_object());
        let mut marks =
            all.into_iter().flatten().map(|(name, _)| name).filter(|name| name.starts_with(COUPLING_MARK_PREFIX));
        if !marks.any(|name| *name != mark) {
            return self.remove(made, resource, live);
        }
        let body = json!({"metadata": {"annotations": {mark: null}}});
        let write = Mutation::patch(resource, &made.namespace, &made.name, PatchType::Merge, body);
        let account = self.account(&made.account.0, &made.account.1);
        self.plan.push(write.acting_as(account));
    }

    /// Returns the annotation of this plug's coupling: its name and value.
    fn coupling_mark(&self) -> (String, String) {
        let of = format!("{}/{}", self.record.plug.namespace, self.record.plug.name);
        (format!("{COUPLING_MARK_PREFIX}{}", &hash(&of)[..16]), of)
    }

    /// Reads the object, so that a change of it triggers the plug.
    pub fn live_object(&self, made: &AppliedObject) -> Result<(Resource, Option<Value>), ComputeError> {
        let resource = resource_of(self.view, &made.api_version, &made.kind)?;
        let live = self.view.get(&resource, &made.namespace, &made.name)?;
        Ok((resource, live.map(|object| object.value())))
    }

    /// Returns a halt that waits for a change of another object.
    pub fn waiting_for(&self, on: String) -> Halt {
        let state = match self.record.pending.as_ref().map(|pending| pending.event) {
            Some(CouplingEvent::Updated) => PlugState::Updating(None),
            _ => PlugState::Coupling(None),
        };
        Halt::At(state, Continuation::Waiting(on))
    }
}

/// Whether the event belongs to an existing coupling, whose pending event stores its own replacements.
fn is_coupled_phase(event: CouplingEvent) -> bool {
    matches!(event, CouplingEvent::Coupled | CouplingEvent::Updated)
}

fn replacement_key(event: CouplingEvent, made: &AppliedObject) -> String {
    format!("{} {}", event.as_str(), made.display_name())
}

/// Whether the object deletes itself, like a Job with a TTL. Such an object is not recreated.
fn expires_by_itself(object: &Value) -> bool {
    object["kind"] == "Job" && object["spec"]["ttlSecondsAfterFinished"].is_number()
}
