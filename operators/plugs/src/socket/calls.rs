//! Calls to a socket's own apparatus: first of all `created`, and `deleted` at the end. A run with a call does nothing
//! else except record it, so that no call is repeated.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::plan::Plan;

use super::SocketRun;
use crate::apparatus::{Apparatus, CallOutcome, event_body, event_mark, with_last_end};
use crate::coupling::{EventKind, ObjectIdentity, conditions, kubernetes_event};
use crate::model::{CouplingEvent, Socket};
use crate::plug::{END_CALL_TRIES, RetryBudget};
use crate::refusal;
use crate::render::CouplingSide;

impl SocketRun<'_> {
    /// Returns the run that sends `created`, or `None` if there is no apparatus or the call is complete.
    pub(super) fn notify_created(&self, socket: &Socket) -> Result<Option<Plan>, DecideError> {
        let Some(apparatus) = Apparatus::of(CouplingSide::Socket, &socket.manifest) else { return Ok(None) };
        if self.was_notified("created") {
            return Ok(None);
        }
        let mut plan = Plan::ordered();
        if let Some(words) = self.refusal()?.filter(|words| !self.is_shown(words)) {
            // The next run retries; after a refused write, later writes of the run do not happen.
            self.set_condition(&mut plan, "Failed", true, "Error", &words);
            return Ok(Some(plan.failing(words)));
        }
        self.ensure_finalizer(&mut plan);
        if !plan.mutations.is_empty() {
            return Ok(Some(plan));
        }
        let (word, body) = (CouplingEvent::Created.as_str(), event_body(CouplingSide::Socket, &socket.manifest, None));
        Ok(Some(match self.driver.event(&apparatus, word, &self.event_mark_of(word), body, &mut plan)? {
            CallOutcome::Done(()) => {
                let mut status = self.object["status"].clone();
                status["apparatus"] = json!({"created": true});
                self.write_status(&mut plan, status);
                plan
            }
            CallOutcome::Waiting(why) => {
                let said = self.condition("ApparatusReady").and_then(|one| one["message"].as_str());
                let why = with_last_end(why, said.unwrap_or_default());
                self.set_condition(&mut plan, "ApparatusReady", false, "NotReady", &why);
                plan.waiting(why)
            }
            CallOutcome::Failed(why) => {
                self.set_condition(&mut plan, "Failed", true, "Error", &why);
                plan.failing(why)
            }
            CallOutcome::Invalid(why) => {
                self.set_condition(&mut plan, "Failed", true, "Error", &why);
                plan.blocked(why)
            }
        }))
    }

    /// Returns the run that sends `deleted`. An apparatus that does not answer does not block.
    pub(super) fn notify_deleted(&self, socket: &Socket) -> Result<Option<Plan>, DecideError> {
        let Some(apparatus) = Apparatus::of(CouplingSide::Socket, &socket.manifest) else { return Ok(None) };
        if self.was_notified("deleted") || !self.was_notified("created") {
            return Ok(None);
        }
        let mut plan = Plan::ordered();
        let mut status = self.object["status"].clone();
        if apparatus.has_pod() && self.is_namespace_terminating()? {
            return Ok(Some(self.without_call(status, "the namespace is being deleted")));
        }
        let (word, body) = (CouplingEvent::Deleted.as_str(), event_body(CouplingSide::Socket, &socket.manifest, None));
        let (why, patience) = match self.driver.event(&apparatus, word, &self.event_mark_of(word), body, &mut plan)? {
            CallOutcome::Done(()) => {
                status["apparatus"]["deleted"] = true.into();
                self.write_status(&mut plan, status);
                return Ok(Some(plan));
            }
            CallOutcome::Invalid(why) => (why, RetryBudget::NONE),
            CallOutcome::Failed(why) => (why, RetryBudget::CALLS),
            CallOutcome::Waiting(why) => {
                match self.view.rejected_writes().iter().find(|one| refusal::is_of_apparatus(one)) {
                    // A pod that may not be created will not start, and writes after the refused one would not happen.
                    Some(refused) => {
                        plan.mutations.clear();
                        (refused.message.clone(), RetryBudget::CALLS)
                    }
                    None => (why, RetryBudget::STARTS),
                }
            }
        };
        let tries = status["apparatus"]["tries"].as_u64().and_then(|tries| u32::try_from(tries).ok());
        let tries = tries.unwrap_or_default().saturating_add(1).min(END_CALL_TRIES);
        if !patience.is_exhausted(self.deleting_for(), tries) {
            status["apparatus"]["tries"] = tries.into();
            self.write_status(&mut plan, status);
            return Ok(Some(plan.failing(why)));
        }
        Ok(Some(self.without_call(status, &why)))
    }

    /// Returns the run that skips the call.
    fn without_call(&self, mut status: Value, why: &str) -> Plan {
        let mut plan = Plan::ordered();
        status["apparatus"]["deleted"] = true.into();
        let message = format!("its apparatus was not notified of deleted: {why}");
        let warning = EventKind::Warning { reason: "TeardownIncomplete", message: &message };
        plan.push(kubernetes_event(CouplingSide::Socket, &ObjectIdentity::of(self.meta), warning, &message, self.now));
        self.write_status(&mut plan, status);
        plan
    }

    pub(super) fn condition(&self, of_type: &str) -> Option<&Value> {
        self.object["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == of_type)
    }

    fn event_mark_of(&self, event: &str) -> String {
        event_mark(CouplingSide::Socket, "", &self.meta.uid, event, 0)
    }

    fn was_notified(&self, event: &str) -> bool {
        self.object["status"]["apparatus"][event] == true
    }

    pub(super) fn deleting_for(&self) -> Duration {
        let since =
            self.object["metadata"]["deletionTimestamp"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
        since.map_or(Duration::MAX, |since| {
            Duration::try_from(self.view.now().duration_since(since)).unwrap_or_default()
        })
    }

    /// Writes a single condition, before the socket has any other.
    fn set_condition(&self, plan: &mut Plan, of_type: &'static str, status: bool, reason: &str, message: &str) {
        let mut shown = self.object["status"].clone();
        let wanted = vec![(of_type, status, reason.to_string(), message.to_string())];
        shown["conditions"] = conditions(wanted, self.meta.generation, &self.object["status"]["conditions"], self.now);
        self.write_status(plan, shown);
    }
}
