//! The gate in front of the verbs: authentication, impersonation and authorization over the store.

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use http::{Extensions, HeaderMap};
use jiff::Timestamp;
use switchboard_object::Value;
use switchboard_object::status::Status;

use super::authentication::{Authenticator, Objects, Peer, is_public};
use super::certificates::Certificates;
use super::impersonation::impersonate;
use super::rbac::{self, Authorizer, Kind, Policy};
use super::token::{TokenKey, TokenKeyError};
use super::{Attributes, Decision, User};
use crate::store::{Key, Store, Watch};

/// What the server needs to judge requests: keys, not rights. One per process.
#[derive(Debug)]
pub struct Gate {
    /// Believes credentials and signs tokens.
    pub authenticator: Authenticator,
    /// The certificate of the authority, as `kube-root-ca.crt` carries it.
    pub authority: String,
}

/// The roles and bindings of one logical cluster, as fresh as the store.
///
/// Parsed once: a request only takes in what changed since the last one, and most change nothing.
#[derive(Debug)]
pub struct LivePolicy {
    cluster: Arc<str>,
    live: RwLock<Live>,
}

#[derive(Debug, Default)]
struct Live {
    policy: Policy,
    /// Everything up to here is taken in.
    revision: u64,
    /// One per RBAC resource; empty before the first request and after a watch fell behind.
    watches: Vec<(Kind, Watch)>,
}

/// The objects of one logical cluster, for tokens.
pub struct Stored<'a> {
    /// Where they are kept.
    pub store: &'a Store,
    /// Whose they are.
    pub cluster: &'a str,
}

impl Gate {
    /// Keys that are kept nowhere, for a server in memory.
    pub fn ephemeral() -> Result<Self, TokenKeyError> {
        // Nobody connects to such a server, so one authority serves all of them.
        static AUTHORITY: OnceLock<String> = OnceLock::new();
        let authority = AUTHORITY.get_or_init(|| {
            let made = Certificates::ephemeral(&[], Timestamp::now());
            made.map(|c| c.authority.certificate).unwrap_or_default()
        });
        let authenticator = Authenticator::new(TokenKey::ephemeral()?, None);
        Ok(Self { authenticator, authority: authority.clone() })
    }

    /// Who makes the request, as whom, and that they may; or the refusal.
    ///
    /// The in-process client says who it is by a [`User`] among the request's extensions, a listener by a [`Peer`];
    /// neither can be sent over a socket. `policy` is `None` for a logical cluster that does not exist.
    pub fn admit(
        &self,
        mut attributes: Attributes,
        (headers, extensions): (&HeaderMap, &Extensions),
        (store, policy): (&Store, Option<&LivePolicy>),
        now: Timestamp,
    ) -> Result<User, Status> {
        attributes.user = match extensions.get::<User>() {
            Some(user) => user.clone(),
            None => {
                let peer = extensions.get::<Peer>().cloned().unwrap_or_default();
                // No cluster, no service accounts: its tokens are not believed.
                let cluster = policy.map_or("", |p| &*p.cluster);
                let path = if attributes.is_resource { "" } else { &attributes.path };
                self.authenticator.authenticate(&peer, headers, path, &Stored { store, cluster }, now)?
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

/// Refuses what the policy does not allow.
pub fn authorize(policy: &Policy, attributes: &Attributes) -> Result<(), Status> {
    match policy.decide(attributes) {
        Decision::Allow(_) => Ok(()),
        Decision::NoOpinion(reason) => Err(attributes.forbidden(&reason)),
    }
}

impl LivePolicy {
    /// The policy of a logical cluster.
    pub fn new(cluster: &str) -> Self {
        Self { cluster: cluster.into(), live: RwLock::default() }
    }

    /// The policy over another store, which is a fork of this one's.
    pub fn fork(&self, from: &Store, to: &Store) -> Self {
        let policy = self.read(from).clone();
        let live = Live { policy, ..Live::default() }.following(&self.cluster, to);
        Self { cluster: self.cluster.clone(), live: RwLock::new(live) }
    }

    /// The policy as of now: what was written before this call is in it.
    pub fn read(&self, store: &Store) -> PolicyGuard<'_> {
        let revision = store.revision();
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        if live.revision >= revision && !live.watches.is_empty() {
            return PolicyGuard(live);
        }
        drop(live);
        self.live.write().unwrap_or_else(PoisonError::into_inner).catch_up(&self.cluster, store, revision);
        PolicyGuard(self.live.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A policy that does not change while it is held.
pub struct PolicyGuard<'a>(RwLockReadGuard<'a, Live>);

impl std::ops::Deref for PolicyGuard<'_> {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        &self.0.policy
    }
}

impl Live {
    fn catch_up(&mut self, cluster: &str, store: &Store, revision: u64) {
        if self.watches.is_empty() || self.take_changes(revision).is_none() {
            self.reload(cluster, store);
        }
    }

    /// `None` when a watch has ended.
    fn take_changes(&mut self, revision: u64) -> Option<()> {
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

    /// With a watch for each kind, from now on; without any when they cannot be had, so that all is read again.
    fn following(mut self, cluster: &str, store: &Store) -> Self {
        let revision = store.revision();
        let watch = |kind: Kind| {
            let prefix = Key::prefix(cluster, &format!("{}.{}", kind.plural(), rbac::GROUP), None);
            Some((kind, store.watch(&prefix, revision).ok()?))
        };
        self.watches = Kind::ALL.into_iter().map(watch).collect::<Option<_>>().unwrap_or_default();
        self.revision = revision;
        self
    }

    fn reload(&mut self, cluster: &str, store: &Store) {
        *self = Self::default();
        let mut reached = u64::MAX;
        for kind in Kind::ALL {
            let prefix = Key::prefix(cluster, &format!("{}.{}", kind.plural(), rbac::GROUP), None);
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

impl Objects for Stored<'_> {
    fn object(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let record = self.store.get(&Key::new(self.cluster, resource, namespace, name))?;
        serde_json::from_slice(&record.bytes).ok()
    }
}

#[cfg(test)]
mod tests;
