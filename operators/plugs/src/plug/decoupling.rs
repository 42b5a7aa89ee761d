//! Decoupling of plug and socket, from the record alone.
//!
//! Decoupling never blocks: after repeated refusals, it emits a warning and continues.

use serde_json::Value;

use super::halt::Halt;
use super::run::{PlugRun, manager};
use crate::coupling::{AppliedObject, CouplingSnapshot, EventKind, ObjectIdentity, kubernetes_event};
use crate::model::{CouplingEvent, Plug, PlugMeta, ResourceEntry, SideSpec, Socket};
use crate::refusal::{is_final, is_of_apparatus};
use crate::render::{ComputeError, CouplingSide, RenderedObject, TemplateRoot, objects};

/// Number of refusals after which teardown abandons an object.
pub const MAX_TEARDOWN_REFUSALS: u32 = 5;

impl PlugRun<'_> {
    /// Notifies both sides and deletes their objects.
    pub fn decouple(&mut self) -> Result<(), Halt> {
        self.is_ending = true;
        self.count_refusals();
        if self.record.pending.as_ref().is_none_or(|pending| pending.event != CouplingEvent::Decoupled) {
            let (now, number, strangers) = (self.now.clone(), self.event_number(), self.record.uninformed_sides());
            self.record.begin(CouplingEvent::Decoupled, &now, number, String::new());
            if let Some(pending) = &mut self.record.pending {
                pending.uninformed = strangers;
            }
        }
        self.save();
        self.unbind()?;
        let number = self.record.pending.as_ref().map_or(0, |pending| pending.number);
        for side in CouplingSide::BOTH {
            if self.record.pending.as_ref().is_some_and(|pending| pending.done.contains(side.as_str())) {
                continue;
            }
            if !self.record.pending.as_ref().is_some_and(|pending| pending.uninformed.contains(&side)) {
                self.notify_decoupled(side)?;
                self.apply_decoupled_objects(side)?;
                if let Some(about) = self.identity(side) {
                    self.emit_event(side, &about, CouplingEvent::Decoupled, number);
                }
            }
            // Objects of the `created` event are kept until the plug is deleted.
            let own = |one: &&AppliedObject| !self.record.own.iter().any(|own| own.is_same_object(one));
            let made: Vec<AppliedObject> = self.record.inventory.of(side).iter().filter(own).cloned().collect();
            self.remove_all(&made)?;
            // Saved only if the other side halts, because its call needs a run of its own.
            if let Some(pending) = &mut self.record.pending {
                pending.done.insert(side.as_str().to_string());
            }
        }
        Ok(())
    }

    fn identity(&self, side: CouplingSide) -> Option<ObjectIdentity> {
        match side {
            CouplingSide::Plug => Some(self.record.plug.clone()),
            CouplingSide::Socket => self.record.socket.clone(),
        }
    }

    /// Applies the objects of the `decoupled` event.
    fn apply_decoupled_objects(&mut self, side: CouplingSide) -> Result<(), Halt> {
        let Some(snapshot) = self.record.snapshot.clone() else { return Ok(()) };
        let last = |entry: &ResourceEntry| entry.when.contains(&CouplingEvent::Decoupled);
        match self.snapshot_objects(&snapshot, side, last) {
            Ok((owner, all)) => {
                let account = self.account(&owner.0, &owner.1);
                let manager = manager(&self.meta, side);
                self.record_recreations(&all, CouplingEvent::Decoupled, &account)?;
                self.perform(&all, CouplingEvent::Decoupled, &account, &manager)
            }
            Err(ComputeError::Decide(stop)) => Err(stop.into()),
            Err(error) => {
                self.warn(side, &format!("could not run the actions for `decoupled`: {error}"));
                Ok(())
            }
        }
    }

    /// Returns namespace and service account of a side, and its objects.
    fn snapshot_objects(
        &self,
        snapshot: &CouplingSnapshot,
        side: CouplingSide,
        takes: impl Fn(&ResourceEntry) -> bool,
    ) -> Result<((String, String), Vec<RenderedObject>), ComputeError> {
        let (meta, spec) = snapshot_side(snapshot, side)?;
        let root = TemplateRoot::recorded(&snapshot.plug, &snapshot.socket).config(&self.record.config).value();
        let all = objects(&self.engine(), &meta, &spec.resources, takes, &root)?;
        Ok(((meta.namespace, spec.service_account), all))
    }

    /// Deletes the given objects in reverse order. Objects of a kind that is no longer served do not exist.
    pub fn remove_all(&mut self, made: &[AppliedObject]) -> Result<(), Halt> {
        for one in made.iter().rev().filter(|one| one.removed_when_decoupled) {
            if self.record.abandoned.contains(&one.display_name()) {
                continue;
            }
            match self.live_object(one) {
                Ok((resource, live)) => self.release(one, &resource, live.as_ref()),
                Err(ComputeError::Decide(stop)) => return Err(stop.into()),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Counts refusals and abandons objects after too many. Pods of an apparatus are excluded, because failed calls are
    /// counted instead.
    pub fn count_refusals(&mut self) {
        let refused: Vec<(String, String)> = self
            .view
            .rejected_writes()
            .iter()
            .filter(|refusal| !is_of_apparatus(refusal))
            .map(|refusal| {
                let object = &refusal.object;
                (
                    format!("{} {}/{}", object.table.resource.kind, object.namespace, object.name),
                    refusal.message.clone(),
                )
            })
            .collect();
        for (object, message) in refused.into_iter().filter(|(_, message)| is_final(message)) {
            self.record.refusals += 1;
            if self.record.refusals >= MAX_TEARDOWN_REFUSALS && self.record.abandoned.insert(object.clone()) {
                self.warn(CouplingSide::Plug, &format!("could not delete {object}: {message}"));
            }
        }
    }

    pub fn warn(&mut self, side: CouplingSide, message: &str) {
        let Some(about) = self.identity(side) else { return };
        let at = self.now.clone();
        self.plan.push(kubernetes_event(
            side,
            &about,
            EventKind::Warning { reason: "TeardownIncomplete", message },
            message,
            &at,
        ));
    }
}

fn snapshot_side(snapshot: &CouplingSnapshot, side: CouplingSide) -> Result<(PlugMeta, SideSpec), ComputeError> {
    let wrong = |error: crate::model::ModelError| ComputeError::Invalid(error.to_string());
    let object: &Value = match side {
        CouplingSide::Plug => &snapshot.plug,
        CouplingSide::Socket => &snapshot.socket,
    };
    match side {
        CouplingSide::Plug => Plug::read(object).map(|plug| (plug.meta, plug.side)).map_err(wrong),
        CouplingSide::Socket => Socket::read(object).map(|socket| (socket.meta, socket.side)).map_err(wrong),
    }
}
