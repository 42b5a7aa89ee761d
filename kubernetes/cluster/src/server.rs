//! The server: one store, its logical clusters, and request handling.
//!
//! ```text
//! request ─▶ attributes ─▶ authentication ─▶ authorization ─▶ path: discovery, health, ...
//!                                                          └─▶ resource: verb ─▶ store
//! ```

mod access;
mod compress;
mod dispatch;
mod fork;
mod logical;
mod paths;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::auth::filters::AuthKeys;
use crate::clock_and_rng::ClockAndRng;
use crate::controllers::Controllers;
use crate::dump::{DumpLogs, WriteRecorder};
use crate::store::{ObjectStore, StoreLimits};

pub(crate) use dispatch::{method_not_allowed, no_such_resource};
pub use logical::LogicalCluster;

/// Largest number of logical clusters in one process.
pub const MAX_LOGICAL_CLUSTERS: usize = 10_000;

/// Embedded Kubernetes API server. Clones are handles to the same server.
#[derive(Clone, Debug)]
pub struct Cluster {
    inner: Arc<ServerState>,
}

/// State shared by all handles and requests.
pub struct ServerState {
    pub(crate) store: ObjectStore,
    pub(crate) clock_and_rng: ClockAndRng,
    pub(crate) auth_keys: Arc<AuthKeys>,
    logical: RwLock<BTreeMap<Arc<str>, Arc<LogicalCluster>>>,
    stop: tokio::sync::watch::Sender<bool>,
    address: OnceLock<String>,
    /// Logs of a dump; a server with logs is read-only.
    pub(crate) dump_logs: Option<DumpLogs>,
    /// Recorder of writes to a dump, if they are not refused.
    pub(crate) recorder: OnceLock<WriteRecorder>,
    pub(crate) controllers: OnceLock<Controllers>,
}

impl std::fmt::Debug for ServerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerState").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Cluster {
    /// Creates a server in memory, ready to use: with default namespaces and running controllers.
    pub async fn ephemeral() -> Self {
        let cluster = Self::with_store(ObjectStore::in_memory(StoreLimits::default()), ClockAndRng::system()).await;
        cluster.start_controllers();
        cluster
    }

    /// Creates a server over a store, with the given clock and random generator.
    pub async fn with_store(store: ObjectStore, clock_and_rng: ClockAndRng) -> Self {
        let auth_keys = AuthKeys::ephemeral().expect("the system has a random generator");
        Self::with_keys(auth_keys, store, clock_and_rng).await
    }

    /// Creates a server with the given keys.
    pub async fn with_keys(auth_keys: AuthKeys, store: ObjectStore, clock_and_rng: ClockAndRng) -> Self {
        let cluster = Self { inner: Arc::new(ServerState::new(Arc::new(auth_keys), store, clock_and_rng, None)) };
        for name in cluster.stored_names() {
            cluster.logical(&name).await;
        }
        cluster.logical(crate::request::DEFAULT_CLUSTER).await;
        cluster
    }

    /// Returns the logical clusters that have objects in the store.
    fn stored_names(&self) -> Vec<String> {
        let (mut names, mut after) = (Vec::<String>::new(), None);
        while let Some((key, _)) =
            self.inner.store.list("", after.as_deref(), 1, None).ok().and_then(|p| p.records.into_iter().next())
        {
            let name = key.cluster().to_string();
            // Sorts after all keys of this cluster.
            after = Some(format!("{name}/\u{10FFFF}"));
            names.push(name);
        }
        names
    }

    /// Returns the names of all logical clusters.
    pub fn logical_names(&self) -> Vec<Arc<str>> {
        self.inner.logical.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Creates a server over the content of `store`, without the initial objects of a cluster.
    pub(crate) fn without_bootstrap(
        auth_keys: AuthKeys,
        store: ObjectStore,
        clock_and_rng: ClockAndRng,
        logical: Arc<LogicalCluster>,
        logs: DumpLogs,
    ) -> Self {
        let inner = ServerState::new(Arc::new(auth_keys), store, clock_and_rng, Some(logs));
        let mut all = inner.logical.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(logical.name().clone(), logical);
        drop(all);
        Self { inner: Arc::new(inner) }
    }

    /// Returns the logical cluster of that name, created if it does not exist.
    pub async fn logical(&self, name: &str) -> Arc<LogicalCluster> {
        if let Some(found) = self.inner.find_logical(name) {
            return found;
        }
        let made = Arc::new(LogicalCluster::new(name));
        made.bootstrap(&self.inner).await;
        crate::crd::load(&self.inner, &made).await;
        let made = {
            let mut all = self.inner.logical.write().unwrap_or_else(PoisonError::into_inner);
            all.entry(name.into()).or_insert(made).clone()
        };
        if let Some(controllers) = self.inner.controllers.get() {
            controllers.adopt(made.name()).await;
        }
        made
    }

    /// Sets the address at which clients reach the server, for discovery.
    pub fn set_address(&self, address: &str) {
        let _ = self.inner.address.set(address.to_string());
    }

    /// Ends all watches; later requests are still answered.
    pub fn stop(&self) {
        self.inner.stop.send_replace(true);
    }

    /// Returns the shared state.
    pub(crate) fn inner(&self) -> &Arc<ServerState> {
        &self.inner
    }
}

impl ServerState {
    fn new(auth_keys: Arc<AuthKeys>, store: ObjectStore, clock_and_rng: ClockAndRng, frozen: Option<DumpLogs>) -> Self {
        let (stop, _) = tokio::sync::watch::channel(false);
        let (address, controllers, recorder) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self {
            store,
            clock_and_rng,
            logical: RwLock::default(),
            stop,
            auth_keys,
            address,
            dump_logs: frozen,
            recorder,
            controllers,
        }
    }

    /// Returns the logical cluster of that name, if it exists.
    pub(crate) fn find_logical(&self, name: &str) -> Option<Arc<LogicalCluster>> {
        self.logical.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Returns the address at which clients reach the server.
    pub(crate) fn address(&self) -> String {
        self.address.get().cloned().unwrap_or_else(|| "127.0.0.1:6443".into())
    }

    /// Returns a receiver that becomes true when the server stops.
    pub(crate) fn stopping(&self) -> tokio::sync::watch::Receiver<bool> {
        self.stop.subscribe()
    }
}

#[cfg(test)]
mod tests;
