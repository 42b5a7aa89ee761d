//! Taking plug and socket apart, from what was recorded alone.
//!
//! Nothing here may hang: what is refused again and again is told to people and let go.

use serde_json::Value;

use super::halt::Halt;
use super::work::{Work, manager};
use crate::coupling::{Identity, Made, Notice, Snapshot, notice};
use crate::model::{Event, Meta, Plug, Resource, Side, Socket};
use crate::refusal::{is_final, is_of_a_program};
use crate::render::{Rendered, Roots, Trouble, Who, objects};

/// How often teardown is refused something before it does without.
pub const MAX_TEARDOWN_REFUSALS: u32 = 5;

impl Work<'_> {
    /// Tells both sides, and removes what was made for them.
    pub fn part(&mut self) -> Result<(), Halt> {
        self.parting = true;
        self.count_refusals();
        if self.record.pending.as_ref().is_none_or(|pending| pending.event != Event::Decoupled) {
            let (now, number, strangers) = (self.now.clone(), self.number(), self.record.strangers());
            self.record.begin(Event::Decoupled, &now, number, String::new());
            if let Some(pending) = &mut self.record.pending {
                pending.strangers = strangers;
            }
        }
        self.save();
        self.unbind()?;
        let number = self.record.pending.as_ref().map_or(0, |pending| pending.number);
        for who in Who::BOTH {
            if self.record.pending.as_ref().is_some_and(|pending| pending.done.contains(who.word())) {
                continue;
            }
            if !self.record.pending.as_ref().is_some_and(|pending| pending.strangers.contains(&who)) {
                self.call_decoupled(who)?;
                self.last_objects(who)?;
                if let Some(about) = self.identity(who) {
                    self.tell(who, &about, Event::Decoupled, number);
                }
            }
            // What was made at the beginning of the plug stays until its end.
            let own = |one: &&Made| !self.record.own.iter().any(|own| own.is_same(one));
            let made: Vec<Made> = self.record.inventory.of(who).iter().filter(own).cloned().collect();
            self.remove_all(&made)?;
            // Written down only if the other side halts: its program is called by a run of its own.
            if let Some(pending) = &mut self.record.pending {
                pending.done.insert(who.word().to_string());
            }
        }
        Ok(())
    }

    fn identity(&self, who: Who) -> Option<Identity> {
        match who {
            Who::Plug => Some(self.record.plug.clone()),
            Who::Socket => self.record.socket.clone(),
        }
    }

    /// Objects that were asked for at the parting.
    fn last_objects(&mut self, who: Who) -> Result<(), Halt> {
        let Some(snapshot) = self.record.snapshot.clone() else { return Ok(()) };
        let last = |entry: &Resource| entry.when.contains(&Event::Decoupled);
        match self.of_snapshot(&snapshot, who, last) {
            Ok((side, all)) => {
                let account = self.account(&side.0, &side.1);
                let manager = manager(&self.meta, who);
                self.intend_to_recreate(&all, Event::Decoupled, &account)?;
                self.perform(&all, Event::Decoupled, &account, &manager)
            }
            Err(Trouble::Stop(stop)) => Err(stop.into()),
            Err(trouble) => {
                self.warn(who, &format!("could not do what was asked for when decoupled: {trouble}"));
                Ok(())
            }
        }
    }

    /// Namespace and service account of a side, and its objects.
    fn of_snapshot(
        &self,
        snapshot: &Snapshot,
        who: Who,
        takes: impl Fn(&Resource) -> bool,
    ) -> Result<((String, String), Vec<Rendered>), Trouble> {
        let (meta, side) = side_of(snapshot, who)?;
        let root = Roots::recorded(&snapshot.plug, &snapshot.socket).config(&self.record.config).value();
        let all = objects(&self.engine(), &meta, &side.resources, takes, &root)?;
        Ok(((meta.namespace, side.service_account), all))
    }

    /// Removes what goes, the last first. A kind that is not served any more has no objects.
    pub fn remove_all(&mut self, made: &[Made]) -> Result<(), Halt> {
        for one in made.iter().rev().filter(|one| one.goes) {
            if self.record.abandoned.contains(&one.shown()) {
                continue;
            }
            match self.live_object(one) {
                Ok((resource, live)) => self.release(one, &resource, live.as_ref()),
                Err(Trouble::Stop(stop)) => return Err(stop.into()),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// After enough refusals, teardown does without what it is refused. Pods of programs are not among it: whoever calls them counts.
    pub fn count_refusals(&mut self) {
        let refused: Vec<(String, String)> = self
            .view
            .refused()
            .iter()
            .filter(|refusal| !is_of_a_program(refusal))
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
                self.warn(Who::Plug, &format!("gave up on {object}: {message}"));
            }
        }
    }

    pub fn warn(&mut self, who: Who, message: &str) {
        let Some(about) = self.identity(who) else { return };
        let at = self.now.clone();
        self.plan.push(notice(who, &about, Notice::Warning { reason: "TeardownIncomplete", message }, message, &at));
    }
}

fn side_of(snapshot: &Snapshot, who: Who) -> Result<(Meta, Side), Trouble> {
    let wrong = |error: crate::model::ModelError| Trouble::Wrong(error.to_string());
    let object: &Value = match who {
        Who::Plug => &snapshot.plug,
        Who::Socket => &snapshot.socket,
    };
    match who {
        Who::Plug => Plug::read(object).map(|plug| (plug.meta, plug.side)).map_err(wrong),
        Who::Socket => Socket::read(object).map(|socket| (socket.meta, socket.side)).map_err(wrong),
    }
}
