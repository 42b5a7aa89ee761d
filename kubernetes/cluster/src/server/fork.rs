//! Forks of a server: a test that needs a thousand servers in the same state creates that state once.

use std::sync::{Arc, PoisonError};

use super::{Cluster, ServerState};
use crate::clock_and_rng::ClockAndRng;
use crate::store::ObjectStore;

impl Cluster {
    /// Creates an independent server in the state of this one, with its own clock and random generator. Its controllers
    /// run.
    ///
    /// Parsed state is shared: served kinds, roles, keys. The controllers do not process existing objects again, so the
    /// controllers of this server must be idle ([`Cluster::wait_for_controllers`]) and no writes may happen meanwhile.
    /// Must be called within a runtime.
    #[must_use]
    pub fn fork(&self, clock_and_rng: ClockAndRng) -> Self {
        let store = self.inner.store.fork();
        let inner = ServerState::new(self.inner.auth_keys.clone(), store, clock_and_rng, None);
        {
            let from = self.inner.logical.read().unwrap_or_else(PoisonError::into_inner);
            let mut all = inner.logical.write().unwrap_or_else(PoisonError::into_inner);
            for (name, logical) in &*from {
                all.insert(name.clone(), Arc::new(logical.fork(&self.inner.store, &inner.store)));
            }
        }
        let cluster = Self { inner: Arc::new(inner) };
        cluster.resume_controllers();
        cluster
    }

    /// Returns the store.
    pub fn store(&self) -> &ObjectStore {
        &self.inner.store
    }
}
