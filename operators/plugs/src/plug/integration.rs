//! Coupling of plug and socket, and reconciliation of a coupled pair.

use serde_json::Value;
use switchboard_kernel::operator::ServiceAccount;

use super::authorized_reader::AuthorizedReader;
use super::halt::{Continuation, Halt};
use super::run::{NAMESPACES, PlugRun, manager};
use crate::coupling::{AppliedObject, CouplingContent, CouplingSnapshot, ObjectIdentity, PlugState, hash};
use crate::model::{CouplingEvent, Plug, PlugMeta, ResourceAction, SOCKETS, Socket};
use crate::redaction::{RenderInputs, redacted_results};
use crate::render::{
    ComputeError, CouplingPair, CouplingSide, PerSide, RenderedObject, TemplateRoot, Values, check_interface, config,
    data, objects, result, vars,
};

/// Results, and the objects rendered from them.
type RenderedResults = (PerSide<Values>, PerSide<Vec<RenderedObject>>);

/// Rendered state of a coupling.
struct Assembly<'p> {
    pair: CouplingPair<'p>,
    accounts: PerSide<ServiceAccount>,
    data: PerSide<Values>,
    config: PerSide<Values>,
    objects: PerSide<Vec<RenderedObject>>,
    content: String,
}

impl PlugRun<'_> {
    /// Looks up the socket, decouples from a previous one, and couples.
    pub fn integrate(&mut self, plug: &Plug) -> Result<(), Halt> {
        let Some((namespace, name)) = &plug.socket else {
            self.leave_socket()?;
            let words = "spec.socket is missing: set it to the socket to couple to".to_string();
            return Err(Halt::At(PlugState::Failing(words.clone()), Continuation::Blocked(words)));
        };
        let found = self.view.get_ignoring_status(&SOCKETS, namespace, name)?.map(|object| object.value());
        let uid = found.as_ref().map(|object| object["metadata"]["uid"].as_str().unwrap_or_default().to_string());
        let bound = self.record.socket.as_ref().map(|socket| socket.uid.clone());
        if bound.is_some() && bound != uid || self.record.plug.uid != plug.meta.uid {
            self.leave_socket()?;
        }
        let waits = || Continuation::Waiting(format!("socket {namespace}/{name} to be created"));
        let Some(found) = found.filter(|object| !object["metadata"]["deletionTimestamp"].is_string()) else {
            self.leave_socket()?;
            return Err(Halt::At(PlugState::SocketMissing(socket_missing(namespace, name)), waits()));
        };
        let socket = Socket::read(&found)
            .map_err(|error| ComputeError::Invalid(format!("socket {namespace}/{name}: {error}")))?;
        if !self.record.coupled && found["status"]["created"] != true {
            // `created` precedes `coupled`: read the status, so that its change triggers this unit.
            self.view.get(&SOCKETS, namespace, name)?;
            let words = format!("the apparatus of socket {namespace}/{name} to be notified");
            let state = socket_failure(&found).map_or(PlugState::Coupling(None), PlugState::Failing);
            return Err(Halt::At(state, Continuation::Waiting(words)));
        }
        let pair = CouplingPair { plug, socket: &socket };
        self.check_agreement(pair)?;
        self.record.socket = Some(ObjectIdentity::of(&socket.meta));
        self.check_admission(&socket)?;
        self.couple(pair)
    }

    /// Decouples from the bound socket, and continues in the next run.
    fn leave_socket(&mut self) -> Result<(), Halt> {
        let was_bound = self.record.is_bound();
        if was_bound {
            self.decouple()?;
        }
        self.record.release();
        if self.record.plug.uid != self.meta.uid {
            // A plug of the same name was recreated and takes over the record.
            self.record.plug = ObjectIdentity { uid: self.meta.uid.clone(), ..self.record.plug.clone() };
            self.record.created = false;
            self.record.notified_created = false;
        }
        match was_bound {
            true => Err(Halt::At(PlugState::NoSocket, Continuation::NextRun)),
            false => Ok(()),
        }
    }

    /// Checks the interface and the socket's consent. Consent may be withdrawn later.
    fn check_agreement(&mut self, pair: CouplingPair<'_>) -> Result<(), Halt> {
        let refused = |run: &mut Self, reason: &'static str, words: String| {
            run.leave_socket()?;
            Err(Halt::At(PlugState::Refused(reason, words.clone()), Continuation::Blocked(words)))
        };
        if let Err(words) = check_interface(pair) {
            return refused(self, "InterfaceMismatch", words);
        }
        let (consent, namespace) = (&pair.socket.consent, &pair.plug.meta.namespace);
        let labels = match consent.needs_labels() {
            true => self.view.get(&NAMESPACES, "", namespace)?.map(|object| object.labels()),
            false => None,
        };
        let own = &pair.socket.meta.namespace;
        match consent.check(namespace, labels.as_ref(), own, self.options.strict) {
            Ok(()) => Ok(()),
            Err(denied) => refused(self, "NotAllowed", denied.to_string()),
        }
    }

    /// Checks whether a socket with a limit admits the plug; see the operator of sockets.
    fn check_admission(&mut self, socket: &Socket) -> Result<(), Halt> {
        let Some(limit) = socket.limit.filter(|_| !self.record.coupled) else { return Ok(()) };
        match self.record.admitted {
            Some(true) => Ok(()),
            Some(false) => {
                let words =
                    format!("the socket's limit of {limit} {} is reached", if limit == 1 { "plug" } else { "plugs" });
                Err(Halt::At(PlugState::Refused("LimitReached", words.clone()), Continuation::Waiting(words)))
            }
            None => Err(Halt::At(
                PlugState::Coupling(None),
                Continuation::Waiting("the socket to admit the plug".to_string()),
            )),
        }
    }

    fn couple(&mut self, pair: CouplingPair<'_>) -> Result<(), Halt> {
        let account =
            |run: &Self, side: CouplingSide| run.account(&pair.meta(side).namespace, &pair.side(side).service_account);
        let accounts = PerSide { plug: account(self, CouplingSide::Plug), socket: account(self, CouplingSide::Socket) };
        let reader = self.authorized_reader(accounts.plug.clone(), accounts.socket.clone());
        let outcome = self.assemble(&reader, pair, accounts).and_then(|made| self.advance(&reader, made));
        outcome.map_err(|halt| redacted(halt, &reader))
    }

    /// Renders configs and objects of both sides.
    fn assemble<'p>(
        &mut self,
        reader: &AuthorizedReader<'_>,
        pair: CouplingPair<'p>,
        accounts: PerSide<ServiceAccount>,
    ) -> Result<Assembly<'p>, Halt> {
        let engine = self.engine();
        let data = data(reader, pair)?;
        let mut config_of = |side: CouplingSide| {
            let own = vars(reader, &engine, pair, side, &pair.side(side).vars)?;
            let answer = self.config_answer(pair, side, &data, &own)?;
            Ok::<_, Halt>(config(reader, &engine, pair, side, &data, &own, answer.as_ref())?)
        };
        let config = PerSide { plug: config_of(CouplingSide::Plug)?, socket: config_of(CouplingSide::Socket)? };
        let root = TemplateRoot::pair(pair).config(&config).value();
        let lasting = |entry: &crate::model::ResourceEntry| {
            entry.when.contains(&CouplingEvent::Coupled) || entry.when.contains(&CouplingEvent::Updated)
        };
        let of = |side: CouplingSide| {
            with_paths(pair, side, objects(&engine, pair.meta(side), &pair.side(side).resources, lasting, &root))
        };
        let objects = PerSide { plug: of(CouplingSide::Plug)?, socket: of(CouplingSide::Socket)? };
        let all = [CouplingContent::objects(&objects.plug), CouplingContent::objects(&objects.socket)].concat();
        let epochs = (pair.plug.side.epoch.as_str(), pair.socket.side.epoch.as_str());
        // An apparatus receives both specs.
        let programs = CouplingSide::BOTH.into_iter().any(|side| pair.side(side).apparatus.is_some());
        let apparatus_specs =
            if programs { vec![&pair.plug.manifest["spec"], &pair.socket.manifest["spec"]] } else { Vec::new() };
        let content = hash(&CouplingContent { config: &config, epochs, objects: all, apparatus_specs });
        Ok(Assembly { pair, accounts, data, config, objects, content })
    }

    /// Performs the due event, if any, then applies the results, then removes obsolete objects.
    fn advance(&mut self, reader: &AuthorizedReader<'_>, made: Assembly<'_>) -> Result<(), Halt> {
        let results = self.results(reader, &made);
        if let Err(ComputeError::Decide(stop)) = results {
            return Err(stop.into());
        }
        let none = PerSide::default();
        let after = results.as_ref().map_or(&none, |(_, objects)| objects);
        self.begin_due_event(&made);
        self.record_intent(&made, after)?;
        let event = self.record.pending.as_ref().map(|pending| pending.event);
        match event {
            Some(event) => self.take_steps(&made, event)?,
            None => {
                for side in CouplingSide::BOTH {
                    let manager = manager(&made.pair.plug.meta, side);
                    self.repair(made.objects.of(side), made.accounts.of(side), &manager)?;
                }
            }
        }
        let (values, after) = results.map_err(|error| self.awaiting_result(error))?;
        for side in [CouplingSide::Socket, CouplingSide::Plug] {
            let (manager, account) = (manager(&made.pair.plug.meta, side), made.accounts.of(side));
            match event {
                Some(event) => self.perform(after.of(side), event, account, &manager)?,
                None => self.repair(after.of(side), account, &manager)?,
            }
        }
        let inputs = RenderInputs {
            engine: &self.engine(),
            pair: made.pair,
            config_answers: &self.record.config_answers,
            data: &made.data,
        };
        self.record.redacted = redacted_results(reader, &inputs, &made.config, &values)?;
        self.finish(&made, &after, values)?;
        self.bind()
    }

    fn begin_due_event(&mut self, made: &Assembly<'_>) {
        if let Some(pending) = &mut self.record.pending {
            if pending.done.is_empty() {
                // Before the first notification, the content may still change.
                pending.content = made.content.clone();
            }
            let notified = CouplingSide::BOTH.iter().all(|side| pending.done.contains(side.as_str()));
            if !notified || pending.content == made.content {
                return;
            }
            // Both sides were notified, and their results are about to change.
            self.record.content = std::mem::take(&mut pending.content);
            self.record.pending = None;
        }
        let (now, number) = (self.now.clone(), self.event_number());
        if !self.record.coupled {
            self.record.begin(CouplingEvent::Coupled, &now, number, made.content.clone());
        } else if self.record.content != made.content {
            self.record.begin(CouplingEvent::Updated, &now, number, made.content.clone());
        }
    }

    /// Records objects and teardown inputs before any object is applied.
    fn record_intent(&mut self, made: &Assembly<'_>, after: &PerSide<Vec<RenderedObject>>) -> Result<(), Halt> {
        self.record.config = made.config.clone();
        for side in CouplingSide::BOTH {
            for one in
                made.objects.of(side).iter().chain(after.of(side)).filter(|one| one.action != ResourceAction::Delete)
            {
                let new = self.applied_object(one, made.accounts.of(side))?;
                let known = self.record.inventory.of_mut(side);
                match known.iter_mut().find(|old| old.is_same_object(&new)) {
                    Some(old) => *old = new,
                    None => known.push(new),
                }
            }
        }
        self.record_replacements(made, after)?;
        let parting = |side: CouplingSide| {
            let spec = made.pair.side(side);
            spec.apparatus.is_some()
                || spec.resources.iter().any(|entry| entry.when.contains(&CouplingEvent::Decoupled))
        };
        let needed = parting(CouplingSide::Plug) || parting(CouplingSide::Socket);
        self.record.snapshot = needed.then(|| CouplingSnapshot {
            plug: made.pair.plug.manifest.clone(),
            socket: made.pair.socket.manifest.clone(),
        });
        self.save();
        Ok(())
    }

    fn record_replacements(&mut self, made: &Assembly<'_>, after: &PerSide<Vec<RenderedObject>>) -> Result<(), Halt> {
        let Some(pending) = self.record.pending.clone() else { return Ok(()) };
        for side in CouplingSide::BOTH {
            let all = made.objects.of(side).iter().chain(after.of(side));
            for one in all.filter(|one| one.action == ResourceAction::Recreate && one.events.contains(&pending.event)) {
                let new = self.applied_object(one, made.accounts.of(side))?;
                let (_, live) = self.live_object(&new)?;
                let uid =
                    live.and_then(|live| live["metadata"]["uid"].as_str().map(str::to_string)).unwrap_or_default();
                if let Some(pending) = &mut self.record.pending {
                    pending.replaced.entry(new.display_name()).or_insert(uid);
                }
            }
        }
        Ok(())
    }

    /// Performs an event for both sides, the plug first. A completed side is skipped.
    fn take_steps(&mut self, made: &Assembly<'_>, event: CouplingEvent) -> Result<(), Halt> {
        for side in CouplingSide::BOTH {
            let mark = side.as_str().to_string();
            if self.record.pending.as_ref().is_some_and(|pending| pending.done.contains(&mark)) {
                continue;
            }
            self.notify(made.pair, side, event, &made.config)?;
            let manager = manager(&made.pair.plug.meta, side);
            self.perform(made.objects.of(side), event, made.accounts.of(side), &manager)?;
            let number = self.record.pending.as_ref().map_or(0, |pending| pending.number);
            self.emit_event(side, &ObjectIdentity::of(made.pair.meta(side)), event, number);
            if let Some(pending) = &mut self.record.pending {
                pending.done.insert(mark);
            }
        }
        // Both sides are notified, so the pair is coupled regardless of the results.
        self.record.coupled = true;
        Ok(())
    }

    /// Returns the results of both sides, and the objects rendered from them.
    fn results(&self, reader: &AuthorizedReader<'_>, made: &Assembly<'_>) -> Result<RenderedResults, ComputeError> {
        let engine = self.engine();
        let of = |side: CouplingSide| result(reader, &engine, made.pair, side, &made.data, &made.config);
        let values = PerSide { plug: of(CouplingSide::Plug)?, socket: of(CouplingSide::Socket)? };
        let of = |side: CouplingSide| {
            let root = TemplateRoot::pair(made.pair).config(&made.config).result(&values, side).value();
            let entries = &made.pair.side(side).result_resources;
            with_paths(made.pair, side, objects(&engine, made.pair.meta(side), entries, |_| true, &root))
        };
        let objects = PerSide { plug: of(CouplingSide::Plug)?, socket: of(CouplingSide::Socket)? };
        Ok((values, objects))
    }

    /// Returns a halt that waits for a missing result. Its creation triggers the unit.
    fn awaiting_result(&self, error: ComputeError) -> Halt {
        let updating = self.record.pending.as_ref().is_some_and(|pending| pending.event == CouplingEvent::Updated);
        match error {
            ComputeError::Missing(words) => {
                let state = if updating {
                    PlugState::Updating(Some(words.clone()))
                } else {
                    PlugState::Coupling(Some(words.clone()))
                };
                Halt::At(state, Continuation::Waiting(words))
            }
            other => other.into(),
        }
    }

    /// Completes the event: removes obsolete objects and stores the results.
    fn finish(
        &mut self,
        made: &Assembly<'_>,
        after: &PerSide<Vec<RenderedObject>>,
        results: PerSide<Values>,
    ) -> Result<(), Halt> {
        for side in CouplingSide::BOTH {
            let all =
                made.objects.of(side).iter().chain(after.of(side)).filter(|one| one.action != ResourceAction::Delete);
            let wanted: Vec<AppliedObject> =
                all.map(|one| self.applied_object(one, made.accounts.of(side))).collect::<Result<_, _>>()?;
            let known = std::mem::take(self.record.inventory.of_mut(side));
            let (kept, left): (Vec<AppliedObject>, Vec<AppliedObject>) =
                known.into_iter().partition(|old| wanted.iter().any(|new| new.is_same_object(old)));
            for old in left.iter().rev().filter(|old| old.removed_when_decoupled) {
                let (resource, live) = self.live_object(old)?;
                self.release(old, &resource, live.as_ref());
            }
            *self.record.inventory.of_mut(side) = kept;
        }
        if let Some(pending) = self.record.pending.take() {
            self.record.content = pending.content;
        }
        self.record.result = Some(results);
        Ok(())
    }
}

/// Adds the side to paths of objects and errors, for the status of the plug.
fn with_paths(
    pair: CouplingPair<'_>,
    side: CouplingSide,
    all: Result<Vec<RenderedObject>, ComputeError>,
) -> Result<Vec<RenderedObject>, ComputeError> {
    let mut all = all.map_err(|error| pair.with_side(side, error))?;
    all.iter_mut().for_each(|one| one.path = pair.path(side, &one.path));
    Ok(all)
}

fn socket_missing(namespace: &str, name: &str) -> String {
    format!(
        "spec.socket: there is no Socket {namespace}/{name}, or it is being deleted; create it, or reference another"
    )
}

/// Returns the error message from the socket's status.
fn socket_failure(socket: &Value) -> Option<String> {
    let all = socket["status"]["conditions"].as_array()?;
    let words = all.iter().find(|one| one["type"] == "Failed")?["message"].as_str()?;
    let meta = PlugMeta::of(socket);
    Some(format!("socket {}/{}: {words}", meta.namespace, meta.name))
}

fn redacted(halt: Halt, reader: &AuthorizedReader<'_>) -> Halt {
    let state = |state: PlugState| match state {
        PlugState::Coupling(Some(words)) => PlugState::Coupling(Some(reader.redact(&words))),
        PlugState::Updating(Some(words)) => PlugState::Updating(Some(reader.redact(&words))),
        PlugState::Failing(words) => PlugState::Failing(reader.redact(&words)),
        other => other,
    };
    match halt {
        Halt::At(at, continuation) => Halt::At(state(at), continuation),
        stop => stop,
    }
}
