//! Authentication and authorization of requests through the TokenReview and SubjectAccessReview APIs of the cluster.
//!
//! Callers authenticate with their Kubernetes tokens, and RBAC of the cluster decides their access: the API has no
//! passwords and no roles of its own.

mod cache;
mod review;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use kube::Client;
use ring::digest::{SHA256, digest};

use crate::problem::{ProblemDetails, ProblemKind};
pub use cache::ExpiringCache;
pub use review::Caller;

/// Time an accepted token is cached: a revoked token keeps working at most this long.
pub const TOKEN_TTL_MS: u64 = 30_000;

/// Time a rejected token is cached.
pub const REJECTED_TOKEN_TTL_MS: u64 = 5_000;

/// Time an access decision is cached.
pub const ACCESS_TTL_MS: u64 = 5_000;

/// Maximum number of cached tokens.
const MAX_TOKENS: usize = 4_096;

/// Maximum number of cached access decisions.
const MAX_ACCESS_DECISIONS: usize = 16_384;

/// Maximum length of a token; the API rejects longer tokens without a review.
const MAX_TOKEN_BYTES: usize = 16_384;

/// Resource attributes of a SubjectAccessReview: the action to authorize.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceAttributes {
    /// `get`, `list`, `create`, `update`, `delete`, …
    pub verb: &'static str,
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The resource, in the plural.
    pub resource: &'static str,
    /// The namespace; empty for all namespaces or a cluster-scoped resource.
    pub namespace: String,
    /// The name of the object; empty for all objects.
    pub name: String,
}

impl ResourceAttributes {
    /// Attributes for a verb on a resource of a namespace.
    pub fn new(verb: &'static str, group: &'static str, resource: &'static str, namespace: &str) -> ResourceAttributes {
        ResourceAttributes { verb, group, resource, namespace: namespace.to_string(), name: String::new() }
    }

    /// Limits the attributes to one object.
    pub fn with_name(mut self, name: &str) -> ResourceAttributes {
        self.name = name.to_string();
        self
    }
}

impl fmt::Display for ResourceAttributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        match self.namespace.as_str() {
            "" => f.write_str(" in all namespaces"),
            namespace => write!(f, " in namespace `{namespace}`"),
        }
    }
}

/// Cache key of a token: its digest, so that the cache does not hold the token.
type Sha256Digest = [u8; 32];

/// Authenticates and authorizes callers against a cluster.
///
/// # Guarantees
/// - A request without a token that the cluster accepts has no caller.    // test: guarantees_no_token_no_caller
/// - An action that the cluster does not allow is rejected.               // test: guarantees_no_access_without_permission
/// - Tokens are neither stored, returned nor logged: only digests are.    // test: guarantees_tokens_are_not_exposed
pub struct Auth {
    client: Client,
    started: Instant,
    tokens: Mutex<ExpiringCache<Sha256Digest, Option<Caller>>>,
    access_decisions: Mutex<ExpiringCache<(Sha256Digest, ResourceAttributes), bool>>,
}

impl Auth {
    /// Creates the authenticator. The cluster must allow this client to create both reviews.
    pub fn new(client: Client) -> Auth {
        Auth {
            client,
            started: Instant::now(),
            tokens: Mutex::new(ExpiringCache::new(MAX_TOKENS)),
            access_decisions: Mutex::new(ExpiringCache::new(MAX_ACCESS_DECISIONS)),
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the cached review of a token: `None` if there is none, `Some(None)` if the cluster rejected the token.
    pub fn cached(&self, token: &str) -> Option<Option<Caller>> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.get(&fingerprint(token), self.now_ms()).cloned()
    }

    /// Returns the caller a token belongs to.
    pub async fn caller(&self, token: &str) -> Result<Caller, ProblemDetails> {
        let refused = || ProblemDetails::new(ProblemKind::Unauthenticated, "the cluster rejected the token");
        if token.is_empty() || token.len() > MAX_TOKEN_BYTES {
            return Err(refused());
        }
        if let Some(known) = self.cached(token) {
            return known.ok_or_else(refused);
        }
        let caller = review::review_token(&self.client, token).await?;
        let ttl_ms = if caller.is_some() { TOKEN_TTL_MS } else { REJECTED_TOKEN_TTL_MS };
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.put(fingerprint(token), caller.clone(), self.now_ms(), ttl_ms);
        drop(tokens);
        caller.ok_or_else(refused)
    }

    /// Returns whether the cluster allows the action to the caller.
    pub async fn is_allowed(&self, caller: &Caller, access: &ResourceAttributes) -> Result<bool, ProblemDetails> {
        let key = (caller.fingerprint(), access.clone());
        let known =
            self.access_decisions.lock().unwrap_or_else(PoisonError::into_inner).get(&key, self.now_ms()).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let allowed = review::review_access(&self.client, caller, access).await?;
        let mut access_decisions = self.access_decisions.lock().unwrap_or_else(PoisonError::into_inner);
        access_decisions.put(key, allowed, self.now_ms(), ACCESS_TTL_MS);
        Ok(allowed)
    }

    /// Returns an error unless the cluster allows the action to the caller.
    pub async fn authorize(&self, caller: &Caller, access: &ResourceAttributes) -> Result<(), ProblemDetails> {
        if self.is_allowed(caller, access).await? {
            return Ok(());
        }
        Err(ProblemDetails::new(ProblemKind::Forbidden, format!("`{}` is not allowed to {access}", caller.name)))
    }
}

/// Omits tokens and access decisions.
impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth").finish_non_exhaustive()
    }
}

/// Returns the bearer token of a request. Other authentication schemes are ignored.
pub fn bearer(headers: &HeaderMap) -> Result<&str, ProblemDetails> {
    let missing = || ProblemDetails::new(ProblemKind::Unauthenticated, "the request has no bearer token");
    let header = headers.get(AUTHORIZATION).ok_or_else(missing)?;
    let (scheme, token) = header.to_str().ok().and_then(|text| text.trim().split_once(' ')).ok_or_else(missing)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(missing()) }
}

fn fingerprint(text: &str) -> Sha256Digest {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    bytes
}

#[cfg(test)]
mod tests;
