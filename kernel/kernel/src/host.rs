//! Driver of the core: watches, threads, writes, the clock and the journal.
//!
//! A single task owns the [`Core`]; everything else communicates with it over channels, so there is no lock.
//!
//! ```text
//!  watch tasks ──▶ ┌──────┐ ──▶ threads that decide ──┐
//!  requests    ──▶ │ loop │ ◀── results ──────────────┘
//!  time        ──▶ └──────┘ ──▶ tasks that write ─────▶ (back as results) ──▶ journal thread
//! ```

mod clock;
mod event;
mod recorder;
mod request;
mod runs;
mod stores;
mod threads;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::applier::KubeWriter;
use crate::core::{Core, CoreCommand, FinishedRun, QUIET_PARK_MS, RunProgress};
use crate::decision::{DecisionId, RunOutcome, WriteResult};
use crate::journal::Journal;
use crate::limits::{GlobalLimits, Limits};
use crate::operator::{Operator, OperatorName, UnitId};
use crate::rate_limiter::RateLimiter;
use crate::resource::TableKey;
use crate::state::{KernelState, OperatorPause};
use crate::topology::{ClusterName, Topology};
use crate::watch::{TableWatch, WatchTimeouts, WatchUpdate};

pub use request::{Handle, HostStopped};

use clock::HostClock;
use recorder::Recorder;
use request::{HostRequest, NewOperator};
use runs::{ActiveRuns, RunReport, WriteJob};
use stores::Stores;

/// Error: not every unit decided before the timeout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not finish in time: {}", .0.join("; "))]
pub struct SettleTimeout(pub Vec<String>);

/// Maximum number of pending watch updates; beyond it the watches wait.
const MAX_PENDING_OBSERVATIONS: usize = 1024;
/// Maximum number of updates applied before runs are started, so that a burst triggers one run.
const OBSERVATIONS_AT_ONCE: usize = 256;
/// Timeout for active writes after a stop. A process manager rarely waits longer than half a minute before it kills the
/// process.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout of a dry run when only kinds that no server delivers are missing.
const DISCONNECTED_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of pending requests.
const MAX_PENDING_REQUESTS: usize = 64;

/// Settings of a host.
pub struct HostSettings {
    /// Real clusters, each with a client that may impersonate the operators' service accounts.
    pub clusters: BTreeMap<ClusterName, kube::Client>,
    /// Real cluster of each cluster type.
    pub topology: Topology,
    /// Limits over all operators.
    pub global: GlobalLimits,
    /// Journal that records decisions.
    pub journal: Journal,
    /// Whether the host makes a dry run: API servers only simulate writes, and external queries with side effects are
    /// skipped.
    pub dry_run: bool,
}

/// Host that runs operators over clusters until it is stopped.
pub struct Host {
    core: Core,
    clusters: BTreeMap<ClusterName, kube::Client>,
    /// Clusters that were added with an operator, and are removed with it.
    operator_clusters: BTreeMap<OperatorName, ClusterName>,
    writer: Arc<KubeWriter>,
    /// Rate limiter for all requests made for operators.
    rate_limiter: RateLimiter,
    dry_run: bool,
    clock: HostClock,
    watches: BTreeMap<TableKey, TableWatch>,
    sink: mpsc::Sender<(TableKey, WatchUpdate)>,
    updates: mpsc::Receiver<(TableKey, WatchUpdate)>,
    requests: mpsc::Receiver<HostRequest>,
    runs: ActiveRuns,
    stores: Stores,
    recorder: Recorder,
    /// Finished runs of [`Host::run_until_settled`]; otherwise they go to the journal.
    finished: Option<Vec<FinishedRun>>,
}

impl Host {
    /// Creates a host with these operators, and a handle to it.
    pub fn new(settings: HostSettings, operators: Vec<(Arc<dyn Operator>, Limits)>) -> (Host, Handle) {
        let mut clock = HostClock::start();
        let now = clock.now();
        let next: DecisionId = settings.journal.next_id();
        let mut journal = settings.journal;
        journal.set_topology(&settings.topology);
        let rate_limiter = RateLimiter::of(settings.global.requests_per_second);
        let mut core = Core::new(now, now.0, settings.topology, settings.global, next);
        if settings.dry_run {
            core.set_dry_run();
        }
        for (operator, limits) in operators {
            core.add(now, operator, limits);
        }
        let (requests, inbox) = mpsc::channel(MAX_PENDING_REQUESTS);
        let (sink, seen) = mpsc::channel(MAX_PENDING_OBSERVATIONS);
        let host = Host {
            core,
            writer: Arc::new(KubeWriter::new(settings.clusters.clone()).with_rate_limiter(rate_limiter.clone())),
            rate_limiter,
            clusters: settings.clusters,
            operator_clusters: BTreeMap::new(),
            dry_run: settings.dry_run,
            clock,
            watches: BTreeMap::new(),
            sink,
            updates: seen,
            requests: inbox,
            runs: ActiveRuns::new(),
            stores: Stores::new(),
            recorder: Recorder::start(journal),
            finished: None,
        };
        (host, Handle::new(requests))
    }

    /// Runs until it is stopped through the handle or the last handle is dropped. Active writes are finished and
    /// recorded first, within
    /// [`STOP_TIMEOUT`].
    pub async fn run(self) {
        self.run_until_stopped(STOP_TIMEOUT).await;
    }

    async fn run_until_stopped(mut self, patience: Duration) {
        while self.step().await {}
        self.watches.clear();
        let end = Instant::now() + patience;
        while self.runs.pending_writes() > 0 {
            match tokio::time::timeout_at(end, self.runs.next()).await {
                Ok(Some(report)) => self.handle_report(report),
                Ok(None) => break,
                Err(_) => {
                    let left = self.runs.pending_writes();
                    tracing::warn!(left, "stopped before {left} runs had finished writing");
                    break;
                }
            }
        }
        let disk = Instant::now() + patience;
        if tokio::time::timeout_at(disk, self.recorder.finish()).await.is_err() {
            tracing::error!("stopped before everything was recorded: the disk does not respond");
        }
    }

    /// Runs until every unit has decided on the current objects, and returns the finished runs. For dry runs.
    ///
    /// # Errors
    /// When units are still undecided after `patience`.
    pub async fn run_until_settled(mut self, patience: Duration) -> Result<Vec<FinishedRun>, SettleTimeout> {
        let end = Instant::now() + patience;
        let mut cut_off: Option<Instant> = None;
        self.finished = Some(Vec::new());
        loop {
            self.run_commands();
            if self.core.is_quiet() {
                break;
            }
            cut_off = self.core.is_disconnected().then(|| cut_off.unwrap_or_else(Instant::now));
            let end = cut_off.map_or(end, |since| end.min(since + DISCONNECTED_TIMEOUT));
            let late = tokio::time::timeout_at(end, self.step()).await;
            if late.is_err() {
                return Err(SettleTimeout(self.core.unsettled_reasons()));
            }
        }
        self.watches.clear();
        self.recorder.finish().await;
        Ok(self.finished.unwrap_or_default())
    }

    async fn step(&mut self) -> bool {
        self.run_commands();
        let look = Instant::now() + HostClock::CHECK_INTERVAL;
        let wake = self.core.next().map_or(look, |timestamp| self.clock.instant(timestamp).min(look));
        tokio::select! {
            Some(report) = self.updates.recv() => self.observe(report),
            Some(report) = self.runs.next() => self.handle_report(report),
            Some((store, event)) = self.stores.next() => self.observe_store(&store, event),
            request = self.requests.recv() => return request.is_some_and(|request| self.handle_request(request)),
            () = tokio::time::sleep_until(wake) => {}
        }
        true
    }

    fn run_commands(&mut self) {
        for order in self.core.poll(self.clock.now()) {
            match order {
                CoreCommand::Watch(table) => self.watch(table),
                CoreCommand::Unwatch(table) => drop(self.watches.remove(&table)),
                CoreCommand::Run(run) => self.runs.start(*run),
                CoreCommand::Rows(store, command) => self.stores.send(&store, command),
            }
        }
    }

    fn watch(&mut self, table: TableKey) {
        match self.clusters.get(&table.cluster) {
            Some(client) => {
                let sink = self.sink.clone();
                let watch = TableWatch::start(
                    client.clone(),
                    table.clone(),
                    sink,
                    WatchTimeouts::default(),
                    self.rate_limiter.clone(),
                );
                self.watches.insert(table, watch);
            }
            None => self.watch_failed(&table, format!("unknown cluster {}", table.cluster)),
        }
    }

    fn observe(&mut self, first: (TableKey, WatchUpdate)) {
        self.handle_update(first);
        for _ in 1..OBSERVATIONS_AT_ONCE {
            let Ok(next) = self.updates.try_recv() else { break };
            self.handle_update(next);
        }
    }

    fn handle_update(&mut self, (table, update): (TableKey, WatchUpdate)) {
        match update {
            WatchUpdate::Event(event) => {
                if let Err(error) = self.core.observe(self.clock.now(), &table, event) {
                    tracing::warn!(%error, table = %table.resource, "dropped a watch event");
                }
            }
            WatchUpdate::Failed { message } => self.watch_failed(&table, message),
        }
    }

    /// Logs a watch error once, not at every retry.
    fn watch_failed(&mut self, table: &TableKey, message: String) {
        if self.core.set_watch_error(table, message.clone()) {
            let (resource, cluster) = (&table.resource, &table.cluster);
            tracing::warn!(%resource, %cluster, "could not watch {resource} of cluster {cluster}: {message}");
        }
    }

    fn handle_report(&mut self, report: RunReport) {
        let now = self.clock.now();
        if self.rate_limiter.take_throttled() {
            self.core.throttle(now);
        }
        match report {
            RunReport::Decided { unit, id, result: decided } => {
                match self.core.finish_decide(now, &unit, id, decided) {
                    Some(RunProgress::Write { rows, writes, user, snapshot }) => {
                        let store = rows.first().and_then(|row| self.stores.get(&row.change.key.table.cluster));
                        let writing = WriteJob { rows, store, writes, user, snapshot, dry_run: self.dry_run };
                        self.runs.write(self.writer.clone(), unit, id, writing);
                    }
                    Some(RunProgress::Finished(finished)) => self.record(*finished),
                    None => {}
                }
            }
            RunReport::Executed { unit, id, executed, write_us } => {
                if let Some(finished) = self.core.finish_writes(now, &unit, id, executed, write_us) {
                    self.record(finished);
                }
            }
            RunReport::WritesLost { unit, id } => {
                if let Some(finished) = self.core.fail_writes(now, &unit, id) {
                    self.record(finished);
                }
            }
        }
    }

    fn record(&mut self, finished: FinishedRun) {
        if finished.decision.waits_for_rows_since(self.clock.now()).is_some_and(|ms| ms < QUIET_PARK_MS) {
            return;
        }
        log(&finished);
        for finding in &finished.findings {
            tracing::warn!(%finding, "found a field conflict or hot loop");
            if let Some(client) = self.clusters.get(event::cluster(finding)).filter(|_| !self.dry_run) {
                event::raise(client.clone(), self.rate_limiter.clone(), finding.clone());
            }
        }
        match &mut self.finished {
            Some(decided) => decided.push(finished),
            None => self.recorder.record(finished, self.clock.now()),
        }
    }

    fn add(&mut self, added: NewOperator) {
        if let Some((name, client)) = added.cluster.filter(|(name, _)| !self.clusters.contains_key(name)) {
            // When an operator is added with another cluster, its previous cluster is not used any more.
            if let Some(former) = self.operator_clusters.insert(OperatorName::new(added.operator.name()), name.clone())
            {
                self.clusters.remove(&former);
            }
            self.clusters.insert(name, client);
            self.writer = Arc::new(KubeWriter::new(self.clusters.clone()).with_rate_limiter(self.rate_limiter.clone()));
        }
        self.core.add(self.clock.now(), added.operator, added.limits);
    }

    fn remove(&mut self, operator: &OperatorName) -> bool {
        if let Some(cluster) = self.operator_clusters.remove(operator) {
            self.clusters.remove(&cluster);
            self.writer = Arc::new(KubeWriter::new(self.clusters.clone()).with_rate_limiter(self.rate_limiter.clone()));
        }
        self.core.remove(operator)
    }

    fn handle_request(&mut self, request: HostRequest) -> bool {
        let now = self.clock.now();
        match request {
            HostRequest::State(reply) => {
                let unrecorded = self.recorder.counts().dropped;
                drop(reply.send(KernelState { unrecorded, ..self.core.state(now) }));
            }
            HostRequest::Unit(unit, reply) => drop(reply.send(self.core.unit(now, &unit))),
            HostRequest::Counts(reply) => drop(reply.send(self.recorder.counts())),
            HostRequest::Reconcile(operator, unit, reply) => {
                let _ = reply.send(self.core.reconcile(now, &operator, unit.as_ref()));
            }
            HostRequest::Pause(operator, by, reply) => {
                let known = self.core.operators().any(|name| *name == operator);
                self.core.pause(&operator, by.map(|by| OperatorPause { by, since: now }));
                let _ = reply.send(known);
            }
            HostRequest::Add(added) => self.add(*added),
            HostRequest::Remove(operator, reply) => drop(reply.send(self.remove(&operator))),
            HostRequest::Units(operator, units, changed, reply) => {
                let _ = reply.send(self.core.set_units(now, &operator, units, &changed));
            }
            HostRequest::Enqueue(operator, units, flow, reply) => {
                let _ = reply.send(self.core.enqueue_for_flow(now, &operator, units, flow.as_ref()));
            }
            HostRequest::Limits(global, operators) => {
                self.rate_limiter.set_limit(global.requests_per_second);
                self.core.set_global(global);
                operators.into_iter().for_each(|(name, limits)| self.core.set_limits(now, &name, limits));
            }
            HostRequest::ManagedFields(key, reply) => {
                let client = self.clusters.get(&key.table.cluster).cloned();
                tokio::spawn(async move { reply.send(request::managed_fields(client, &key).await) });
            }
            HostRequest::Snapshot(reply) => drop(reply.send(self.core.snapshot())),
            HostRequest::Clusters(reply) => drop(reply.send(self.clusters.clone())),
            HostRequest::Journal(question) => self.recorder.query(question),
            HostRequest::Stop => return false,
        }
        true
    }
}

/// Logs a finished run: failures as warnings, successes at `debug`.
fn log(finished: &FinishedRun) {
    let UnitId { operator, unit } = &finished.decision.unit;
    let id = finished.decision.id.0;
    match &finished.decision.outcome {
        RunOutcome::Failed { message } => {
            tracing::warn!(%operator, %unit, decision = id, "{operator} {unit} failed: {message}")
        }
        RunOutcome::NotCached { .. } => {
            tracing::debug!(%operator, %unit, decision = id, "{operator} {unit} waits for a kind")
        }
        RunOutcome::Decided { writes, .. } => {
            for write in writes {
                let mutation = &write.mutation;
                match &write.result {
                    WriteResult::Failed { message } | WriteResult::Refused { reason: message } => {
                        tracing::warn!(%operator, %unit, decision = id, "{operator} {unit} could not {mutation}: {message}");
                    }
                    _ => tracing::debug!(%operator, %unit, decision = id, "{operator} {unit}: {mutation}"),
                }
            }
        }
    }
}

/// Limits of operators by name.
pub type LimitsByName = Vec<(OperatorName, Limits)>;

#[cfg(test)]
mod tests;
