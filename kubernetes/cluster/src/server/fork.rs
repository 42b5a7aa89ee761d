//! A server made from another: a test that needs a thousand servers in the same state makes that state once.

use std::sync::{Arc, PoisonError};

use super::{Cluster, Inner};
use crate::ambient::Ambient;
use crate::store::Store;

impl Cluster {
    /// A server of its own in the state of this one, with other time and chance. Its controllers run.
    ///
    /// What this one has read of its store is not read again: the kinds that are served, the roles, the keys. What its
    /// controllers have done is not looked at again either, so it must be settled ([`Cluster::settle`]) and not written to
    /// meanwhile. Must be called within a runtime.
    #[must_use]
    pub fn fork(&self, ambient: Ambient) -> Self {
        let store = self.inner.store.fork();
        let inner = Inner::new(self.inner.gate.clone(), store, ambient, None);
        {
            let from = self.inner.logical.read().unwrap_or_else(PoisonError::into_inner);
            let mut all = inner.logical.write().unwrap_or_else(PoisonError::into_inner);
            for (name, logical) in &*from {
                all.insert(name.clone(), Arc::new(logical.fork(&self.inner.store, &inner.store)));
            }
        }
        let cluster = Self { inner: Arc::new(inner) };
        cluster.go_on_controlling();
        cluster
    }

    /// Where its objects are.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }
}
