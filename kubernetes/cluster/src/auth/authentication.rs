//! Authentication: from a client certificate, the administrator's static token or a service account token to a
//! [`User`].

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

use super::certificates::ClientCertificateVerifier;
use super::token::{TokenError, TokenKey};
use super::{AUTHENTICATED, MASTERS, User, quoted_list};

/// Key of a user's `extra` that names the credential.
pub const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
/// Attribute of a certificate's subject that carries a uid.
const UID_OID: &str = "1.3.6.1.4.1.57683.2";
/// Paths that need no credentials, with everything below them.
const PUBLIC_PATHS: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];

/// Objects that tokens are bound to. Implemented by the store, and by a map in tests.
pub trait TokenObjects {
    /// Returns an object of a core resource: `serviceaccounts`, `secrets`, `pods`, `nodes`.
    fn object(&self, resource: &str, namespace: &str, name: &str) -> Option<Value>;
}

/// Identity of the client from the TLS connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Peer {
    /// Client without a certificate.
    #[default]
    Unknown,
    /// Client with a certificate of this cluster's authority.
    User(User),
    /// Client with a foreign or expired certificate.
    Untrusted,
}

/// Verified token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatedToken {
    /// User of the token.
    pub user: User,
    /// Requested audiences for which the token is valid.
    pub audiences: Vec<String>,
}

/// Authenticator with the signing key; it reads all other data from the store.
pub struct Authenticator {
    key: TokenKey,
    admin_token: Option<String>,
}

impl Peer {
    /// Verifies the certificate chain of a client. `now` is in seconds since the epoch.
    pub fn from_chain(chain: &[CertificateDer<'_>], verifier: &ClientCertificateVerifier, now: u64) -> Self {
        match chain.first() {
            None => Self::Unknown,
            Some(leaf) if verifier.trusts(chain, now) => certificate_user(leaf).map_or(Self::Untrusted, Self::User),
            Some(_) => Self::Untrusted,
        }
    }
}

/// Returns common name, organizations and uid of a certificate; `None` without a common name.
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
    /// Creates an authenticator that accepts tokens signed with `key`, and the administrator's static token if there is
    /// one.
    pub fn new(key: TokenKey, admin_token: Option<String>) -> Self {
        Self { key, admin_token }
    }

    /// Returns the key that signs service account tokens.
    pub fn key(&self) -> &TokenKey {
        &self.key
    }

    /// Authenticates a request, or returns 401.
    ///
    /// Without credentials only health and version paths are allowed. Invalid credentials are refused even there.
    pub fn authenticate(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
        path: &str,
        objects: &dyn TokenObjects,
        now: Timestamp,
    ) -> Result<User, Status> {
        if let Peer::User(user) = peer {
            return Ok(authenticated(user.clone()));
        }
        match bearer_token(headers) {
            Some(token) => {
                self.authenticate_token(token, &[], objects, now).map(|b| b.user).map_err(|_| Status::unauthorized())
            }
            None if *peer == Peer::Unknown && is_public(path) => Ok(User::anonymous()),
            None => Err(Status::unauthorized()),
        }
    }

    /// Authenticates a token. Empty `audiences` means the API server's own audience. The error is the text of a
    /// TokenReview.
    pub fn authenticate_token(
        &self,
        token: &str,
        audiences: &[String],
        objects: &dyn TokenObjects,
        now: Timestamp,
    ) -> Result<AuthenticatedToken, String> {
        let own = [super::token::ISSUER.to_string()];
        let wanted = if audiences.is_empty() { &own } else { audiences };
        if self.is_admin_token(token) {
            let user = authenticated(User::named(super::certificates::ADMIN).with_group(MASTERS));
            return Ok(AuthenticatedToken { user, audiences: wanted.to_vec() });
        }
        let refused = |why: String| format!("[invalid bearer token, {why}]");
        let claims = match self.key.verify(token) {
            Ok(claims) => claims,
            Err(TokenError::ForeignIssuer) => return Err("invalid bearer token".into()),
            Err(TokenError::Refused(why)) => return Err(refused(why)),
        };
        let given = if claims.aud.is_empty() { &own[..] } else { &claims.aud };
        let audiences: Vec<String> = given.iter().filter(|a| wanted.contains(a)).cloned().collect();
        if audiences.is_empty() {
            let (given, wanted) = (quoted_list(given), quoted_list(wanted));
            return Err(refused(format!("token audiences {given} is invalid for the target audiences {wanted}")));
        }
        let user = service_account::user(&claims, token, objects, now).map_err(refused)?;
        Ok(AuthenticatedToken { user: authenticated(user), audiences })
    }

    fn is_admin_token(&self, token: &str) -> bool {
        // Digests are compared, so that timing reveals nothing about the token.
        let hash = |text: &str| digest(&SHA256, text.as_bytes());
        self.admin_token.as_deref().is_some_and(|admin| hash(admin).as_ref() == hash(token).as_ref())
    }
}

/// Omits the tokens.
impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator").field("key", &self.key).finish_non_exhaustive()
    }
}

fn authenticated(user: User) -> User {
    if user.is_member_of(AUTHENTICATED) { user } else { user.with_group(AUTHENTICATED) }
}

/// Whether the path needs no credentials.
pub fn is_public(path: &str) -> bool {
    PUBLIC_PATHS.iter().any(|open| path.strip_prefix(open).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Returns the token of an `Authorization: Bearer` header. Other schemes are ignored.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?.trim();
    let mut parts = header.splitn(3, ' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests;
