//! The server: one store, its logical clusters, and the way of a request through it.
//!
//! ```text
//! request ─▶ attributes ─▶ who? ─▶ may they? ─▶ path: discovery, health, ...
//!                                           └─▶ resource: verb ─▶ store
//! ```

mod dispatch;
mod logical;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::ambient::Ambient;
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
#[derive(Debug)]
pub struct Inner {
    pub(crate) store: Store,
    pub(crate) ambient: Ambient,
    logical: RwLock<BTreeMap<Arc<str>, Arc<Logical>>>,
    stop: tokio::sync::watch::Sender<bool>,
}

impl Cluster {
    /// A server in memory, ready to answer: default namespaces included.
    pub async fn ephemeral() -> Self {
        Self::over(Store::in_memory(Bounds::default()), Ambient::system()).await
    }

    /// A server over a store, with the given time and chance.
    pub async fn over(store: Store, ambient: Ambient) -> Self {
        let (stop, _) = tokio::sync::watch::channel(false);
        let inner = Arc::new(Inner { store, ambient, logical: RwLock::default(), stop });
        let cluster = Self { inner };
        cluster.logical(crate::request::DEFAULT_CLUSTER).await;
        cluster
    }

    /// The logical cluster of that name; it is made when there is none yet.
    pub async fn logical(&self, name: &str) -> Arc<Logical> {
        if let Some(found) = self.inner.find(name) {
            return found;
        }
        let made = Arc::new(Logical::new(name));
        made.bootstrap(&self.inner).await;
        let mut all = self.inner.logical.write().unwrap_or_else(PoisonError::into_inner);
        all.entry(name.into()).or_insert(made).clone()
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
    /// The logical cluster of that name, when it exists.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Logical>> {
        self.logical.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Becomes true when the server stops.
    pub(crate) fn stopping(&self) -> tokio::sync::watch::Receiver<bool> {
        self.stop.subscribe()
    }
}
