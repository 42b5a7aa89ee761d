//! Who asks, and whether they may: both are asked of the cluster, by TokenReview and SubjectAccessReview.
//!
//! Whoever has a token of Kubernetes needs no other password, and whoever gives rights there has given them here.

mod cache;
mod review;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use kube::Client;
use ring::digest::{SHA256, digest};

use crate::problem::{Kind, Problem};
pub use cache::Cache;
pub use review::Caller;

/// How long a token that was believed is believed without asking: so long may one be used that was taken back.
pub const TOKEN_LIFE_MS: u64 = 30_000;

/// How long a token that was refused is refused without asking.
pub const REFUSED_LIFE_MS: u64 = 5_000;

/// How long a right is given without asking.
pub const RIGHT_LIFE_MS: u64 = 5_000;

/// The most tokens that are remembered.
const MAX_TOKENS: usize = 4_096;

/// The most rights that are remembered.
const MAX_RIGHTS: usize = 16_384;

/// The longest token that is looked at.
const MAX_TOKEN_BYTES: usize = 16_384;

/// What somebody wants to do, as Kubernetes asks for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// `get`, `list`, `create`, `update`, `delete`, …
    pub verb: &'static str,
    /// The API group; empty is the core's.
    pub group: &'static str,
    /// The resource, in the plural.
    pub resource: &'static str,
    /// In which namespace; empty is all of them, or none.
    pub namespace: String,
    /// Which one; empty is any.
    pub name: String,
}

impl Access {
    /// A verb on a resource of a namespace.
    pub fn new(verb: &'static str, group: &'static str, resource: &'static str, namespace: &str) -> Access {
        Access { verb, group, resource, namespace: namespace.to_string(), name: String::new() }
    }

    /// On this one alone.
    pub fn named(mut self, name: &str) -> Access {
        self.name = name.to_string();
        self
    }
}

impl fmt::Display for Access {
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

/// What a token is known by: never the token itself.
type Digest = [u8; 32];

/// Asks a cluster who somebody is and what they may.
///
/// # Guarantees
/// - Without a token that the cluster believes nobody is anybody.         // test: guarantees_no_token_no_caller
/// - What the cluster does not allow is refused.                          // test: guarantees_no_right_no_access
/// - No token is kept, shown or logged: only its digest.                  // test: guarantees_no_token_is_shown
pub struct Auth {
    client: Client,
    began: Instant,
    tokens: Mutex<Cache<Digest, Option<Caller>>>,
    rights: Mutex<Cache<(Digest, Access), bool>>,
}

impl Auth {
    /// Asks the cluster of this client, which must be allowed to create both reviews.
    pub fn new(client: Client) -> Auth {
        Auth {
            client,
            began: Instant::now(),
            tokens: Mutex::new(Cache::new(MAX_TOKENS)),
            rights: Mutex::new(Cache::new(MAX_RIGHTS)),
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What is known of a token without asking: nothing, that it is refused, or whose it is.
    pub fn known(&self, token: &str) -> Option<Option<Caller>> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.get(&fingerprint(token), self.now_ms()).cloned()
    }

    /// Whose token this is.
    pub async fn caller(&self, token: &str) -> Result<Caller, Problem> {
        let refused = || Problem::new(Kind::Unauthenticated, "the cluster does not know this token");
        if token.is_empty() || token.len() > MAX_TOKEN_BYTES {
            return Err(refused());
        }
        if let Some(known) = self.known(token) {
            return known.ok_or_else(refused);
        }
        let caller = review::token(&self.client, token).await?;
        let life_ms = if caller.is_some() { TOKEN_LIFE_MS } else { REFUSED_LIFE_MS };
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.put(fingerprint(token), caller.clone(), self.now_ms(), life_ms);
        drop(tokens);
        caller.ok_or_else(refused)
    }

    /// Whether somebody may.
    pub async fn may(&self, caller: &Caller, access: &Access) -> Result<bool, Problem> {
        let key = (caller.fingerprint(), access.clone());
        let known = self.rights.lock().unwrap_or_else(PoisonError::into_inner).get(&key, self.now_ms()).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let allowed = review::access(&self.client, caller, access).await?;
        let mut rights = self.rights.lock().unwrap_or_else(PoisonError::into_inner);
        rights.put(key, allowed, self.now_ms(), RIGHT_LIFE_MS);
        Ok(allowed)
    }

    /// Refuses what somebody may not.
    pub async fn authorize(&self, caller: &Caller, access: &Access) -> Result<(), Problem> {
        if self.may(caller, access).await? {
            return Ok(());
        }
        Err(Problem::new(Kind::Forbidden, format!("`{}` may not {access}", caller.name)))
    }
}

/// Neither tokens nor rights are shown.
impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth").finish_non_exhaustive()
    }
}

/// The token of a request. Another scheme than `Bearer` is none.
pub fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let missing = || Problem::new(Kind::Unauthenticated, "the request has no bearer token");
    let header = headers.get(AUTHORIZATION).ok_or_else(missing)?;
    let (scheme, token) = header.to_str().ok().and_then(|text| text.trim().split_once(' ')).ok_or_else(missing)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(missing()) }
}

fn fingerprint(text: &str) -> Digest {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    bytes
}

#[cfg(test)]
mod tests;
