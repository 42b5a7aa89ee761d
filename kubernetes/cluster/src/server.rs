//! The server: one store, its logical clusters, and the way of a request through it.
//!
//! ```text
//! request ─▶ attributes ─▶ who? ─▶ may they? ─▶ path: discovery, health, ...
//!                                           └─▶ resource: verb ─▶ store
//! ```

mod access;
mod compress;
mod dispatch;
mod fork;
mod logical;
mod paths;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::ambient::Ambient;
use crate::auth::gate::Gate;
use crate::controllers::Controllers;
use crate::frozen::{Logs, Recorder};
use crate::store::{Bounds, Store};

pub(crate) use dispatch::{method_not_allowed, no_such_resource};
pub use logical::Logical;

/// The most logical clusters in one process.
pub const MAX_LOGICAL_CLUSTERS: usize = 10_000;

/// An embedded Kubernetes API server. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Cluster {
    inner: Arc<Inner>,
}

/// What all handles and all requests share.
pub struct Inner {
    pub(crate) store: Store,
    pub(crate) ambient: Ambient,
    pub(crate) gate: Arc<Gate>,
    logical: RwLock<BTreeMap<Arc<str>, Arc<Logical>>>,
    stop: tokio::sync::watch::Sender<bool>,
    address: OnceLock<String>,
    /// The logs of a dump; a server that has them is read-only.
    pub(crate) frozen: Option<Logs>,
    /// Who keeps the writes to a dump, when they are not refused.
    pub(crate) recorder: OnceLock<Recorder>,
    pub(crate) controllers: OnceLock<Controllers>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Cluster {
    /// A server in memory, ready to answer: default namespaces included, controllers running.
    pub async fn ephemeral() -> Self {
        let cluster = Self::over(Store::in_memory(Bounds::default()), Ambient::system()).await;
        cluster.start_controllers();
        cluster
    }

    /// A server over a store, with the given time and chance.
    pub async fn over(store: Store, ambient: Ambient) -> Self {
        let gate = Gate::ephemeral().expect("the system has randomness");
        Self::behind(gate, store, ambient).await
    }

    /// A server with given keys.
    pub async fn behind(gate: Gate, store: Store, ambient: Ambient) -> Self {
        let cluster = Self { inner: Arc::new(Inner::new(Arc::new(gate), store, ambient, None)) };
        for name in cluster.stored_names() {
            cluster.logical(&name).await;
        }
        cluster.logical(crate::request::DEFAULT_CLUSTER).await;
        cluster
    }

    /// The logical clusters that have objects in the store.
    fn stored_names(&self) -> Vec<String> {
        let (mut names, mut after) = (Vec::<String>::new(), None);
        while let Some((key, _)) =
            self.inner.store.list("", after.as_deref(), 1, None).ok().and_then(|p| p.records.into_iter().next())
        {
            let name = key.cluster().to_string();
            // Behind everything of this cluster.
            after = Some(format!("{name}/\u{10FFFF}"));
            names.push(name);
        }
        names
    }

    /// The names of all logical clusters.
    pub fn logical_names(&self) -> Vec<Arc<str>> {
        self.inner.logical.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// A server over what is in `store`, to which nothing is added, not even what every cluster begins with.
    pub(crate) fn still(gate: Gate, store: Store, ambient: Ambient, logical: Arc<Logical>, logs: Logs) -> Self {
        let inner = Inner::new(Arc::new(gate), store, ambient, Some(logs));
        let mut all = inner.logical.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(logical.name().clone(), logical);
        drop(all);
        Self { inner: Arc::new(inner) }
    }

    /// The logical cluster of that name; it is made when there is none yet.
    pub async fn logical(&self, name: &str) -> Arc<Logical> {
        if let Some(found) = self.inner.find(name) {
            return found;
        }
        let made = Arc::new(Logical::new(name));
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

    /// Says where clients reach the server, for discovery.
    pub fn serve_at(&self, address: &str) {
        let _ = self.inner.address.set(address.to_string());
    }

    /// Ends all watches; later requests are still answered.
    pub fn stop(&self) {
        self.inner.stop.send_replace(true);
    }

    /// What requests share.
    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl Inner {
    fn new(gate: Arc<Gate>, store: Store, ambient: Ambient, frozen: Option<Logs>) -> Self {
        let (stop, _) = tokio::sync::watch::channel(false);
        let (address, controllers, recorder) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { store, ambient, logical: RwLock::default(), stop, gate, address, frozen, recorder, controllers }
    }

    /// The logical cluster of that name, when it exists.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Logical>> {
        self.logical.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Where clients reach the server.
    pub(crate) fn address(&self) -> String {
        self.address.get().cloned().unwrap_or_else(|| "127.0.0.1:6443".into())
    }

    /// Becomes true when the server stops.
    pub(crate) fn stopping(&self) -> tokio::sync::watch::Receiver<bool> {
        self.stop.subscribe()
    }
}

#[cfg(test)]
mod tests;
