//! The shell around the core: watches, threads, writes, the clock and the journal's disk.
//!
//! One task owns the [`Core`]; everything else talks to it over channels, so there is no lock and no order to get wrong.
//!
//! ```text
//!  watch tasks ──▶ ┌──────┐ ──▶ threads that decide ──┐
//!  requests    ──▶ │ loop │ ◀── answers ──────────────┘
//!  time        ──▶ └──────┘ ──▶ tasks that write ─────▶ (back as results) ──▶ journal thread
//! ```

mod clock;
mod event;
mod recorder;
mod request;
mod runs;
mod threads;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::applier::KubeWriter;
use crate::core::{Closed, Core, Judgement, Order};
use crate::decision::{DecisionId, Outcome, WriteResult};
use crate::gate::Gate;
use crate::journal::Journal;
use crate::limits::{GlobalLimits, Limits};
use crate::operator::{Operator, OperatorName, UnitId};
use crate::place::{ClusterName, Topology};
use crate::resource::TableKey;
use crate::state::State;
use crate::watch::{Pace, Told, Watch};

pub use request::{Handle, Stopped};

use clock::Clock;
use recorder::Recorder;
use request::{Added, Request};
use runs::{Report, Runs, Writing};

/// Not every unit could decide in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not everything could be read or decided in time: {}", .0.join("; "))]
pub struct Unsettled(pub Vec<String>);

/// How many observations may wait for the loop: the watches wait when it is behind.
const MAX_PENDING_OBSERVATIONS: usize = 1024;
/// How many observations are taken in before anything is started, so that a burst is one wake.
const OBSERVATIONS_AT_ONCE: usize = 256;
/// How long writes under way may take after a stop. Whoever ends a process by force rarely waits longer than half a minute.
pub const STOP_PATIENCE: Duration = Duration::from_secs(20);
/// How long one look goes on when nothing is left but what no server tells.
const CUT_OFF_PATIENCE: Duration = Duration::from_secs(5);
/// How many requests may wait for the loop.
const MAX_PENDING_REQUESTS: usize = 64;

/// What a host is made of.
pub struct Settings {
    /// The real clusters, each with a client that may impersonate the operators' service accounts.
    pub clusters: BTreeMap<ClusterName, kube::Client>,
    /// Which of them is which place.
    pub topology: Topology,
    /// The limits over all operators.
    pub global: GlobalLimits,
    /// Where decisions are recorded.
    pub journal: Journal,
    /// Ask the API servers to pretend; nothing is written, and nothing is asked that would change something outside.
    pub dry_run: bool,
}

/// Hosts operators over clusters until it is told to stop.
pub struct Host {
    core: Core,
    clusters: BTreeMap<ClusterName, kube::Client>,
    /// The clusters that came with an operator, and go with it.
    brought: BTreeMap<OperatorName, ClusterName>,
    writer: Arc<KubeWriter>,
    /// All requests that are made for operators pass it.
    gate: Gate,
    dry_run: bool,
    clock: Clock,
    watches: BTreeMap<TableKey, Watch>,
    sink: mpsc::Sender<(TableKey, Told)>,
    seen: mpsc::Receiver<(TableKey, Told)>,
    requests: mpsc::Receiver<Request>,
    runs: Runs,
    recorder: Recorder,
    /// What was decided, for who asked for one look; otherwise it goes to the journal.
    decided: Option<Vec<Closed>>,
}

impl Host {
    /// A host with these operators, and the handle by which it is asked and stopped.
    pub fn new(settings: Settings, operators: Vec<(Arc<dyn Operator>, Limits)>) -> (Host, Handle) {
        let mut clock = Clock::start();
        let now = clock.now();
        let next: DecisionId = settings.journal.next_id();
        let mut journal = settings.journal;
        journal.decided_over(&settings.topology);
        let gate = Gate::of(settings.global.requests_per_second);
        let mut core = Core::new(now, now.0, settings.topology, settings.global, next);
        if settings.dry_run {
            core.pretend();
        }
        for (operator, limits) in operators {
            core.add(now, operator, limits);
        }
        let (requests, inbox) = mpsc::channel(MAX_PENDING_REQUESTS);
        let (sink, seen) = mpsc::channel(MAX_PENDING_OBSERVATIONS);
        let host = Host {
            core,
            writer: Arc::new(KubeWriter::new(settings.clusters.clone()).behind(gate.clone())),
            gate,
            clusters: settings.clusters,
            brought: BTreeMap::new(),
            dry_run: settings.dry_run,
            clock,
            watches: BTreeMap::new(),
            sink,
            seen,
            requests: inbox,
            runs: Runs::new(),
            recorder: Recorder::start(journal),
            decided: None,
        };
        (host, Handle::new(requests))
    }

    /// Works until the handle says stop or is dropped. Writes under way are finished and recorded first, within
    /// [`STOP_PATIENCE`].
    pub async fn run(self) {
        self.run_until_stopped(STOP_PATIENCE).await;
    }

    async fn run_until_stopped(mut self, patience: Duration) {
        while self.turn().await {}
        self.watches.clear();
        let end = Instant::now() + patience;
        while self.runs.writing() > 0 {
            match tokio::time::timeout_at(end, self.runs.next()).await {
                Ok(Some(report)) => self.take(report),
                Ok(None) => break,
                Err(_) => {
                    let left = self.runs.writing();
                    tracing::warn!(left, "stopped before {left} runs had written all they wanted");
                    break;
                }
            }
        }
        let disk = Instant::now() + patience;
        if tokio::time::timeout_at(disk, self.recorder.finish()).await.is_err() {
            tracing::error!("stopped before everything was recorded: the disk does not answer");
        }
    }

    /// Works until every unit has decided on what there is, and gives what was decided. For dry runs.
    ///
    /// # Errors
    /// When that is not so after `patience`.
    pub async fn once(mut self, patience: Duration) -> Result<Vec<Closed>, Unsettled> {
        let end = Instant::now() + patience;
        let mut cut_off: Option<Instant> = None;
        self.decided = Some(Vec::new());
        loop {
            self.carry_on();
            if self.core.is_quiet() {
                break;
            }
            cut_off = self.core.is_cut_off().then(|| cut_off.unwrap_or_else(Instant::now));
            let end = cut_off.map_or(end, |since| end.min(since + CUT_OFF_PATIENCE));
            let late = tokio::time::timeout_at(end, self.turn()).await;
            if late.is_err() {
                return Err(Unsettled(self.core.unsettled()));
            }
        }
        self.watches.clear();
        self.recorder.finish().await;
        Ok(self.decided.unwrap_or_default())
    }

    async fn turn(&mut self) -> bool {
        self.carry_on();
        let look = Instant::now() + Clock::LOOK_EVERY;
        let wake = self.core.next().map_or(look, |moment| self.clock.instant(moment).min(look));
        tokio::select! {
            Some(report) = self.seen.recv() => self.observe(report),
            Some(report) = self.runs.next() => self.take(report),
            request = self.requests.recv() => return request.is_some_and(|request| self.answer(request)),
            () = tokio::time::sleep_until(wake) => {}
        }
        true
    }

    fn carry_on(&mut self) {
        for order in self.core.poll(self.clock.now()) {
            match order {
                Order::Watch(table) => self.watch(table),
                Order::Unwatch(table) => drop(self.watches.remove(&table)),
                Order::Run(run) => self.runs.start(*run),
            }
        }
    }

    fn watch(&mut self, table: TableKey) {
        match self.clusters.get(&table.cluster) {
            Some(client) => {
                let sink = self.sink.clone();
                let watch = Watch::start(client.clone(), table.clone(), sink, Pace::default(), self.gate.clone());
                self.watches.insert(table, watch);
            }
            None => self.lost(&table, format!("no cluster is called {}", table.cluster)),
        }
    }

    fn observe(&mut self, first: (TableKey, Told)) {
        self.hear(first);
        for _ in 1..OBSERVATIONS_AT_ONCE {
            let Ok(next) = self.seen.try_recv() else { break };
            self.hear(next);
        }
    }

    fn hear(&mut self, (table, told): (TableKey, Told)) {
        match told {
            Told::Observed(event) => {
                if let Err(error) = self.core.observe(self.clock.now(), &table, event) {
                    tracing::warn!(%error, table = %table.resource, "an observation was dropped");
                }
            }
            Told::Lost { message } => self.lost(&table, message),
        }
    }

    /// A server that stays away is told of once, not at every try.
    fn lost(&mut self, table: &TableKey, message: String) {
        if self.core.lost(table, message.clone()) {
            let (resource, cluster) = (&table.resource, &table.cluster);
            tracing::warn!(%resource, %cluster, "cannot watch {resource} of cluster {cluster}: {message}");
        }
    }

    fn take(&mut self, report: Report) {
        let now = self.clock.now();
        match report {
            Report::Answered { unit, id, answered } => match self.core.decided(now, &unit, id, answered) {
                Some(Judgement::Write { writes, user, picture }) => {
                    let writing = Writing { writes, user, picture, dry_run: self.dry_run };
                    self.runs.write(self.writer.clone(), unit, id, writing);
                }
                Some(Judgement::Over(closed)) => self.record(*closed),
                None => {}
            },
            Report::Carried { unit, id, carried, write_us } => {
                if let Some(closed) = self.core.carried(now, &unit, id, carried, write_us) {
                    self.record(closed);
                }
            }
            Report::Unwritten { unit, id } => {
                if let Some(closed) = self.core.unwritten(now, &unit, id) {
                    self.record(closed);
                }
            }
        }
    }

    fn record(&mut self, closed: Closed) {
        log(&closed);
        for finding in &closed.findings {
            tracing::warn!(%finding, "operators disturb each other");
            if let Some(client) = self.clusters.get(event::cluster(finding)).filter(|_| !self.dry_run) {
                event::raise(client.clone(), self.gate.clone(), finding.clone());
            }
        }
        match &mut self.decided {
            Some(decided) => decided.push(closed),
            None => self.recorder.record(closed, self.clock.now()),
        }
    }

    fn add(&mut self, added: Added) {
        if let Some((name, client)) = added.cluster.filter(|(name, _)| !self.clusters.contains_key(name)) {
            // Of one that comes with another cluster than before, nobody works on the former any more.
            if let Some(former) = self.brought.insert(OperatorName::new(added.operator.name()), name.clone()) {
                self.clusters.remove(&former);
            }
            self.clusters.insert(name, client);
            self.writer = Arc::new(KubeWriter::new(self.clusters.clone()).behind(self.gate.clone()));
        }
        self.core.add(self.clock.now(), added.operator, added.limits);
    }

    fn remove(&mut self, operator: &OperatorName) -> bool {
        if let Some(cluster) = self.brought.remove(operator) {
            self.clusters.remove(&cluster);
            self.writer = Arc::new(KubeWriter::new(self.clusters.clone()).behind(self.gate.clone()));
        }
        self.core.remove(operator)
    }

    fn answer(&mut self, request: Request) -> bool {
        let now = self.clock.now();
        match request {
            Request::State(reply) => {
                let unrecorded = self.recorder.counts().dropped;
                drop(reply.send(State { unrecorded, ..self.core.state(now) }));
            }
            Request::Unit(unit, reply) => drop(reply.send(self.core.unit(now, &unit))),
            Request::Counts(reply) => drop(reply.send(self.recorder.counts())),
            Request::Ask(operator, unit, reply) => drop(reply.send(self.core.ask(now, &operator, unit.as_ref()))),
            Request::Pause(operator, paused, reply) => {
                let known = self.core.operators().any(|name| *name == operator);
                self.core.pause(&operator, paused);
                let _ = reply.send(known);
            }
            Request::Add(added) => self.add(*added),
            Request::Remove(operator, reply) => drop(reply.send(self.remove(&operator))),
            Request::Units(operator, units, changed, reply) => {
                let _ = reply.send(self.core.set_units(now, &operator, units, &changed));
            }
            Request::Tell(operator, units, party, reply) => {
                let _ = reply.send(self.core.tell_of(now, &operator, units, party.as_ref()));
            }
            Request::Limits(global, operators) => {
                self.gate.set(global.requests_per_second);
                self.core.set_global(global);
                operators.into_iter().for_each(|(name, limits)| self.core.set_limits(now, &name, limits));
            }
            Request::Fields(key, reply) => {
                let client = self.clusters.get(&key.table.cluster).cloned();
                tokio::spawn(async move { reply.send(request::fields(client, &key).await) });
            }
            Request::Picture(reply) => drop(reply.send(self.core.snapshot())),
            Request::Clusters(reply) => drop(reply.send(self.clusters.clone())),
            Request::Journal(question) => self.recorder.look(question),
            Request::Stop => return false,
        }
        true
    }
}

/// A failure is logged once, here; what went well is at `debug`.
fn log(closed: &Closed) {
    let UnitId { operator, unit } = &closed.decision.unit;
    let id = closed.decision.id.0;
    match &closed.decision.outcome {
        Outcome::Failed { message } => {
            tracing::warn!(%operator, %unit, decision = id, "{operator} {unit} failed: {message}")
        }
        Outcome::Parked { .. } => {
            tracing::debug!(%operator, %unit, decision = id, "{operator} {unit} waits for a kind")
        }
        Outcome::Decided { writes, .. } => {
            for write in writes {
                let act = &write.mutation;
                match &write.result {
                    WriteResult::Failed { message } | WriteResult::Refused { reason: message } => {
                        tracing::warn!(%operator, %unit, decision = id, "{operator} {unit} could not {act}: {message}");
                    }
                    _ => tracing::debug!(%operator, %unit, decision = id, "{operator} {unit}: {act}"),
                }
            }
        }
    }
}

/// The names operators are limited by.
pub type LimitsByName = Vec<(OperatorName, Limits)>;

#[cfg(test)]
mod tests;
