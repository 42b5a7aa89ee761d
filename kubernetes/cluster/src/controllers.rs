//! The controllers that belong to the API itself, in the server's process.
//!
//! ```text
//! store ──watch──▶ Graph (what depends on what) ──Work──▶ act ──requests──▶ server ──▶ store
//! ```
//!
//! One task watches the store and takes every change into a [`graph::Graph`]: who owns whom, which namespaces are
//! going away. A change asks for [`Work`]; work reads the store as it is then, decides by a pure function and sends
//! ordinary requests in process. Nothing polls, and nothing is remembered that the store does not say: after a crash
//! the graph is made again from a list, and every piece of work is asked for again.
//!
//! Work of one round runs together; the graph changes only between rounds.
//!
//! # Guarantees
//! - What a settled cluster holds is a function of what was written. // test: guarantees_settled_is_final
//! - A restart goes on where the process died.                       // test: guarantees_a_restart_goes_on

mod accounts;
mod aggregation;
mod api;
mod garbage;
mod graph;
mod namespaces;
mod protection;
mod queue;
mod tokens;

use std::sync::{Arc, Weak};

use futures::future::join_all;
use tokio::sync::{mpsc, oneshot, watch};

use self::api::Api;
use self::graph::Graph;
use self::queue::{Queue, Work};
use crate::server::{Cluster, Inner};
use crate::store::{ReadError, Watch};

/// How much work runs together; more only queues behind the disk.
const ROUND: usize = 64;
/// How often work that failed is tried again before it waits for the next change.
const MAX_TRIES: u32 = 16;
/// The same for conflicts: somebody else got on, so it is worth trying longer.
const MAX_CONFLICTS: u32 = 1_000;

/// A logical cluster that was made, and who waits until it is taken in.
type Adoption = (Arc<str>, oneshot::Sender<()>);

/// A running set of controllers.
#[derive(Debug)]
pub(crate) struct Controllers {
    /// A logical cluster was made: what the store holds of it is new to the controllers.
    adopt: mpsc::UnboundedSender<Adoption>,
    /// Everything up to this revision has been seen and acted upon.
    settled: watch::Receiver<u64>,
}

impl Cluster {
    /// Starts the controllers, once. A cluster without them only stores: a dump that is served must not be collected.
    pub fn start_controllers(&self) {
        self.inner().controllers.get_or_init(|| Controllers::start(self.inner(), None));
    }

    /// Starts them on what was settled before: only what it may depend on later is looked at.
    pub(crate) fn go_on_controlling(&self) {
        let revision = self.inner().store.revision();
        self.inner().controllers.get_or_init(|| Controllers::start(self.inner(), Some(revision)));
    }

    /// Waits until the controllers have nothing left to do.
    pub async fn settle(&self) {
        let Some(controllers) = self.inner().controllers.get() else { return };
        let mut settled = controllers.settled.clone();
        loop {
            let revision = self.inner().store.revision();
            if settled.wait_for(|reached| *reached >= revision).await.is_err() {
                return;
            }
            if self.inner().store.revision() == revision {
                return;
            }
        }
    }
}

impl Controllers {
    fn start(inner: &Arc<Inner>, settled_at: Option<u64>) -> Self {
        let (adopt, adopted) = mpsc::unbounded_channel();
        let (progress, settled) = watch::channel(0);
        let (graph, queue) = (Graph::default(), Queue::default());
        let task = Task { inner: Arc::downgrade(inner), graph, queue, progress, settled_at };
        tokio::spawn(task.run(adopted));
        Self { adopt, settled }
    }

    /// Takes in what the store holds of a logical cluster that has just been made.
    pub(crate) async fn adopt(&self, cluster: &Arc<str>) {
        let (taken_in, done) = oneshot::channel();
        // The task ends with the server; then there is nobody left to tell.
        if self.adopt.send((cluster.clone(), taken_in)).is_ok() {
            let _ = done.await;
        }
    }
}

struct Task {
    inner: Weak<Inner>,
    graph: Graph,
    queue: Queue,
    progress: watch::Sender<u64>,
    /// What the store held at this revision was settled by others.
    settled_at: Option<u64>,
}

impl Task {
    async fn run(mut self, mut adopted: mpsc::UnboundedReceiver<Adoption>) {
        while let Some(mut changes) = self.begin() {
            if self.follow(&mut changes, &mut adopted).await == ReadError::Closed {
                return;
            }
        }
    }

    /// Makes the graph anew from what is stored. `None` when the server is gone.
    fn begin(&mut self) -> Option<Watch> {
        let inner = self.inner.upgrade()?;
        self.progress.send_replace(0);
        self.graph = Graph::default();
        let settled_at = self.settled_at.take();
        let page = inner.store.list("", None, 0, settled_at).ok()?;
        for (key, record) in &page.records {
            self.graph.put(key, &record.bytes, &mut self.queue);
        }
        if settled_at.is_some() {
            self.queue.keep_collecting();
        }
        inner.store.watch("", page.revision).ok()
    }

    async fn follow(&mut self, changes: &mut Watch, adopted: &mut mpsc::UnboundedReceiver<Adoption>) -> ReadError {
        loop {
            match changes.progress() {
                Ok(batch) => {
                    for change in &batch.changes {
                        self.graph.take(change, &mut self.queue);
                    }
                    if !batch.changes.is_empty() {
                        continue;
                    }
                    if self.queue.is_empty() {
                        self.progress.send_replace(batch.revision);
                    }
                }
                Err(error) => return error,
            }
            let round = self.queue.round(ROUND);
            if !round.is_empty() {
                let Some(inner) = self.inner.upgrade() else { return ReadError::Closed };
                self.act(&inner, round).await;
                continue;
            }
            tokio::select! {
                next = changes.next() => match next {
                    Ok(batch) => batch.changes.iter().for_each(|change| self.graph.take(change, &mut self.queue)),
                    Err(error) => return error,
                },
                Some((cluster, taken_in)) = adopted.recv() => {
                    self.adopt(&cluster);
                    let _ = taken_in.send(());
                }
            }
        }
    }

    fn adopt(&mut self, cluster: &str) {
        let Some(inner) = self.inner.upgrade() else { return };
        self.progress.send_replace(0);
        let Ok(page) = inner.store.list(&format!("{cluster}/"), None, 0, None) else { return };
        for (key, record) in &page.records {
            self.graph.put(key, &record.bytes, &mut self.queue);
        }
    }

    async fn act(&mut self, inner: &Arc<Inner>, round: Vec<(Work, u32)>) {
        let graph = &self.graph;
        let done = join_all(round.into_iter().map(|(work, tries)| async move {
            let api = Api::of(inner, work.cluster())?;
            let failed = perform(&work, &api, graph).await.err()?;
            Some((work, tries + 1, failed))
        }));
        for (work, tries, failed) in done.await.into_iter().flatten() {
            let limit = if failed.code == 409 { MAX_CONFLICTS } else { MAX_TRIES };
            if tries < limit {
                self.queue.again(work, tries);
            } else {
                tracing::warn!(?work, code = failed.code, message = failed.message, "a controller gave up for now");
            }
        }
    }
}

async fn perform(work: &Work, api: &Api, graph: &Graph) -> Result<(), api::Failed> {
    match work {
        Work::Collect(key) => garbage::collect(api, graph, key).await,
        Work::Orphan(key) => garbage::orphan(api, graph, key).await,
        Work::Namespace(key) => namespaces::terminate(api, key).await,
        Work::Equip(key) => accounts::equip(api, key).await,
        Work::Token(key) => tokens::fill(api, key).await,
        Work::Aggregate(cluster) => aggregation::aggregate(api, cluster).await,
        Work::Release(key) => protection::release(api, key).await,
    }
}

#[cfg(test)]
mod tests;
