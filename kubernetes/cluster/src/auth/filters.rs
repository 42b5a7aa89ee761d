//! Filters in front of the verbs: authentication, impersonation and authorization over the store.

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use http::{Extensions, HeaderMap};
use jiff::Timestamp;
use switchboard_object::Value;
use switchboard_object::status::Status;

use super::authentication::{Authenticator, Peer, TokenObjects, is_public};
use super::certificates::Certificates;
use super::impersonation::impersonate;
use super::rbac::{self, Authorizer, Policy, RbacKind};
use super::token::{TokenKey, TokenKeyError};
use super::{Attributes, AuthorizerDecision, User};
use crate::store::{ObjectStore, StoreKey, StoreWatch};

/// Keys for authentication. One per process.
#[derive(Debug)]
pub struct AuthKeys {
    /// Authenticator, which also signs tokens.
    pub authenticator: Authenticator,
    /// Certificate of the authority, as in `kube-root-ca.crt`.
    pub authority: String,
}

/// Cache of the roles and bindings of one logical cluster, always up to date with the store.
///
/// Objects are parsed once: a request only applies the changes since the previous request, usually none.
#[derive(Debug)]
pub struct PolicyCache {
    cluster: Arc<str>,
    cached: RwLock<CachedPolicy>,
}

#[derive(Debug, Default)]
struct CachedPolicy {
    policy: Policy,
    /// Revision up to which changes are applied.
    revision: u64,
    /// One watch per RBAC resource; empty before the first request and after a watch has expired.
    watches: Vec<(RbacKind, StoreWatch)>,
}

/// Objects of one logical cluster, for validating tokens.
pub struct StoreTokenObjects<'a> {
    /// Store.
    pub store: &'a ObjectStore,
    /// Name of the logical cluster.
    pub cluster: &'a str,
}

impl AuthKeys {
    /// Creates keys in memory, for a server without persistence.
    pub fn ephemeral() -> Result<Self, TokenKeyError> {
        // No client connects to such a server, so all of them share one authority.
        static AUTHORITY: OnceLock<String> = OnceLock::new();
        let authority = AUTHORITY.get_or_init(|| {
            let made = Certificates::ephemeral(&[], Timestamp::now());
            made.map(|c| c.authority.certificate).unwrap_or_default()
        });
        let authenticator = Authenticator::new(TokenKey::ephemeral()?, None);
        Ok(Self { authenticator, authority: authority.clone() })
    }

    /// Authenticates, impersonates and authorizes a request. Returns the user, or the error.
    ///
    /// The in-process client passes its [`User`] in the request's extensions, a listener a [`Peer`]; neither can be
    /// sent over a socket. `policy` is `None` if the logical cluster does not exist.
    pub fn admit(
        &self,
        mut attributes: Attributes,
        (headers, extensions): (&HeaderMap, &Extensions),
        (store, policy): (&ObjectStore, Option<&PolicyCache>),
        now: Timestamp,
    ) -> Result<User, Status> {
        attributes.user = match extensions.get::<User>() {
            Some(user) => user.clone(),
            None => {
                let peer = extensions.get::<Peer>().cloned().unwrap_or_default();
                // Without a cluster there are no service accounts, so its tokens are not accepted.
                let cluster = policy.map_or("", |p| &*p.cluster);
                let path = if attributes.is_resource { "" } else { &attributes.path };
                self.authenticator.authenticate(&peer, headers, path, &StoreTokenObjects { store, cluster }, now)?
            }
        };
        let Some(policy) = policy else { return impersonate(&Policy::default(), &attributes, headers) };
        let policy = policy.read(store);
        attributes.user = impersonate(&*policy, &attributes, headers)?;
        if !attributes.is_resource && is_public(&attributes.path) {
            return Ok(attributes.user);
        }
        authorize(&policy, &attributes)?;
        Ok(attributes.user)
    }
}

/// Returns an error if the policy does not allow the request.
pub fn authorize(policy: &Policy, attributes: &Attributes) -> Result<(), Status> {
    match policy.decide(attributes) {
        AuthorizerDecision::Allow(_) => Ok(()),
        AuthorizerDecision::NoOpinion(reason) => Err(attributes.forbidden(&reason)),
    }
}

impl PolicyCache {
    /// Creates the cache for a logical cluster.
    pub fn new(cluster: &str) -> Self {
        Self { cluster: cluster.into(), cached: RwLock::default() }
    }

    /// Copies the cache for another store, which is a fork of this cache's store.
    pub fn fork(&self, from: &ObjectStore, to: &ObjectStore) -> Self {
        let policy = self.read(from).clone();
        let live = CachedPolicy { policy, ..CachedPolicy::default() }.with_watches(&self.cluster, to);
        Self { cluster: self.cluster.clone(), cached: RwLock::new(live) }
    }

    /// Returns the current policy, with all writes before this call.
    pub fn read(&self, store: &ObjectStore) -> PolicyGuard<'_> {
        let revision = store.revision();
        let live = self.cached.read().unwrap_or_else(PoisonError::into_inner);
        if live.revision >= revision && !live.watches.is_empty() {
            return PolicyGuard(live);
        }
        drop(live);
        self.cached.write().unwrap_or_else(PoisonError::into_inner).catch_up(&self.cluster, store, revision);
        PolicyGuard(self.cached.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Policy that does not change while this guard exists.
pub struct PolicyGuard<'a>(RwLockReadGuard<'a, CachedPolicy>);

impl std::ops::Deref for PolicyGuard<'_> {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        &self.0.policy
    }
}

impl CachedPolicy {
    fn catch_up(&mut self, cluster: &str, store: &ObjectStore, revision: u64) {
        if self.watches.is_empty() || self.apply_changes(revision).is_none() {
            self.reload(cluster, store);
        }
    }

    /// Applies the changes of all watches; `None` if a watch has ended.
    fn apply_changes(&mut self, revision: u64) -> Option<()> {
        let mut reached = u64::MAX;
        for (kind, watch) in &mut self.watches {
            loop {
                let batch = watch.progress().ok()?;
                for change in &batch.changes {
                    let (namespace, name) = (change.key.namespace(), change.key.name());
                    match &change.after {
                        Some(record) => self.policy.put(*kind, namespace, name, &record.bytes),
                        None => self.policy.remove(*kind, namespace, name),
                    }
                }
                if batch.revision >= revision {
                    reached = reached.min(batch.revision);
                    break;
                }
            }
        }
        self.revision = reached;
        Some(())
    }

    /// Starts a watch for each kind. If a watch cannot be started, all watches are dropped, and the next request reads
    /// everything again.
    fn with_watches(mut self, cluster: &str, store: &ObjectStore) -> Self {
        let revision = store.revision();
        let watch = |kind: RbacKind| {
            let prefix = StoreKey::prefix(cluster, &format!("{}.{}", kind.plural(), rbac::GROUP), None);
            Some((kind, store.watch(&prefix, revision).ok()?))
        };
        self.watches = RbacKind::ALL.into_iter().map(watch).collect::<Option<_>>().unwrap_or_default();
        self.revision = revision;
        self
    }

    fn reload(&mut self, cluster: &str, store: &ObjectStore) {
        *self = Self::default();
        let mut reached = u64::MAX;
        for kind in RbacKind::ALL {
            let prefix = StoreKey::prefix(cluster, &format!("{}.{}", kind.plural(), rbac::GROUP), None);
            let Ok(page) = store.list(&prefix, None, 0, None) else { return self.watches.clear() };
            for (key, record) in &page.records {
                self.policy.put(kind, key.namespace(), key.name(), &record.bytes);
            }
            let Ok(watch) = store.watch(&prefix, page.revision) else { return self.watches.clear() };
            self.watches.push((kind, watch));
            reached = reached.min(page.revision);
        }
        self.revision = reached;
    }
}

impl TokenObjects for StoreTokenObjects<'_> {
    fn object(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let record = self.store.get(&StoreKey::new(self.cluster, resource, namespace, name))?;
        serde_json::from_slice(&record.bytes).ok()
    }
}

#[cfg(test)]
mod tests;
