//! Bringing plug and socket together, and keeping them so.

use serde_json::Value;
use switchboard_kernel::operator::ServiceAccount;

use super::halt::{Halt, Onward};
use super::hidden::{Inputs, hidden};
use super::reading::Reading;
use super::work::{NAMESPACES, Work, manager};
use crate::coupling::{Content, Identity, Made, Snapshot, Stand, hash};
use crate::model::{Action, Event, Meta, Plug, SOCKETS, Socket};
use crate::render::{
    Both, Pair, Rendered, Roots, Trouble, Values, Who, check_interface, config, data, objects, result, vars,
};

/// What results there are, and the objects made of them.
type Results = (Both<Values>, Both<Vec<Rendered>>);

/// What a coupling is made of at this moment.
struct Assembly<'p> {
    pair: Pair<'p>,
    accounts: Both<ServiceAccount>,
    data: Both<Values>,
    config: Both<Values>,
    objects: Both<Vec<Rendered>>,
    content: String,
}

impl Work<'_> {
    /// Finds the socket, parts from the one before if it is another, and couples.
    pub fn integrate(&mut self, plug: &Plug) -> Result<(), Halt> {
        let Some((namespace, name)) = &plug.socket else {
            self.leave()?;
            let words = "spec.socket is missing: it names the socket to couple to".to_string();
            return Err(Halt::Here(Stand::Failing(words.clone()), Onward::Blocked(words)));
        };
        let found = self.view.get_but_for_status(&SOCKETS, namespace, name)?.map(|object| object.value());
        let uid = found.as_ref().map(|object| object["metadata"]["uid"].as_str().unwrap_or_default().to_string());
        let bound = self.record.socket.as_ref().map(|socket| socket.uid.clone());
        if bound.is_some() && bound != uid || self.record.plug.uid != plug.meta.uid {
            self.leave()?;
        }
        let waits = || Onward::Waits(format!("socket {namespace}/{name} to be created"));
        let Some(found) = found.filter(|object| !object["metadata"]["deletionTimestamp"].is_string()) else {
            self.leave()?;
            return Err(Halt::Here(Stand::SocketMissing(missing(namespace, name)), waits()));
        };
        let socket =
            Socket::read(&found).map_err(|error| Trouble::Wrong(format!("socket {namespace}/{name}: {error}")))?;
        if !self.record.coupled && found["status"]["created"] != true {
            // `created` comes before `coupled`: what the socket shows tells when it was.
            self.view.get(&SOCKETS, namespace, name)?;
            let words = format!("socket {namespace}/{name} to be told of");
            let stand = failed(&found).map_or(Stand::Coupling(None), Stand::Failing);
            return Err(Halt::Here(stand, Onward::Waits(words)));
        }
        let pair = Pair { plug, socket: &socket };
        self.agree(pair)?;
        self.record.socket = Some(Identity::of(&socket.meta));
        self.admitted(&socket)?;
        self.couple(pair)
    }

    /// Parts from whatever the plug is bound to; what comes next is the next run's.
    fn leave(&mut self) -> Result<(), Halt> {
        let was_bound = self.record.is_bound();
        if was_bound {
            self.part()?;
        }
        self.record.release();
        if self.record.plug.uid != self.meta.uid {
            // A plug of the same name was made anew; the record is now this one's.
            self.record.plug = Identity { uid: self.meta.uid.clone(), ..self.record.plug.clone() };
            self.record.created = false;
            self.record.told_created = false;
        }
        match was_bound {
            true => Err(Halt::Here(Stand::NoSocket, Onward::NextRun)),
            false => Ok(()),
        }
    }

    /// Whether the two speak of the same, and the socket takes the plug. What was granted may be withdrawn.
    fn agree(&mut self, pair: Pair<'_>) -> Result<(), Halt> {
        let refused = |work: &mut Self, reason: &'static str, words: String| {
            work.leave()?;
            Err(Halt::Here(Stand::Refused(reason, words.clone()), Onward::Blocked(words)))
        };
        if let Err(words) = check_interface(pair) {
            return refused(self, "InterfaceMismatch", words);
        }
        let (consent, namespace) = (&pair.socket.consent, &pair.plug.meta.namespace);
        let labels = match consent.asks_for_labels() {
            true => self.view.get(&NAMESPACES, "", namespace)?.map(|object| object.labels()),
            false => None,
        };
        let own = &pair.socket.meta.namespace;
        match consent.check(namespace, labels.as_ref(), own, self.options.strict) {
            Ok(()) => Ok(()),
            Err(denied) => refused(self, "NotAllowed", denied.to_string()),
        }
    }

    /// A socket with a limit says who has a place; see the operator of sockets.
    fn admitted(&mut self, socket: &Socket) -> Result<(), Halt> {
        let Some(limit) = socket.limit.filter(|_| !self.record.coupled) else { return Ok(()) };
        match self.record.admitted {
            Some(true) => Ok(()),
            Some(false) => {
                let words =
                    format!("the socket's limit of {limit} {} is reached", if limit == 1 { "plug" } else { "plugs" });
                Err(Halt::Here(Stand::Refused("LimitReached", words.clone()), Onward::Waits(words)))
            }
            None => Err(Halt::Here(Stand::Coupling(None), Onward::Waits("the socket to give it a place".to_string()))),
        }
    }

    fn couple(&mut self, pair: Pair<'_>) -> Result<(), Halt> {
        let account = |work: &Self, who: Who| work.account(&pair.meta(who).namespace, &pair.side(who).service_account);
        let accounts = Both { plug: account(self, Who::Plug), socket: account(self, Who::Socket) };
        let reading = self.reading(accounts.plug.clone(), accounts.socket.clone());
        let outcome = self.assemble(&reading, pair, accounts).and_then(|made| self.go_on(&reading, made));
        outcome.map_err(|halt| scrubbed(halt, &reading))
    }

    /// Configurations and objects of both sides as they should be now.
    fn assemble<'p>(
        &mut self,
        reading: &Reading<'_>,
        pair: Pair<'p>,
        accounts: Both<ServiceAccount>,
    ) -> Result<Assembly<'p>, Halt> {
        let engine = self.engine();
        let data = data(reading, pair)?;
        let mut side = |who: Who| {
            let own = vars(reading, &engine, pair, who, &pair.side(who).vars)?;
            let told = self.told(pair, who, &data, &own)?;
            Ok::<_, Halt>(config(reading, &engine, pair, who, &data, &own, told.as_ref())?)
        };
        let config = Both { plug: side(Who::Plug)?, socket: side(Who::Socket)? };
        let root = Roots::pair(pair).config(&config).value();
        let lasting = |entry: &crate::model::Resource| {
            entry.when.contains(&Event::Coupled) || entry.when.contains(&Event::Updated)
        };
        let of =
            |who: Who| placed(pair, who, objects(&engine, pair.meta(who), &pair.side(who).resources, lasting, &root));
        let objects = Both { plug: of(Who::Plug)?, socket: of(Who::Socket)? };
        let all = [Content::objects(&objects.plug), Content::objects(&objects.socket)].concat();
        let epochs = (pair.plug.side.epoch.as_str(), pair.socket.side.epoch.as_str());
        // A program sees all of both.
        let programs = Who::BOTH.into_iter().any(|who| pair.side(who).apparatus.is_some());
        let told = if programs { vec![&pair.plug.seen["spec"], &pair.socket.seen["spec"]] } else { Vec::new() };
        let content = hash(&Content { config: &config, epochs, objects: all, told });
        Ok(Assembly { pair, accounts, data, config, objects, content })
    }

    /// The event that is due, or none; then the results; then what is left over goes.
    fn go_on(&mut self, reading: &Reading<'_>, made: Assembly<'_>) -> Result<(), Halt> {
        let results = self.results(reading, &made);
        if let Err(Trouble::Stop(stop)) = results {
            return Err(stop.into());
        }
        let none = Both::default();
        let after = results.as_ref().map_or(&none, |(_, objects)| objects);
        self.begin_what_is_due(&made);
        self.intend(&made, after)?;
        let event = self.record.pending.as_ref().map(|pending| pending.event);
        match event {
            Some(event) => self.take_steps(&made, event)?,
            None => {
                for who in Who::BOTH {
                    let manager = manager(&made.pair.plug.meta, who);
                    self.mend(made.objects.of(who), made.accounts.of(who), &manager)?;
                }
            }
        }
        let (values, after) = results.map_err(|trouble| self.late(trouble))?;
        for who in [Who::Socket, Who::Plug] {
            let (manager, account) = (manager(&made.pair.plug.meta, who), made.accounts.of(who));
            match event {
                Some(event) => self.perform(after.of(who), event, account, &manager)?,
                None => self.mend(after.of(who), account, &manager)?,
            }
        }
        let inputs = Inputs { engine: &self.engine(), pair: made.pair, told: &self.record.told, data: &made.data };
        self.record.hidden = hidden(reading, &inputs, &made.config, &values)?;
        self.finish(&made, &after, values)?;
        self.bind()
    }

    fn begin_what_is_due(&mut self, made: &Assembly<'_>) {
        if let Some(pending) = &mut self.record.pending {
            if pending.done.is_empty() {
                // What nobody was told of yet may still be another.
                pending.content = made.content.clone();
            }
            let told = Who::BOTH.iter().all(|who| pending.done.contains(who.word()));
            if !told || pending.content == made.content {
                return;
            }
            // Both were told, and wait for results that will be others now.
            self.record.content = std::mem::take(&mut pending.content);
            self.record.pending = None;
        }
        let (now, number) = (self.now.clone(), self.number());
        if !self.record.coupled {
            self.record.begin(Event::Coupled, &now, number, made.content.clone());
        } else if self.record.content != made.content {
            self.record.begin(Event::Updated, &now, number, made.content.clone());
        }
    }

    /// Writes down what is about to be made, and what teardown will need, before anything is.
    fn intend(&mut self, made: &Assembly<'_>, after: &Both<Vec<Rendered>>) -> Result<(), Halt> {
        self.record.config = made.config.clone();
        for who in Who::BOTH {
            for one in made.objects.of(who).iter().chain(after.of(who)).filter(|one| one.action != Action::Delete) {
                let new = self.made(one, made.accounts.of(who))?;
                let known = self.record.inventory.of_mut(who);
                match known.iter_mut().find(|old| old.is_same(&new)) {
                    Some(old) => *old = new,
                    None => known.push(new),
                }
            }
        }
        self.intend_to_replace(made, after)?;
        let parting = |who: Who| {
            let side = made.pair.side(who);
            side.apparatus.is_some() || side.resources.iter().any(|entry| entry.when.contains(&Event::Decoupled))
        };
        let needed = parting(Who::Plug) || parting(Who::Socket);
        self.record.snapshot =
            needed.then(|| Snapshot { plug: made.pair.plug.seen.clone(), socket: made.pair.socket.seen.clone() });
        self.save();
        Ok(())
    }

    fn intend_to_replace(&mut self, made: &Assembly<'_>, after: &Both<Vec<Rendered>>) -> Result<(), Halt> {
        let Some(pending) = self.record.pending.clone() else { return Ok(()) };
        for who in Who::BOTH {
            let all = made.objects.of(who).iter().chain(after.of(who));
            for one in all.filter(|one| one.action == Action::Recreate && one.events.contains(&pending.event)) {
                let new = self.made(one, made.accounts.of(who))?;
                let (_, live) = self.live_object(&new)?;
                let uid =
                    live.and_then(|live| live["metadata"]["uid"].as_str().map(str::to_string)).unwrap_or_default();
                if let Some(pending) = &mut self.record.pending {
                    pending.replaced.entry(new.shown()).or_insert(uid);
                }
            }
        }
        Ok(())
    }

    /// Both sides of an event, the plug's first. A side that was served is not served again.
    fn take_steps(&mut self, made: &Assembly<'_>, event: Event) -> Result<(), Halt> {
        for who in Who::BOTH {
            let mark = who.word().to_string();
            if self.record.pending.as_ref().is_some_and(|pending| pending.done.contains(&mark)) {
                continue;
            }
            self.call(made.pair, who, event, &made.config)?;
            let manager = manager(&made.pair.plug.meta, who);
            self.perform(made.objects.of(who), event, made.accounts.of(who), &manager)?;
            let number = self.record.pending.as_ref().map_or(0, |pending| pending.number);
            self.tell(who, &Identity::of(made.pair.meta(who)), event, number);
            if let Some(pending) = &mut self.record.pending {
                pending.done.insert(mark);
            }
        }
        // Both know of each other, whatever becomes of the results.
        self.record.coupled = true;
        Ok(())
    }

    /// The results of both sides, and the objects made of them.
    fn results(&self, reading: &Reading<'_>, made: &Assembly<'_>) -> Result<Results, Trouble> {
        let engine = self.engine();
        let of = |who: Who| result(reading, &engine, made.pair, who, &made.data, &made.config);
        let values = Both { plug: of(Who::Plug)?, socket: of(Who::Socket)? };
        let of = |who: Who| {
            let root = Roots::pair(made.pair).config(&made.config).result(&values, who).value();
            let entries = &made.pair.side(who).result_resources;
            placed(made.pair, who, objects(&engine, made.pair.meta(who), entries, |_| true, &root))
        };
        let objects = Both { plug: of(Who::Plug)?, socket: of(Who::Socket)? };
        Ok((values, objects))
    }

    /// A result that is not there yet is waited for; whatever makes it is noticed.
    fn late(&self, trouble: Trouble) -> Halt {
        let updating = self.record.pending.as_ref().is_some_and(|pending| pending.event == Event::Updated);
        match trouble {
            Trouble::Missing(words) => {
                let stand =
                    if updating { Stand::Updating(Some(words.clone())) } else { Stand::Coupling(Some(words.clone())) };
                Halt::Here(stand, Onward::Waits(words))
            }
            other => other.into(),
        }
    }

    /// The event is over: what is not wanted any more goes, and the results are known.
    fn finish(&mut self, made: &Assembly<'_>, after: &Both<Vec<Rendered>>, results: Both<Values>) -> Result<(), Halt> {
        for who in Who::BOTH {
            let all = made.objects.of(who).iter().chain(after.of(who)).filter(|one| one.action != Action::Delete);
            let wanted: Vec<Made> = all.map(|one| self.made(one, made.accounts.of(who))).collect::<Result<_, _>>()?;
            let known = std::mem::take(self.record.inventory.of_mut(who));
            let (kept, left): (Vec<Made>, Vec<Made>) =
                known.into_iter().partition(|old| wanted.iter().any(|new| new.is_same(old)));
            for old in left.iter().rev().filter(|old| old.goes) {
                let (resource, live) = self.live_object(old)?;
                self.release(old, &resource, live.as_ref());
            }
            *self.record.inventory.of_mut(who) = kept;
        }
        if let Some(pending) = self.record.pending.take() {
            self.record.content = pending.content;
        }
        self.record.result = Some(results);
        Ok(())
    }
}

/// The objects of a side, or what is wrong with them, with the place as the plug tells of it.
fn placed(pair: Pair<'_>, who: Who, all: Result<Vec<Rendered>, Trouble>) -> Result<Vec<Rendered>, Trouble> {
    let mut all = all.map_err(|trouble| pair.named(who, trouble))?;
    all.iter_mut().for_each(|one| one.place = pair.place(who, &one.place));
    Ok(all)
}

fn missing(namespace: &str, name: &str) -> String {
    format!("spec.socket: there is no Socket {namespace}/{name}, or it is going; create it, or name another")
}

/// What is wrong with a socket, as it says itself.
fn failed(socket: &Value) -> Option<String> {
    let all = socket["status"]["conditions"].as_array()?;
    let words = all.iter().find(|one| one["type"] == "Failed")?["message"].as_str()?;
    let meta = Meta::of(socket);
    Some(format!("socket {}/{}: {words}", meta.namespace, meta.name))
}

fn scrubbed(halt: Halt, reading: &Reading<'_>) -> Halt {
    let stand = |stand: Stand| match stand {
        Stand::Coupling(Some(words)) => Stand::Coupling(Some(reading.scrub(&words))),
        Stand::Updating(Some(words)) => Stand::Updating(Some(reading.scrub(&words))),
        Stand::Failing(words) => Stand::Failing(reading.scrub(&words)),
        other => other,
    };
    match halt {
        Halt::Here(at, onward) => Halt::Here(stand(at), onward),
        stop => stop,
    }
}
