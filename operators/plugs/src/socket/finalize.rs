//! Deletion of a socket: first its plugs are decoupled, then its objects are deleted independently of each other, then
//! the finalizer is removed.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::{Mutation, Plan};

use super::objects::is_abandoned;
use super::summary::PlugSummary;
use super::{SocketHalt, SocketRun};
use crate::coupling::{EventKind, ObjectIdentity, kubernetes_event};
use crate::model::{CouplingEvent, FINALIZER, PLUGS, Socket};
use crate::refusal;
use crate::render::CouplingSide;

/// Time that a deleted socket waits for a record whose plug no longer exists. Such a record remains if the plug's
/// finalizer is removed by another writer.
pub const ORPHAN_TIMEOUT: Duration = Duration::from_secs(60);

impl SocketRun<'_> {
    /// Waits for the plugs, then deletes the socket's objects and removes the finalizer.
    pub(super) fn finalize(&self, records: &[Value], socket: Option<&Socket>) -> Result<Plan, DecideError> {
        let mut plan = Plan::ordered();
        let bound = self.bound_plugs(records)?;
        if bound > 0 {
            let sum = PlugSummary::of(records);
            if socket.is_some_and(|socket| socket.deletes_plugs) {
                for plug in &sum.all {
                    plan.push(Mutation::delete(&PLUGS, &plug.namespace, &plug.name).unconditional());
                }
            }
            self.show_summary(&mut plan, &sum, &self.object["status"], None);
            let left = ORPHAN_TIMEOUT.saturating_sub(self.deleting_for());
            if !left.is_zero() {
                plan.requeue_after = Some(plan.requeue_after.map_or(left, |again| again.min(left)));
            }
            return Ok(plan.waiting(format!("{bound} {} to be decoupled", if bound == 1 { "plug" } else { "plugs" })));
        }
        if let Some(first) = socket.map(|socket| self.notify_deleted(socket)).transpose()?.flatten() {
            return Ok(first);
        }
        let mut known = self.object["status"].clone();
        let given_up = self.abandon_refused(&mut known);
        match self.delete_objects(&mut plan, &mut known, socket) {
            Ok(()) | Err(SocketHalt::Invalid(_)) => {}
            Err(SocketHalt::Waiting(on)) => return Ok(plan.waiting(on)),
            Err(SocketHalt::Decide(stop)) => return Err(stop),
        }
        let about = ObjectIdentity::of(self.meta);
        for words in &given_up {
            let warning = EventKind::Warning { reason: "TeardownIncomplete", message: words };
            plan.push(kubernetes_event(CouplingSide::Socket, &about, warning, words, self.now));
        }
        plan.push(kubernetes_event(
            CouplingSide::Socket,
            &about,
            EventKind::Lifecycle(CouplingEvent::Deleted),
            "",
            self.now,
        ));
        let all = self.object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        self.set_finalizers(&mut plan, &all.into_iter().filter(|one| one != FINALIZER).collect::<Vec<_>>());
        Ok(plan)
    }

    /// Returns the number of plugs that are still to be decoupled.
    fn bound_plugs(&self, records: &[Value]) -> Result<usize, DecideError> {
        if self.deleting_for() < ORPHAN_TIMEOUT {
            return Ok(records.len());
        }
        let mut count = 0;
        for plug in PlugSummary::of(records).all {
            let found = self.view.get(&PLUGS, &plug.namespace, &plug.name)?.map(|object| object.value());
            count += usize::from(found.is_some_and(|found| found["metadata"]["uid"] == plug.uid.as_str()));
        }
        Ok(count)
    }

    /// Marks refused deletions as abandoned, without affecting other objects.
    fn abandon_refused(&self, known: &mut Value) -> Vec<String> {
        let mut words = Vec::new();
        for refusal in self.view.rejected_writes().iter().filter(|one| refusal::is_final(&one.message)) {
            let object = &refusal.object;
            let shown = format!("{} {}/{}", object.table.resource.kind, object.namespace, object.name);
            if !known["abandoned"].is_array() {
                known["abandoned"] = json!([]);
            }
            if let Some(all) = known["abandoned"].as_array_mut().filter(|all| !all.iter().any(|one| *one == shown)) {
                words.push(format!("could not delete {shown}: {}", refusal.message));
                all.push(shown.into());
            }
        }
        words
    }

    fn delete_objects(&self, plan: &mut Plan, known: &mut Value, socket: Option<&Socket>) -> Result<(), SocketHalt> {
        // The template of a deleted socket cannot be fixed any more.
        let last = match socket.map(|socket| (socket, self.rendered_objects(socket, CouplingEvent::Deleted))) {
            Some((socket, Ok(all))) => Some((socket, all)),
            _ => None,
        };
        if let Some((socket, all)) = &last {
            self.record_recreations(known, all, CouplingEvent::Deleted, socket)?;
        }
        self.write_status(plan, known.clone());
        let performed = match &last {
            Some((socket, all)) => self.perform(plan, all, CouplingEvent::Deleted, socket, known),
            None => Ok(()),
        };
        if let Err(problem @ (SocketHalt::Decide(_) | SocketHalt::Waiting(_))) = performed {
            return Err(problem);
        }
        for one in
            self.applied_objects().iter().rev().filter(|one| one.removed_when_decoupled && !is_abandoned(known, one))
        {
            self.remove(plan, one)?;
        }
        Ok(())
    }
}
