//! The end of a socket: its plugs first, then what was made for it, each object for itself, then the socket.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_kernel::operator::Stop;
use switchboard_kernel::plan::{Mutation, Plan};

use super::objects::is_abandoned;
use super::sum::Sum;
use super::{Ground, Problem};
use crate::coupling::{Identity, Notice, notice};
use crate::model::{Event, FINALIZER, PLUGS, Socket};
use crate::refusal;
use crate::render::Who;

/// How long a socket that goes waits for a record whose plug is gone. Whoever takes the plug's finalizer away leaves one behind.
pub const ORPHAN_PATIENCE: Duration = Duration::from_secs(60);

impl Ground<'_> {
    /// The plugs first, then the socket.
    pub(super) fn bury(&self, records: &[Value], socket: Option<&Socket>) -> Result<Plan, Stop> {
        let mut plan = Plan::in_order();
        let bound = self.bound(records)?;
        if bound > 0 {
            let sum = Sum::of(records);
            if socket.is_some_and(|socket| socket.deletes_plugs) {
                for plug in &sum.all {
                    plan.push(Mutation::delete(&PLUGS, &plug.namespace, &plug.name).regardless());
                }
            }
            self.show(&mut plan, &sum, &self.object["status"], None);
            let left = ORPHAN_PATIENCE.saturating_sub(self.going_for());
            if !left.is_zero() {
                plan.again = Some(plan.again.map_or(left, |again| again.min(left)));
            }
            return Ok(plan.waiting(format!("{bound} {} to be decoupled", if bound == 1 { "plug" } else { "plugs" })));
        }
        if let Some(first) = socket.map(|socket| self.call_deleted(socket)).transpose()?.flatten() {
            return Ok(first);
        }
        let mut known = self.object["status"].clone();
        let given_up = self.give_up(&mut known);
        match self.last_objects(&mut plan, &mut known, socket) {
            Ok(()) | Err(Problem::Words(_)) => {}
            Err(Problem::Waits(on)) => return Ok(plan.waiting(on)),
            Err(Problem::Stop(stop)) => return Err(stop),
        }
        let about = Identity::of(self.meta);
        for words in &given_up {
            let warning = Notice::Warning { reason: "TeardownIncomplete", message: words };
            plan.push(notice(Who::Socket, &about, warning, words, self.now));
        }
        plan.push(notice(Who::Socket, &about, Notice::Came(Event::Deleted), "", self.now));
        let all = self.object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        self.set_finalizers(&mut plan, &all.into_iter().filter(|one| one != FINALIZER).collect::<Vec<_>>());
        Ok(plan)
    }

    /// How many plugs are still to be decoupled.
    fn bound(&self, records: &[Value]) -> Result<usize, Stop> {
        if self.going_for() < ORPHAN_PATIENCE {
            return Ok(records.len());
        }
        let mut count = 0;
        for plug in Sum::of(records).all {
            let found = self.view.get(&PLUGS, &plug.namespace, &plug.name)?.map(|object| object.value());
            count += usize::from(found.is_some_and(|found| found["metadata"]["uid"] == plug.uid.as_str()));
        }
        Ok(count)
    }

    /// What nobody may remove is left, and nothing else because of it.
    fn give_up(&self, known: &mut Value) -> Vec<String> {
        let mut words = Vec::new();
        for refusal in self.view.refused().iter().filter(|one| refusal::is_final(&one.message)) {
            let object = &refusal.object;
            let shown = format!("{} {}/{}", object.table.resource.kind, object.namespace, object.name);
            if !known["abandoned"].is_array() {
                known["abandoned"] = json!([]);
            }
            if let Some(all) = known["abandoned"].as_array_mut().filter(|all| !all.iter().any(|one| *one == shown)) {
                words.push(format!("gave up on {shown}: {}", refusal.message));
                all.push(shown.into());
            }
        }
        words
    }

    fn last_objects(&self, plan: &mut Plan, known: &mut Value, socket: Option<&Socket>) -> Result<(), Problem> {
        // Nobody can mend the template of a socket that goes.
        let last = match socket.map(|socket| (socket, self.rendered(socket, Event::Deleted))) {
            Some((socket, Ok(all))) => Some((socket, all)),
            _ => None,
        };
        if let Some((socket, all)) = &last {
            self.intend_to_recreate(known, all, Event::Deleted, socket)?;
        }
        self.write(plan, known.clone());
        let performed = match &last {
            Some((socket, all)) => self.perform(plan, all, Event::Deleted, socket, known),
            None => Ok(()),
        };
        if let Err(problem @ (Problem::Stop(_) | Problem::Waits(_))) = performed {
            return Err(problem);
        }
        for one in self.known().iter().rev().filter(|one| one.goes && !is_abandoned(known, one)) {
            self.remove(plan, one)?;
        }
        Ok(())
    }
}
