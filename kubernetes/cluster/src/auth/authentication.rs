//! From credentials to a [`User`]: client certificate, the administrator's static token, service account tokens.

mod service_account;

use std::collections::BTreeMap;
use std::fmt;

use http::HeaderMap;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;
use switchboard_object::Value;
use switchboard_object::status::Status;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::certificates::Verifier;
use super::token::{TokenError, TokenKey};
use super::{AUTHENTICATED, MASTERS, User, quoted_list};

/// Where a user's `extra` names the credential that was used.
pub const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
/// The attribute of a certificate's subject that carries a uid.
const UID_OID: &str = "1.3.6.1.4.1.57683.2";
/// What a request without credentials may ask for, with everything below it.
const PUBLIC_PATHS: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];

/// The objects tokens are bound to. Implemented by the store, and by a map in tests.
pub trait Objects {
    /// The object of a core resource: `serviceaccounts`, `secrets`, `pods`, `nodes`.
    fn object(&self, resource: &str, namespace: &str, name: &str) -> Option<Value>;
}

/// What the connection says about the client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Peer {
    /// It showed no certificate.
    #[default]
    Unknown,
    /// It showed one of ours.
    User(User),
    /// It showed one that is not ours, or no longer valid.
    Refused,
}

/// A token that was believed: whose it is, and for which of the asked audiences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// Whose token it is.
    pub user: User,
    /// The audiences it was asked for and is good for.
    pub audiences: Vec<String>,
}

/// Knows the keys; asks the store for the rest.
pub struct Authenticator {
    key: TokenKey,
    admin_token: Option<String>,
}

impl Peer {
    /// Judges the chain a client showed. `now` in seconds since the epoch.
    pub fn from_chain(chain: &[CertificateDer<'_>], verifier: &Verifier, now: u64) -> Self {
        match chain.first() {
            None => Self::Unknown,
            Some(leaf) if verifier.trusts(chain, now) => certificate_user(leaf).map_or(Self::Refused, Self::User),
            Some(_) => Self::Refused,
        }
    }
}

/// Common name, organisations and uid of a certificate. `None` without a common name.
fn certificate_user(leaf: &CertificateDer<'_>) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(leaf).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok().filter(|name| !name.is_empty())?;
    let mut uids = subject.iter_attributes().filter(|a| a.attr_type().to_id_string() == UID_OID);
    let uid = match (uids.next(), uids.next()) {
        (None, _) => String::new(),
        (Some(uid), None) => uid.as_str().ok().filter(|uid| !uid.is_empty())?.to_string(),
        _ => return None,
    };
    let fingerprint: String = digest(&SHA256, leaf).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(User {
        name: name.to_string(),
        uid,
        groups: subject.iter_organization().filter_map(|o| o.as_str().ok()).map(str::to_string).collect(),
        extra: BTreeMap::from([(CREDENTIAL_ID.to_string(), vec![format!("X509SHA256={fingerprint}")])]),
    })
}

impl Authenticator {
    /// Believes tokens signed with `key`, and the administrator's static token when there is one.
    pub fn new(key: TokenKey, admin_token: Option<String>) -> Self {
        Self { key, admin_token }
    }

    /// The key that signs service account tokens.
    pub fn key(&self) -> &TokenKey {
        &self.key
    }

    /// Who makes the request, or 401.
    ///
    /// Without any credentials only health and version are open; wrong credentials are refused even there.
    pub fn authenticate(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
        path: &str,
        objects: &dyn Objects,
        now: Timestamp,
    ) -> Result<User, Status> {
        if let Peer::User(user) = peer {
            return Ok(authenticated(user.clone()));
        }
        match bearer_token(headers) {
            Some(token) => self.bearer(token, &[], objects, now).map(|b| b.user).map_err(|_| Status::unauthorized()),
            None if *peer == Peer::Unknown && is_public(path) => Ok(User::anonymous()),
            None => Err(Status::unauthorized()),
        }
    }

    /// Whose token this is. `audiences` empty means the API server's own. The error is what a TokenReview shows.
    pub fn bearer(
        &self,
        token: &str,
        audiences: &[String],
        objects: &dyn Objects,
        now: Timestamp,
    ) -> Result<Bearer, String> {
        let own = [super::token::ISSUER.to_string()];
        let wanted = if audiences.is_empty() { &own } else { audiences };
        if self.is_admin_token(token) {
            let user = authenticated(User::named(super::certificates::ADMIN).in_group(MASTERS));
            return Ok(Bearer { user, audiences: wanted.to_vec() });
        }
        let refused = |why: String| format!("[invalid bearer token, {why}]");
        let claims = match self.key.verify(token) {
            Ok(claims) => claims,
            Err(TokenError::Foreign) => return Err("invalid bearer token".into()),
            Err(TokenError::Refused(why)) => return Err(refused(why)),
        };
        let given = if claims.aud.is_empty() { &own[..] } else { &claims.aud };
        let audiences: Vec<String> = given.iter().filter(|a| wanted.contains(a)).cloned().collect();
        if audiences.is_empty() {
            let (given, wanted) = (quoted_list(given), quoted_list(wanted));
            return Err(refused(format!("token audiences {given} is invalid for the target audiences {wanted}")));
        }
        let user = service_account::user(&claims, token, objects, now).map_err(refused)?;
        Ok(Bearer { user: authenticated(user), audiences })
    }

    fn is_admin_token(&self, token: &str) -> bool {
        // Digests, so that the time taken tells nothing about the token.
        let hash = |text: &str| digest(&SHA256, text.as_bytes());
        self.admin_token.as_deref().is_some_and(|admin| hash(admin).as_ref() == hash(token).as_ref())
    }
}

/// Tokens stay out of logs.
impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator").field("key", &self.key).finish_non_exhaustive()
    }
}

fn authenticated(user: User) -> User {
    if user.is_in(AUTHENTICATED) { user } else { user.in_group(AUTHENTICATED) }
}

/// The path is open to everyone.
pub fn is_public(path: &str) -> bool {
    PUBLIC_PATHS.iter().any(|open| path.strip_prefix(open).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// The token of an `Authorization: Bearer` header. Other schemes are not ours to judge.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?.trim();
    let mut parts = header.splitn(3, ' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
