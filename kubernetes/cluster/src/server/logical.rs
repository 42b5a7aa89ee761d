//! Logical clusters: each has its own objects, namespaces and CRDs in the shared process and store.

use std::sync::{Arc, PoisonError, RwLock};

use super::ServerState;
use crate::auth::filters::PolicyCache;
use crate::registry::Registry;
use crate::store::ObjectStore;

/// Logical cluster in the process.
#[derive(Debug)]
pub struct LogicalCluster {
    name: Arc<str>,
    registry: RwLock<Arc<Registry>>,
    pub(super) policy: PolicyCache,
    /// Held from the choice of an address until the Service that has it is visible.
    pub(crate) addresses: tokio::sync::Mutex<()>,
}

impl LogicalCluster {
    pub(crate) fn new(name: &str) -> Self {
        let (registry, policy) = (RwLock::new(Registry::built_in()), PolicyCache::new(name));
        Self { name: name.into(), registry, policy, addresses: tokio::sync::Mutex::default() }
    }

    /// Returns the name, the first part of its keys in the store.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the currently served resources.
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the registry, under a lock that serializes changes.
    pub(crate) fn change_registry(&self, change: impl FnOnce(&Registry) -> Registry) {
        let mut registry = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        *registry = Arc::new(change(&registry));
    }

    /// Copies the logical cluster for a fork of its store.
    pub(super) fn fork(&self, from: &ObjectStore, to: &ObjectStore) -> Self {
        let (registry, policy) = (RwLock::new(self.registry()), self.policy.fork(from, to));
        Self { name: self.name.clone(), registry, policy, addresses: tokio::sync::Mutex::default() }
    }

    /// Writes the missing initial objects of a cluster.
    pub(super) async fn bootstrap(&self, inner: &ServerState) {
        crate::bootstrap::write(&inner.store, &self.name, &inner.clock_and_rng, &inner.auth_keys.authority).await;
    }
}
