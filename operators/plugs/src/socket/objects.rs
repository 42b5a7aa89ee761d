//! Objects of a socket itself, applied at its creation and deletion.

use serde_json::{Value, json};
use switchboard_kernel::operator::{DecideError, ServiceAccount};
use switchboard_kernel::plan::{Mutation, Plan, WriteOp};

use super::{SocketHalt, SocketRun};
use crate::coupling::{AppliedObject, fold_string_data, hash};
use crate::kinds;
use crate::model::{CouplingEvent, ResourceAction, Socket};
use crate::plug::NAMESPACES;
use crate::render::{CouplingSide, RenderedObject, TemplateEngine, TemplateRoot, objects};

impl SocketRun<'_> {
    /// Returns the applied objects from the status. Other writers may have changed the status, so objects are limited
    /// to the own namespace and its service accounts.
    pub(super) fn applied_objects(&self) -> Vec<AppliedObject> {
        let all: Vec<AppliedObject> = serde_json::from_value(self.object["status"]["made"].clone()).unwrap_or_default();
        let own = &self.meta.namespace;
        let kept = all.into_iter().filter(|one| one.namespace.is_empty() || one.namespace == *own);
        kept.map(|one| AppliedObject { account: (own.clone(), one.account.1), ..one }).collect()
    }

    pub(super) fn rendered_objects(
        &self,
        socket: &Socket,
        event: CouplingEvent,
    ) -> Result<Vec<RenderedObject>, SocketHalt> {
        let since = self.meta.created.parse().unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let engine = TemplateEngine::new(since, self.meta.uid.as_str());
        let root = TemplateRoot::alone(CouplingSide::Socket, &socket.manifest).value();
        let all = objects(&engine, self.meta, &socket.side.resources, |entry| entry.when.contains(&event), &root);
        all.map_err(|error| SocketHalt::Invalid(error.to_string()))
    }

    pub(super) fn applied_object(&self, one: &RenderedObject, socket: &Socket) -> Result<AppliedObject, SocketHalt> {
        let text = |pointer: &str| one.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let Some(resource) = kinds::resource(self.view, &api_version, &kind)? else {
            return Err(SocketHalt::Invalid(format!("no matches for kind \"{kind}\" in version \"{api_version}\"")));
        };
        let namespace = if resource.namespaced { text("/metadata/namespace") } else { String::new() };
        let account = (self.meta.namespace.clone(), socket.side.service_account.clone());
        let (name, goes, place) = (text("/metadata/name"), one.removed_when_decoupled, one.path.clone());
        Ok(AppliedObject { api_version, kind, namespace, name, account, removed_when_decoupled: goes, path: place })
    }

    /// Records the objects to delete before they are recreated, in the status that is written before any deletion.
    pub(super) fn record_recreations(
        &self,
        known: &mut Value,
        all: &[RenderedObject],
        event: CouplingEvent,
        socket: &Socket,
    ) -> Result<(), SocketHalt> {
        for one in all.iter().filter(|one| one.action == ResourceAction::Recreate) {
            let made = self.applied_object(one, socket)?;
            let key = replacement_key(event, &made);
            if known["replaced"][&key].is_null() {
                if known["replaced"].is_null() {
                    known["replaced"] = json!({});
                }
                let uid = self.live_object(&made)?.map(|live| live["metadata"]["uid"].clone()).unwrap_or_default();
                known["replaced"][&key] = uid.as_str().unwrap_or_default().into();
            }
        }
        Ok(())
    }

    /// Performs an event. Abandoned objects are skipped.
    pub(super) fn perform(
        &self,
        plan: &mut Plan,
        all: &[RenderedObject],
        event: CouplingEvent,
        socket: &Socket,
        known: &Value,
    ) -> Result<(), SocketHalt> {
        for one in all {
            let made = self.applied_object(one, socket)?;
            if is_abandoned(known, &made) {
                continue;
            }
            let live = self.live_object(&made)?;
            if one.action == ResourceAction::Delete {
                self.remove(plan, &made)?;
                continue;
            }
            if live.is_none() && self.is_namespace_terminating()? {
                continue;
            }
            if one.action == ResourceAction::Recreate
                && let Some(live) = &live
                && live["metadata"]["uid"] == known["replaced"][replacement_key(event, &made)]
            {
                self.remove(plan, &made)?;
                return Err(SocketHalt::Waiting(format!("{} to be deleted", made.display_name())));
            }
            let Some(resource) = kinds::resource(self.view, &made.api_version, &made.kind)? else { continue };
            let account = ServiceAccount { namespace: made.account.0.clone(), name: made.account.1.clone() };
            let manager = format!("socket:{}", hash(&(&self.meta.namespace, &self.meta.name)));
            let write =
                Mutation::apply(&resource, fold_string_data(one.object.clone())).acting_as(account).managed_by(manager);
            plan.push(if one.force { write.forced() } else { write });
        }
        Ok(())
    }

    pub(super) fn remove(&self, plan: &mut Plan, made: &AppliedObject) -> Result<(), DecideError> {
        let Some(resource) = kinds::resource(self.view, &made.api_version, &made.kind)? else { return Ok(()) };
        let live = self.live_object(made)?;
        if live.is_some_and(|live| live["metadata"]["deletionTimestamp"].is_null()) {
            let account = ServiceAccount { namespace: made.account.0.clone(), name: made.account.1.clone() };
            let mut write = Mutation::delete(&resource, &made.namespace, &made.name).acting_as(account);
            write.operation = WriteOp::Delete { propagation: Some("Background".to_string()) };
            plan.push(write);
        }
        Ok(())
    }

    fn live_object(&self, made: &AppliedObject) -> Result<Option<Value>, DecideError> {
        let Some(resource) = kinds::resource(self.view, &made.api_version, &made.kind)? else { return Ok(None) };
        Ok(self.view.get(&resource, &made.namespace, &made.name)?.map(|object| object.value()))
    }

    /// Whether objects cannot be created because the namespace is being deleted too.
    pub(super) fn is_namespace_terminating(&self) -> Result<bool, DecideError> {
        if !self.meta.is_deleting {
            return Ok(false);
        }
        let found = self.view.get(&NAMESPACES, "", &self.meta.namespace)?;
        Ok(found.is_none_or(|object| object.value()["metadata"]["deletionTimestamp"].is_string()))
    }
}

pub(super) fn is_abandoned(known: &Value, made: &AppliedObject) -> bool {
    known["abandoned"].as_array().into_iter().flatten().any(|one| *one == made.display_name().as_str())
}

fn replacement_key(event: CouplingEvent, made: &AppliedObject) -> String {
    format!("{} {}", event.as_str(), made.display_name())
}
