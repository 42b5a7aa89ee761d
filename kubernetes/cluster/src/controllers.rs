//! Controllers of the API itself, in the server's process.
//!
//! ```text
//! store ──watch──▶ OwnershipGraph ──WorkItem──▶ controller ──requests──▶ server ──▶ store
//! ```
//!
//! One task watches the store and applies every change to the [`ownership_graph::OwnershipGraph`]: owners and
//! dependents, terminating namespaces. A change enqueues [`WorkItem`]s. An item reads the current store, decides with a
//! pure function and sends ordinary in-process requests. Nothing polls, and no state exists outside the store: after a
//! crash the graph is rebuilt from a list, and every item is enqueued again.
//!
//! The items of one batch run concurrently; the graph changes only between batches.
//!
//! # Guarantees
//! - The state of an idle cluster is a function of the writes. // test: guarantees_idle_state_depends_on_writes_only
//! - After a crash, the controllers continue where they stopped. // test: guarantees_a_restart_continues

mod aggregation;
mod client;
mod garbage_collector;
mod namespace_defaults;
mod namespaces;
mod ownership_graph;
mod protection;
mod token_secrets;
mod work_queue;

use std::sync::{Arc, Weak};

use futures::future::join_all;
use tokio::sync::{mpsc, oneshot, watch};

use self::client::ControllerClient;
use self::ownership_graph::OwnershipGraph;
use self::work_queue::{WorkItem, WorkQueue};
use crate::server::{Cluster, ServerState};
use crate::store::{ReadError, StoreWatch};

/// Number of items that run concurrently. More would only queue behind the disk.
const BATCH_SIZE: usize = 64;
/// Retries of a failed item before it waits for the next change.
const MAX_TRIES: u32 = 16;
/// Retries after conflicts. Another writer made progress, so more retries are worthwhile.
const MAX_CONFLICTS: u32 = 1_000;

/// New logical cluster, and the sender that reports its adoption.
type ClusterAdoption = (Arc<str>, oneshot::Sender<()>);

/// Running controllers.
#[derive(Debug)]
pub(crate) struct Controllers {
    /// Sender of new logical clusters, whose stored objects the controllers do not know yet.
    adopt: mpsc::UnboundedSender<ClusterAdoption>,
    /// Revision up to which all changes are processed.
    settled: watch::Receiver<u64>,
}

impl Cluster {
    /// Starts the controllers, once. A cluster without controllers only stores objects: objects of a dump must not be
    /// garbage collected.
    pub fn start_controllers(&self) {
        self.inner().controllers.get_or_init(|| Controllers::start(self.inner(), None));
    }

    /// Starts the controllers on a state that other controllers already processed. Only objects whose owners' kinds may
    /// be served later are examined.
    pub(crate) fn resume_controllers(&self) {
        let revision = self.inner().store.revision();
        self.inner().controllers.get_or_init(|| Controllers::start(self.inner(), Some(revision)));
    }

    /// Waits until the controllers are idle.
    pub async fn wait_for_controllers(&self) {
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
    fn start(inner: &Arc<ServerState>, settled_at: Option<u64>) -> Self {
        let (adopt, adopted) = mpsc::unbounded_channel();
        let (progress, settled) = watch::channel(0);
        let (graph, queue) = (OwnershipGraph::default(), WorkQueue::default());
        let task = ControllerTask { inner: Arc::downgrade(inner), graph, queue, progress, settled_at };
        tokio::spawn(task.run(adopted));
        Self { adopt, settled }
    }

    /// Reads the stored objects of a new logical cluster.
    pub(crate) async fn adopt(&self, cluster: &Arc<str>) {
        let (taken_in, done) = oneshot::channel();
        // The task ends with the server; then no receiver is left.
        if self.adopt.send((cluster.clone(), taken_in)).is_ok() {
            let _ = done.await;
        }
    }
}

struct ControllerTask {
    inner: Weak<ServerState>,
    graph: OwnershipGraph,
    queue: WorkQueue,
    progress: watch::Sender<u64>,
    /// Revision up to which other controllers processed all changes.
    settled_at: Option<u64>,
}

impl ControllerTask {
    async fn run(mut self, mut adopted: mpsc::UnboundedReceiver<ClusterAdoption>) {
        while let Some(mut changes) = self.begin() {
            if self.follow(&mut changes, &mut adopted).await == ReadError::Closed {
                return;
            }
        }
    }

    /// Rebuilds the graph from the store; `None` if the server has stopped.
    fn begin(&mut self) -> Option<StoreWatch> {
        let inner = self.inner.upgrade()?;
        self.progress.send_replace(0);
        self.graph = OwnershipGraph::default();
        let settled_at = self.settled_at.take();
        let page = inner.store.list("", None, 0, settled_at).ok()?;
        for (key, record) in &page.records {
            self.graph.insert(key, &record.bytes, &mut self.queue);
        }
        if settled_at.is_some() {
            self.queue.retain_collect_items();
        }
        inner.store.watch("", page.revision).ok()
    }

    async fn follow(
        &mut self,
        changes: &mut StoreWatch,
        adopted: &mut mpsc::UnboundedReceiver<ClusterAdoption>,
    ) -> ReadError {
        loop {
            match changes.progress() {
                Ok(batch) => {
                    for change in &batch.changes {
                        self.graph.apply_change(change, &mut self.queue);
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
            let round = self.queue.next_batch(BATCH_SIZE);
            if !round.is_empty() {
                let Some(inner) = self.inner.upgrade() else { return ReadError::Closed };
                self.run_batch(&inner, round).await;
                continue;
            }
            tokio::select! {
                next = changes.next() => match next {
                    Ok(batch) => batch.changes.iter().for_each(|change| self.graph.apply_change(change, &mut self.queue)),
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
            self.graph.insert(key, &record.bytes, &mut self.queue);
        }
    }

    async fn run_batch(&mut self, inner: &Arc<ServerState>, round: Vec<(WorkItem, u32)>) {
        let graph = &self.graph;
        let done = join_all(round.into_iter().map(|(work, tries)| async move {
            let api = ControllerClient::of(inner, work.cluster())?;
            let failed = perform(&work, &api, graph).await.err()?;
            Some((work, tries + 1, failed))
        }));
        for (work, tries, failed) in done.await.into_iter().flatten() {
            let limit = if failed.code == 409 { MAX_CONFLICTS } else { MAX_TRIES };
            if tries < limit {
                self.queue.retry(work, tries);
            } else {
                tracing::warn!(
                    ?work,
                    code = failed.code,
                    message = failed.message,
                    "work item failed; it is retried after the next change"
                );
            }
        }
    }
}

async fn perform(
    work: &WorkItem,
    api: &ControllerClient,
    graph: &OwnershipGraph,
) -> Result<(), client::RequestFailure> {
    match work {
        WorkItem::Collect(key) => garbage_collector::collect(api, graph, key).await,
        WorkItem::Orphan(key) => garbage_collector::orphan(api, graph, key).await,
        WorkItem::Namespace(key) => namespaces::terminate(api, key).await,
        WorkItem::Provision(key) => namespace_defaults::provision(api, key).await,
        WorkItem::Token(key) => token_secrets::fill(api, key).await,
        WorkItem::Aggregate(cluster) => aggregation::aggregate(api, cluster).await,
        WorkItem::Release(key) => protection::release(api, key).await,
    }
}

#[cfg(test)]
mod tests;
