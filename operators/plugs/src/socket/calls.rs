//! A socket's own program: told of the socket first, and of its end last. A run that calls it does nothing else and writes it
//! down, so that it hears nothing twice.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_kernel::operator::Stop;
use switchboard_kernel::plan::Plan;

use super::Ground;
use crate::apparatus::{Apparatus, Outcome, after_an_end, event_body, event_mark};
use crate::coupling::{Identity, Notice, conditions, notice};
use crate::model::{Event, Socket};
use crate::plug::{PARTING_TRIES, Patience};
use crate::refusal;
use crate::render::Who;

impl Ground<'_> {
    /// The run that tells of the socket; none when that was done, or nobody listens.
    pub(super) fn call_created(&self, socket: &Socket) -> Result<Option<Plan>, Stop> {
        let Some(apparatus) = Apparatus::of(Who::Socket, &socket.seen) else { return Ok(None) };
        if self.heard("created") {
            return Ok(None);
        }
        let mut plan = Plan::in_order();
        if let Some(words) = self.refused()?.filter(|words| !self.shows(words)) {
            // The next run tries again; a run that is refused shows nothing of what stands behind.
            self.say(&mut plan, "Failed", true, "Error", &words);
            return Ok(Some(plan.failing(words)));
        }
        self.keep(&mut plan);
        if !plan.mutations.is_empty() {
            return Ok(Some(plan));
        }
        let (word, body) = (Event::Created.word(), event_body(Who::Socket, &socket.seen, None));
        Ok(Some(match self.attendant.event(&apparatus, word, &self.mark(word), body, &mut plan)? {
            Outcome::Done(()) => {
                let mut status = self.object["status"].clone();
                status["apparatus"] = json!({"created": true});
                self.write(&mut plan, status);
                plan
            }
            Outcome::Waits(why) => {
                let said = self.condition("ApparatusReady").and_then(|one| one["message"].as_str());
                let why = after_an_end(why, said.unwrap_or_default());
                self.say(&mut plan, "ApparatusReady", false, "NotReady", &why);
                plan.waiting(why)
            }
            Outcome::Failed(why) => {
                self.say(&mut plan, "Failed", true, "Error", &why);
                plan.failing(why)
            }
            Outcome::Wrong(why) => {
                self.say(&mut plan, "Failed", true, "Error", &why);
                plan.blocked(why)
            }
        }))
    }

    /// The run that tells of its end. A program that is gone keeps nobody.
    pub(super) fn call_deleted(&self, socket: &Socket) -> Result<Option<Plan>, Stop> {
        let Some(apparatus) = Apparatus::of(Who::Socket, &socket.seen) else { return Ok(None) };
        if self.heard("deleted") || !self.heard("created") {
            return Ok(None);
        }
        let mut plan = Plan::in_order();
        let mut status = self.object["status"].clone();
        if apparatus.has_pod() && self.cannot_make()? {
            return Ok(Some(self.untold(status, "the namespace is going")));
        }
        let (word, body) = (Event::Deleted.word(), event_body(Who::Socket, &socket.seen, None));
        let (why, patience) = match self.attendant.event(&apparatus, word, &self.mark(word), body, &mut plan)? {
            Outcome::Done(()) => {
                status["apparatus"]["deleted"] = true.into();
                self.write(&mut plan, status);
                return Ok(Some(plan));
            }
            Outcome::Wrong(why) => (why, Patience::NONE),
            Outcome::Failed(why) => (why, Patience::OF_CALLS),
            Outcome::Waits(why) => match self.view.refused().iter().find(|one| refusal::is_of_a_program(one)) {
                // A pod that may not be made will not start, and nothing behind it would be written.
                Some(refused) => {
                    plan.mutations.clear();
                    (refused.message.clone(), Patience::OF_CALLS)
                }
                None => (why, Patience::OF_STARTS),
            },
        };
        let tries = status["apparatus"]["tries"].as_u64().and_then(|tries| u32::try_from(tries).ok());
        let tries = tries.unwrap_or_default().saturating_add(1).min(PARTING_TRIES);
        if !patience.is_over(self.going_for(), tries) {
            status["apparatus"]["tries"] = tries.into();
            self.write(&mut plan, status);
            return Ok(Some(plan.failing(why)));
        }
        Ok(Some(self.untold(status, &why)))
    }

    /// The run that does without its program.
    fn untold(&self, mut status: Value, why: &str) -> Plan {
        let mut plan = Plan::in_order();
        status["apparatus"]["deleted"] = true.into();
        let message = format!("its apparatus was not told of deleted: {why}");
        let warning = Notice::Warning { reason: "TeardownIncomplete", message: &message };
        plan.push(notice(Who::Socket, &Identity::of(self.meta), warning, &message, self.now));
        self.write(&mut plan, status);
        plan
    }

    pub(super) fn condition(&self, of_type: &str) -> Option<&Value> {
        self.object["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == of_type)
    }

    fn mark(&self, event: &str) -> String {
        event_mark(Who::Socket, "", &self.meta.uid, event, 0)
    }

    fn heard(&self, event: &str) -> bool {
        self.object["status"]["apparatus"][event] == true
    }

    pub(super) fn going_for(&self) -> Duration {
        let since =
            self.object["metadata"]["deletionTimestamp"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
        since.map_or(Duration::MAX, |since| {
            Duration::try_from(self.view.now().duration_since(since)).unwrap_or_default()
        })
    }

    /// One condition, before the socket is told of and has any other.
    fn say(&self, plan: &mut Plan, of_type: &'static str, status: bool, reason: &str, message: &str) {
        let mut shown = self.object["status"].clone();
        let wanted = vec![(of_type, status, reason.to_string(), message.to_string())];
        shown["conditions"] = conditions(wanted, self.meta.generation, &self.object["status"]["conditions"], self.now);
        self.write(plan, shown);
    }
}
