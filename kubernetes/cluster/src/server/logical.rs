//! A logical cluster: its own objects, namespaces and CRDs, in the process and store it shares with others.

use std::sync::{Arc, PoisonError, RwLock};

use super::Inner;
use crate::auth::gate::LivePolicy;
use crate::registry::Registry;
use crate::store::Store;

/// One of the clusters in the process.
#[derive(Debug)]
pub struct Logical {
    name: Arc<str>,
    registry: RwLock<Arc<Registry>>,
    pub(super) policy: LivePolicy,
    /// Held from the choice of an address until the Service that has it can be seen.
    pub(crate) addresses: tokio::sync::Mutex<()>,
}

impl Logical {
    pub(crate) fn new(name: &str) -> Self {
        let (registry, policy) = (RwLock::new(Registry::built_in()), LivePolicy::new(name));
        Self { name: name.into(), registry, policy, addresses: tokio::sync::Mutex::default() }
    }

    /// Its name: the first part of its keys in the store.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What is served now.
    pub fn registry(&self) -> Arc<Registry> {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts the next registry in place of this one, under the lock that keeps two changes apart.
    pub(crate) fn change_registry(&self, change: impl FnOnce(&Registry) -> Registry) {
        let mut registry = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        *registry = Arc::new(change(&registry));
    }

    /// The same over a fork of its store.
    pub(super) fn fork(&self, from: &Store, to: &Store) -> Self {
        let (registry, policy) = (RwLock::new(self.registry()), self.policy.fork(from, to));
        Self { name: self.name.clone(), registry, policy, addresses: tokio::sync::Mutex::default() }
    }

    /// Writes what every cluster begins with, as far as it is not there yet.
    pub(super) async fn bootstrap(&self, inner: &Inner) {
        crate::bootstrap::write(&inner.store, &self.name, &inner.ambient, &inner.gate.authority).await;
    }
}
