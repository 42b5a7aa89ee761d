//! Calls to the apparatuses of a coupling: requests for config values, and events before the objects of a side are
//! applied.
//!
//! A call cannot be undone. A run that makes a call does nothing else except record it, so that no failure of another
//! write causes a repeated call.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use switchboard_kernel::operator::DecideError;

use super::halt::{Continuation, Halt};
use super::run::PlugRun;
use crate::apparatus::{
    Apparatus, ApparatusDriver, CallOutcome, STARTUP_DEADLINE, config_body, config_key, event_body, event_mark,
    with_last_end,
};
use crate::coupling::{ConfigAnswer, CouplingSnapshot, PlugState, call_step};
use crate::model::{CouplingEvent, SOCKETS};
use crate::refusal;
use crate::render::{CouplingPair, CouplingSide, PerSide, Values};

/// Minimum time during which an end event is retried before the apparatus is skipped.
pub const END_CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Minimum number of calls for an end event, because the event may have started long before the apparatus is called.
pub const END_CALL_TRIES: u32 = 3;

/// Time and number of calls after which an end event is given up.
#[derive(Clone, Copy)]
pub(crate) struct RetryBudget {
    time: Duration,
    tries: u32,
}

impl RetryBudget {
    /// For an error that only a change by the user could fix.
    pub const NONE: Self = Self { time: Duration::ZERO, tries: 0 };
    /// For an apparatus that does not answer.
    pub const CALLS: Self = Self { time: END_CALL_TIMEOUT, tries: END_CALL_TRIES };
    /// For an apparatus that is starting.
    pub const STARTS: Self = Self { time: STARTUP_DEADLINE, tries: END_CALL_TRIES };

    /// Whether both time and calls are used up.
    pub fn is_exhausted(self, time: Duration, tries: u32) -> bool {
        time >= self.time && tries >= self.tries
    }
}

impl<'a> PlugRun<'a> {
    fn driver(&self) -> ApparatusDriver<'a> {
        ApparatusDriver { view: self.view, caller: self.caller }
    }

    /// Returns the config values from a side's apparatus. Requests them again only if the request has changed.
    pub fn config_answer(
        &mut self,
        pair: CouplingPair<'_>,
        side: CouplingSide,
        data: &PerSide<Values>,
        own_vars: &Values,
    ) -> Result<Option<Values>, Halt> {
        let owner = manifest(pair, side);
        let Some(apparatus) = Apparatus::of(side, owner) else {
            *self.record.config_answers.of_mut(side) = None;
            return Ok(None);
        };
        let vars = Some(own_vars).filter(|_| !pair.side(side).vars.is_empty());
        let body = config_body(&pair.plug.manifest, &pair.socket.manifest, &data.plug, &data.socket, vars);
        let key = config_key(apparatus.spec["endpoint"].as_str().unwrap_or_default(), &body);
        if let Some(known) = self.record.config_answers.of(side).as_ref().filter(|known| known.key == key) {
            return Ok(Some(known.values.clone()));
        }
        self.require_created(pair, side)?;
        self.isolate_call(self.in_progress_state())?;
        let mut plan = std::mem::take(&mut self.plan);
        let asked = self.driver().config(&apparatus, body, &mut plan);
        self.plan = plan;
        let both = CouplingSnapshot { plug: pair.plug.manifest.clone(), socket: pair.socket.manifest.clone() };
        match asked?.with_side(side, &both) {
            CallOutcome::Done(values) => {
                *self.record.config_answers.of_mut(side) = Some(ConfigAnswer { key, values });
                self.save();
                Err(Halt::At(self.in_progress_state(), Continuation::NextRun))
            }
            other => Err(self.halt_for(other)),
        }
    }

    /// Requires that a socket's apparatus was notified of the socket's creation.
    fn require_created(&self, pair: CouplingPair<'_>, side: CouplingSide) -> Result<(), Halt> {
        let meta = pair.meta(side);
        if side == CouplingSide::Plug {
            return Ok(());
        }
        let socket = self.view.get(&SOCKETS, &meta.namespace, &meta.name)?.map(|object| object.value());
        if socket.is_some_and(|socket| socket["status"]["apparatus"]["created"] == true) {
            return Ok(());
        }
        Err(self
            .halt_for(CallOutcome::<()>::Waiting("the socket's apparatus to be notified of the socket".to_string())))
    }

    /// Notifies a side's apparatus of the event in progress, once.
    pub fn notify(
        &mut self,
        pair: CouplingPair<'_>,
        side: CouplingSide,
        event: CouplingEvent,
        config: &PerSide<Values>,
    ) -> Result<(), Halt> {
        let both = CouplingSnapshot { plug: pair.plug.manifest.clone(), socket: pair.socket.manifest.clone() };
        if self.was_notified(side) || Apparatus::of(side, both.of(side)).is_none() {
            return Ok(());
        }
        self.isolate_call(self.in_progress_state())?;
        match self.post(&both, side, event, Some(config))? {
            CallOutcome::Done(()) => {
                self.mark_notified(side);
                self.save();
                Err(Halt::At(self.in_progress_state(), Continuation::NextRun))
            }
            other => Err(self.halt_for(other)),
        }
    }

    /// Notifies the plug's own apparatus of the plug's creation, once.
    pub fn notify_created(&mut self, plug: &Value) -> Result<(), Halt> {
        if self.record.notified_created || Apparatus::of(CouplingSide::Plug, plug).is_none() {
            return Ok(());
        }
        self.isolate_call(PlugState::Created)?;
        let both = CouplingSnapshot { plug: plug.clone(), socket: Value::Null };
        match self.post(&both, CouplingSide::Plug, CouplingEvent::Created, None)? {
            CallOutcome::Done(()) => {
                self.record.notified_created = true;
                self.save();
                Err(Halt::At(PlugState::Created, Continuation::NextRun))
            }
            other => Err(self.halt_for(other)),
        }
    }

    /// Notifies an apparatus of the decoupling, from the record. An apparatus that does not answer does not block.
    pub fn notify_decoupled(&mut self, side: CouplingSide) -> Result<(), Halt> {
        let Some(both) = self.record.snapshot.clone() else { return Ok(()) };
        if self.was_notified(side) || Apparatus::of(side, both.of(side)).is_none() {
            return Ok(());
        }
        let config = self.record.config.clone();
        self.notify_end(&both, side, CouplingEvent::Decoupled, Some(&config))?;
        self.mark_notified(side);
        self.save();
        Err(Halt::At(PlugState::NoSocket, Continuation::NextRun))
    }

    /// Notifies the plug's own apparatus of the plug's deletion.
    pub fn notify_deleted(&mut self, plug: &Value) -> Result<(), Halt> {
        if self.record.notified_deleted || Apparatus::of(CouplingSide::Plug, plug).is_none() {
            return Ok(());
        }
        let both = CouplingSnapshot { plug: plug.clone(), socket: Value::Null };
        self.notify_end(&both, CouplingSide::Plug, CouplingEvent::Deleted, None)?;
        self.record.notified_deleted = true;
        self.save();
        Err(Halt::At(PlugState::NoSocket, Continuation::NextRun))
    }

    /// Lets the plug's own apparatus become idle.
    pub fn release_apparatus(&mut self) -> Result<(), DecideError> {
        let Some(object) = self.object.clone() else { return Ok(()) };
        let Some(apparatus) = Apparatus::of(CouplingSide::Plug, &object) else { return Ok(()) };
        let mut plan = std::mem::take(&mut self.plan);
        let rested = self.driver().stop_if_idle(&apparatus, &mut plan);
        self.plan = plan;
        rested
    }

    fn notify_end(
        &mut self,
        both: &CouplingSnapshot,
        side: CouplingSide,
        event: CouplingEvent,
        config: Option<&PerSide<Values>>,
    ) -> Result<(), Halt> {
        self.isolate_call(PlugState::NoSocket)?;
        if self.cannot_start(both.of(side))? {
            self.warn(
                side,
                &format!("its apparatus was not notified of {}: the namespace is being deleted", event.as_str()),
            );
            return Ok(());
        }
        let planned = self.plan.mutations.len();
        let (why, patience) = match self.post(both, side, event, config)? {
            CallOutcome::Done(()) => {
                self.record.failed_calls = 0;
                return Ok(());
            }
            CallOutcome::Invalid(why) => (why, RetryBudget::NONE),
            CallOutcome::Failed(why) => (why, RetryBudget::CALLS),
            CallOutcome::Waiting(why) => match self.apparatus_refusal() {
                // A pod that may not be created will not start, and writes after the refused one would not happen.
                Some(words) => {
                    self.plan.mutations.truncate(planned);
                    (words, RetryBudget::CALLS)
                }
                None => (with_last_end(why, self.shown_message()), RetryBudget::STARTS),
            },
        };
        self.record.failed_calls = self.record.failed_calls.saturating_add(1).min(END_CALL_TRIES);
        if patience.is_exhausted(self.ending_for(), self.record.failed_calls) {
            self.plan.mutations.truncate(planned);
            self.record.failed_calls = 0;
            self.warn(side, &format!("its apparatus was not notified of {}: {why}", event.as_str()));
            return Ok(());
        }
        Err(Halt::At(PlugState::Failing(why.clone()), Continuation::Retry(why)))
    }

    /// Whether the apparatus needs a pod in a namespace that is being deleted.
    fn cannot_start(&self, owner: &Value) -> Result<bool, DecideError> {
        let has_pod = Apparatus::of(CouplingSide::Plug, owner).is_some_and(|apparatus| apparatus.has_pod());
        let namespace = owner["metadata"]["namespace"].as_str().unwrap_or_default();
        Ok(has_pod && self.is_terminating(namespace)?)
    }

    /// Returns the refusal of an apparatus' pod in the previous run.
    fn apparatus_refusal(&self) -> Option<String> {
        let refused = self.view.rejected_writes().iter().find(|one| refusal::is_of_apparatus(one))?;
        Some(refused.message.clone())
    }

    /// Returns the time since the plug's deletion or decoupling began.
    fn ending_for(&self) -> Duration {
        let deleted = self.object.as_ref().and_then(|object| object["metadata"]["deletionTimestamp"].as_str());
        let since = deleted.or(self.record.pending.as_ref().map(|pending| pending.at.as_str()));
        let since = since.and_then(|time| time.parse::<Timestamp>().ok());
        // The start time of a deleted plug's end is unknown, so there is no wait.
        since.map_or(Duration::MAX, |since| {
            Duration::try_from(self.view.now().duration_since(since)).unwrap_or_default()
        })
    }

    fn post(
        &mut self,
        both: &CouplingSnapshot,
        side: CouplingSide,
        event: CouplingEvent,
        config: Option<&PerSide<Values>>,
    ) -> Result<CallOutcome<()>, Halt> {
        let Some(apparatus) = Apparatus::of(side, both.of(side)) else { return Ok(CallOutcome::Done(())) };
        let other = match side {
            CouplingSide::Plug => both.of(CouplingSide::Socket),
            CouplingSide::Socket => both.of(CouplingSide::Plug),
        };
        let body = event_body(side, both.of(side), config.map(|config| (other, &config.plug, &config.socket)));
        let number = self.record.pending.as_ref().filter(|pending| pending.event == event).map_or(0, |one| one.number);
        let socket = self.record.socket.as_ref().map_or("", |socket| socket.uid.as_str());
        let mark = event_mark(side, &self.record.plug.uid, socket, event.as_str(), number);
        let mut plan = std::mem::take(&mut self.plan);
        let sent = self.driver().event(&apparatus, event.as_str(), &mark, body, &mut plan);
        self.plan = plan;
        Ok(sent?.with_side(side, both))
    }

    /// Ends the run if there are pending writes: a call needs a run of its own.
    fn isolate_call(&mut self, state: PlugState) -> Result<(), Halt> {
        match self.plan.mutations.is_empty() && !self.is_unsaved() {
            true => Ok(()),
            false => Err(Halt::At(state, Continuation::NextRun)),
        }
    }

    fn in_progress_state(&self) -> PlugState {
        match self.record.pending.as_ref().map(|pending| pending.event) {
            Some(CouplingEvent::Updated) => PlugState::Updating(None),
            None if self.record.coupled => PlugState::Updating(None),
            _ => PlugState::Coupling(None),
        }
    }

    fn was_notified(&self, side: CouplingSide) -> bool {
        self.record.pending.as_ref().is_some_and(|pending| pending.done.contains(&call_step(side)))
    }

    fn mark_notified(&mut self, side: CouplingSide) {
        if let Some(pending) = &mut self.record.pending {
            pending.done.insert(call_step(side));
        }
    }

    /// Returns the message about the apparatus in the plug's status.
    fn shown_message(&self) -> &str {
        let shown = self.object.as_ref().and_then(|object| object["status"]["conditions"].as_array());
        let one = shown.into_iter().flatten().find(|one| one["type"] == "ApparatusReady" || one["type"] == "Failed");
        one.and_then(|one| one["message"].as_str()).unwrap_or_default()
    }

    fn halt_for<T>(&self, outcome: CallOutcome<T>) -> Halt {
        let updating = matches!(self.in_progress_state(), PlugState::Updating(_));
        match outcome {
            CallOutcome::Waiting(why) => {
                let why = with_last_end(why, self.shown_message());
                Halt::At(PlugState::Apparatus { updating, why: why.clone() }, Continuation::Waiting(why))
            }
            CallOutcome::Invalid(why) => Halt::At(PlugState::Failing(why.clone()), Continuation::Blocked(why)),
            CallOutcome::Failed(why) => Halt::At(PlugState::Failing(why.clone()), Continuation::Retry(why)),
            CallOutcome::Done(_) => Halt::At(self.in_progress_state(), Continuation::NextRun),
        }
    }
}

fn manifest(pair: CouplingPair<'_>, side: CouplingSide) -> &Value {
    match side {
        CouplingSide::Plug => &pair.plug.manifest,
        CouplingSide::Socket => &pair.socket.manifest,
    }
}
