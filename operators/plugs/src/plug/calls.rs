//! Programs that take part: asked for what they add to a config, and told of events before the objects of their side are made.
//!
//! A call cannot be taken back. A run that makes one does nothing else and writes it down: whatever fails in other runs, no
//! program is told twice of what it has heard.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use switchboard_kernel::operator::Stop;

use super::halt::{Halt, Onward};
use super::work::Work;
use crate::apparatus::{
    Apparatus, Attendant, Outcome, STARTUP_DEADLINE, after_an_end, config_body, config_key, event_body, event_mark,
};
use crate::coupling::{Snapshot, Stand, Told, called};
use crate::model::{Event, SOCKETS};
use crate::refusal;
use crate::render::{Both, Pair, Values, Who};

/// How long a program that does not answer is told of an end before it does without.
pub const PARTING_PATIENCE: Duration = Duration::from_secs(10);
/// How often it is told at least: an end may have begun long before it was the program's turn.
pub const PARTING_TRIES: u32 = 3;

/// For how long, and how often, a program is told of an end.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    time: Duration,
    tries: u32,
}

impl Patience {
    /// Somebody would have to change something, and nobody will.
    pub const NONE: Self = Self { time: Duration::ZERO, tries: 0 };
    /// With a program that does not answer.
    pub const OF_CALLS: Self = Self { time: PARTING_PATIENCE, tries: PARTING_TRIES };
    /// With one that is being started.
    pub const OF_STARTS: Self = Self { time: STARTUP_DEADLINE, tries: PARTING_TRIES };

    /// Whether it has had its time and its tries.
    pub fn is_over(self, time: Duration, tries: u32) -> bool {
        time >= self.time && tries >= self.tries
    }
}

impl<'a> Work<'a> {
    fn attendant(&self) -> Attendant<'a> {
        Attendant { view: self.view, outside: self.door.outside, caller: self.door.caller }
    }

    /// What a side's apparatus adds to its config; asked again only when the question is another.
    pub fn told(
        &mut self,
        pair: Pair<'_>,
        who: Who,
        data: &Both<Values>,
        own_vars: &Values,
    ) -> Result<Option<Values>, Halt> {
        let owner = seen(pair, who);
        let Some(apparatus) = Apparatus::of(who, owner) else {
            *self.record.told.of_mut(who) = None;
            return Ok(None);
        };
        let vars = Some(own_vars).filter(|_| !pair.side(who).vars.is_empty());
        let body = config_body(&pair.plug.seen, &pair.socket.seen, &data.plug, &data.socket, vars);
        let key = config_key(apparatus.spec["endpoint"].as_str().unwrap_or_default(), &body);
        if let Some(told) = self.record.told.of(who).as_ref().filter(|told| told.key == key) {
            return Ok(Some(told.values.clone()));
        }
        self.after_created(pair, who)?;
        self.alone(self.stand())?;
        let mut plan = std::mem::take(&mut self.plan);
        let asked = self.attendant().config(&apparatus, body, &mut plan);
        self.plan = plan;
        let both = Snapshot { plug: pair.plug.seen.clone(), socket: pair.socket.seen.clone() };
        match asked?.named(who, &both) {
            Outcome::Done(values) => {
                *self.record.told.of_mut(who) = Some(Told { key, values });
                self.save();
                Err(Halt::Here(self.stand(), Onward::NextRun))
            }
            other => Err(self.not_heard(other)),
        }
    }

    /// A socket's apparatus is told of the socket before anything else.
    fn after_created(&self, pair: Pair<'_>, who: Who) -> Result<(), Halt> {
        let meta = pair.meta(who);
        if who == Who::Plug {
            return Ok(());
        }
        let socket = self.view.get(&SOCKETS, &meta.namespace, &meta.name)?.map(|object| object.value());
        if socket.is_some_and(|socket| socket["status"]["apparatus"]["created"] == true) {
            return Ok(());
        }
        Err(self.not_heard(Outcome::<()>::Waits("the socket's apparatus to be told of the socket".to_string())))
    }

    /// Tells a side's apparatus of the event under way, once.
    pub fn call(&mut self, pair: Pair<'_>, who: Who, event: Event, config: &Both<Values>) -> Result<(), Halt> {
        let both = Snapshot { plug: pair.plug.seen.clone(), socket: pair.socket.seen.clone() };
        if self.heard(who) || Apparatus::of(who, both.of(who)).is_none() {
            return Ok(());
        }
        self.alone(self.stand())?;
        match self.post(&both, who, event, Some(config))? {
            Outcome::Done(()) => {
                self.hear(who);
                self.save();
                Err(Halt::Here(self.stand(), Onward::NextRun))
            }
            other => Err(self.not_heard(other)),
        }
    }

    /// Tells the plug's own apparatus that the plug is there, once.
    pub fn call_created(&mut self, plug: &Value) -> Result<(), Halt> {
        if self.record.told_created || Apparatus::of(Who::Plug, plug).is_none() {
            return Ok(());
        }
        self.alone(Stand::Created)?;
        let both = Snapshot { plug: plug.clone(), socket: Value::Null };
        match self.post(&both, Who::Plug, Event::Created, None)? {
            Outcome::Done(()) => {
                self.record.told_created = true;
                self.save();
                Err(Halt::Here(Stand::Created, Onward::NextRun))
            }
            other => Err(self.not_heard(other)),
        }
    }

    /// Tells of the parting, from what was recorded. A program that is gone keeps nobody.
    pub fn call_decoupled(&mut self, who: Who) -> Result<(), Halt> {
        let Some(both) = self.record.snapshot.clone() else { return Ok(()) };
        if self.heard(who) || Apparatus::of(who, both.of(who)).is_none() {
            return Ok(());
        }
        let config = self.record.config.clone();
        self.call_parting(&both, who, Event::Decoupled, Some(&config))?;
        self.hear(who);
        self.save();
        Err(Halt::Here(Stand::NoSocket, Onward::NextRun))
    }

    /// Tells the plug's own apparatus that the plug goes.
    pub fn call_deleted(&mut self, plug: &Value) -> Result<(), Halt> {
        if self.record.told_deleted || Apparatus::of(Who::Plug, plug).is_none() {
            return Ok(());
        }
        let both = Snapshot { plug: plug.clone(), socket: Value::Null };
        self.call_parting(&both, Who::Plug, Event::Deleted, None)?;
        self.record.told_deleted = true;
        self.save();
        Err(Halt::Here(Stand::NoSocket, Onward::NextRun))
    }

    /// The own apparatus is not called now: it may rest.
    pub fn rest(&mut self) -> Result<(), Stop> {
        let Some(object) = self.object.clone() else { return Ok(()) };
        let Some(apparatus) = Apparatus::of(Who::Plug, &object) else { return Ok(()) };
        let mut plan = std::mem::take(&mut self.plan);
        let rested = self.attendant().rest(&apparatus, &mut plan);
        self.plan = plan;
        rested
    }

    fn call_parting(
        &mut self,
        both: &Snapshot,
        who: Who,
        event: Event,
        config: Option<&Both<Values>>,
    ) -> Result<(), Halt> {
        self.alone(Stand::NoSocket)?;
        if self.cannot_start(both.of(who))? {
            self.warn(who, &format!("its apparatus was not told of {}: the namespace is going", event.word()));
            return Ok(());
        }
        let planned = self.plan.mutations.len();
        let (why, patience) = match self.post(both, who, event, config)? {
            Outcome::Done(()) => {
                self.record.unheard = 0;
                return Ok(());
            }
            Outcome::Wrong(why) => (why, Patience::NONE),
            Outcome::Failed(why) => (why, Patience::OF_CALLS),
            Outcome::Waits(why) => match self.refused_program() {
                // A pod that may not be made will not start, and nothing behind it would be written.
                Some(words) => {
                    self.plan.mutations.truncate(planned);
                    (words, Patience::OF_CALLS)
                }
                None => (after_an_end(why, self.said()), Patience::OF_STARTS),
            },
        };
        self.record.unheard = self.record.unheard.saturating_add(1).min(PARTING_TRIES);
        if patience.is_over(self.parting_for(), self.record.unheard) {
            self.plan.mutations.truncate(planned);
            self.record.unheard = 0;
            self.warn(who, &format!("its apparatus was not told of {}: {why}", event.word()));
            return Ok(());
        }
        Err(Halt::Here(Stand::Failing(why.clone()), Onward::Retries(why)))
    }

    /// No pod is made in a namespace that goes.
    fn cannot_start(&self, owner: &Value) -> Result<bool, Stop> {
        let has_pod = Apparatus::of(Who::Plug, owner).is_some_and(|apparatus| apparatus.has_pod());
        let namespace = owner["metadata"]["namespace"].as_str().unwrap_or_default();
        Ok(has_pod && self.cannot_make_in(namespace)?)
    }

    /// Why the pod of a program may not be made, if that was tried by the run before.
    fn refused_program(&self) -> Option<String> {
        let refused = self.view.refused().iter().find(|one| refusal::is_of_a_program(one))?;
        Some(refused.message.clone())
    }

    /// Since when the plug goes, or parts.
    fn parting_for(&self) -> Duration {
        let deleted = self.object.as_ref().and_then(|object| object["metadata"]["deletionTimestamp"].as_str());
        let since = deleted.or(self.record.pending.as_ref().map(|pending| pending.at.as_str()));
        let since = since.and_then(|time| time.parse::<Timestamp>().ok());
        // Of a plug that is gone nobody knows since when: it is not waited for.
        since.map_or(Duration::MAX, |since| {
            Duration::try_from(self.view.now().duration_since(since)).unwrap_or_default()
        })
    }

    fn post(
        &mut self,
        both: &Snapshot,
        who: Who,
        event: Event,
        config: Option<&Both<Values>>,
    ) -> Result<Outcome<()>, Halt> {
        let Some(apparatus) = Apparatus::of(who, both.of(who)) else { return Ok(Outcome::Done(())) };
        let other = match who {
            Who::Plug => both.of(Who::Socket),
            Who::Socket => both.of(Who::Plug),
        };
        let body = event_body(who, both.of(who), config.map(|config| (other, &config.plug, &config.socket)));
        let number = self.record.pending.as_ref().filter(|pending| pending.event == event).map_or(0, |one| one.number);
        let socket = self.record.socket.as_ref().map_or("", |socket| socket.uid.as_str());
        let mark = event_mark(who, &self.record.plug.uid, socket, event.word(), number);
        let mut plan = std::mem::take(&mut self.plan);
        let told = self.attendant().event(&apparatus, event.word(), &mark, body, &mut plan);
        self.plan = plan;
        Ok(told?.named(who, both))
    }

    /// What was planned before is written first; a call is made by a run of its own.
    fn alone(&mut self, stand: Stand) -> Result<(), Halt> {
        match self.plan.mutations.is_empty() && !self.unsaved() {
            true => Ok(()),
            false => Err(Halt::Here(stand, Onward::NextRun)),
        }
    }

    fn stand(&self) -> Stand {
        match self.record.pending.as_ref().map(|pending| pending.event) {
            Some(Event::Updated) => Stand::Updating(None),
            None if self.record.coupled => Stand::Updating(None),
            _ => Stand::Coupling(None),
        }
    }

    fn heard(&self, who: Who) -> bool {
        self.record.pending.as_ref().is_some_and(|pending| pending.done.contains(&called(who)))
    }

    fn hear(&mut self, who: Who) {
        if let Some(pending) = &mut self.record.pending {
            pending.done.insert(called(who));
        }
    }

    /// What the plug shows of the program that it waits for.
    fn said(&self) -> &str {
        let shown = self.object.as_ref().and_then(|object| object["status"]["conditions"].as_array());
        let one = shown.into_iter().flatten().find(|one| one["type"] == "ApparatusReady" || one["type"] == "Failed");
        one.and_then(|one| one["message"].as_str()).unwrap_or_default()
    }

    fn not_heard<T>(&self, outcome: Outcome<T>) -> Halt {
        let updating = matches!(self.stand(), Stand::Updating(_));
        match outcome {
            Outcome::Waits(why) => {
                let why = after_an_end(why, self.said());
                Halt::Here(Stand::Apparatus { updating, why: why.clone() }, Onward::Waits(why))
            }
            Outcome::Wrong(why) => Halt::Here(Stand::Failing(why.clone()), Onward::Blocked(why)),
            Outcome::Failed(why) => Halt::Here(Stand::Failing(why.clone()), Onward::Retries(why)),
            Outcome::Done(_) => Halt::Here(self.stand(), Onward::NextRun),
        }
    }
}

fn seen(pair: Pair<'_>, who: Who) -> &Value {
    match who {
        Who::Plug => &pair.plug.seen,
        Who::Socket => &pair.socket.seen,
    }
}
