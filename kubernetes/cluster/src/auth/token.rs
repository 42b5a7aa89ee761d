//! Service account tokens: JSON Web Tokens signed with the cluster's own key (ES256).
//!
//! What a token says is [`Claims`]; whether it is believed is decided by [`TokenKey::verify`] (signature) and by
//! [`super::authentication`] (time, audience, and whether the objects it is bound to still live).

use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::certificates::write_private;

/// Who issues our tokens, and the audience they are for unless another is asked for.
pub const ISSUER: &str = "https://kubernetes.default.svc";
/// Who issues the tokens kept in Secrets.
pub const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";
/// A longer token is refused unread.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// The file in the data directory.
const FILE: &str = "service-account.key";
/// What stands before the 65 bytes of a P-256 point in a SubjectPublicKeyInfo.
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// What can go wrong with the key.
#[derive(Debug, thiserror::Error)]
pub enum TokenKeyError {
    /// The key could not be made.
    #[error("could not make the service account key")]
    Make,
    /// The token could not be signed.
    #[error("could not sign a token")]
    Sign,
    /// The file could not be read or written.
    #[error("could not keep the service account key in {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file holds something else. It is not replaced: that would revoke every token silently.
    #[error("{path} does not hold a P-256 key in PKCS #8\nhint: removing it makes a new key and revokes every token")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

/// What a token says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Claims {
    /// Whom it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aud: Vec<String>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exp: Option<i64>,
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iat: Option<i64>,
    /// Who made it.
    pub iss: String,
    /// Its own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jti: Option<String>,
    /// The service account and what the token is bound to.
    #[serde(rename = "kubernetes.io", default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Binding>,
    /// Namespace, of a token kept in a Secret.
    #[serde(rename = "kubernetes.io/serviceaccount/namespace", default, skip_serializing_if = "Option::is_none")]
    pub legacy_namespace: Option<String>,
    /// The Secret that keeps the token.
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name", default, skip_serializing_if = "Option::is_none")]
    pub legacy_secret: Option<String>,
    /// The service account, of a token kept in a Secret.
    #[serde(
        rename = "kubernetes.io/serviceaccount/service-account.name",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub legacy_name: Option<String>,
    /// The service account's uid, of a token kept in a Secret.
    #[serde(
        rename = "kubernetes.io/serviceaccount/service-account.uid",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub legacy_uid: Option<String>,
    /// Not before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    /// The user name.
    pub sub: String,
}

/// The objects a token depends on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// The service account's namespace.
    pub namespace: String,
    /// The node, for tokens of pods and nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Reference>,
    /// The pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Reference>,
    /// The Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Reference>,
    /// The service account.
    pub serviceaccount: Reference,
    /// After this time the token still works, but its use is remarked upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnafter: Option<i64>,
}

/// A name that is only meant together with its uid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// The object's name.
    pub name: String,
    /// The object's uid.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// Why a token is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not one of ours at all.
    #[error("not a token of this cluster")]
    Foreign,
    /// Ours by its issuer, but not signed with our key.
    #[error("{0}")]
    Refused(String),
}

/// The key that signs tokens.
pub struct TokenKey {
    pair: EcdsaKeyPair,
    id: String,
}

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: String,
}

impl TokenKey {
    /// A key that is kept nowhere.
    pub fn ephemeral() -> Result<Self, TokenKeyError> {
        Self::from_pkcs8(&new_pkcs8()?).ok_or(TokenKeyError::Make)
    }

    /// The key kept in `directory`, made when there is none.
    pub fn in_directory(directory: &Path) -> Result<Self, TokenKeyError> {
        let path = directory.join(FILE);
        let failed = |source| TokenKeyError::File { path: path.clone(), source };
        match std::fs::read_to_string(&path) {
            Ok(text) => decode_pem(&text).and_then(|der| Self::from_pkcs8(&der)).ok_or(TokenKeyError::Damaged { path }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let der = new_pkcs8()?;
                write_private(&path, encode_pem(&der).as_bytes()).map_err(failed)?;
                Self::from_pkcs8(&der).ok_or(TokenKeyError::Make)
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn from_pkcs8(der: &[u8]) -> Option<Self> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new()).ok()?;
        let mut spki = P256_PREFIX.to_vec();
        spki.extend_from_slice(pair.public_key().as_ref());
        let id = URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, &spki));
        Some(Self { pair, id })
    }

    /// The public half, as a JSON Web Key: what others verify our tokens with.
    pub fn public_key(&self) -> Value {
        // An uncompressed point: a mark, then both coordinates.
        let point = &self.pair.public_key().as_ref()[1..];
        let (x, y) = point.split_at(point.len() / 2);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        json!({"use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": "ES256", "x": x, "y": y})
    }

    /// The token for these claims.
    pub fn sign(&self, claims: &Claims) -> Result<String, TokenKeyError> {
        let header = Header { alg: "ES256".into(), kid: self.id.clone() };
        let header = serde_json::to_vec(&header).map_err(|_| TokenKeyError::Sign)?;
        let claims = serde_json::to_vec(claims).map_err(|_| TokenKeyError::Sign)?;
        let mut token = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = self.pair.sign(&SystemRandom::new(), token.as_bytes()).map_err(|_| TokenKeyError::Sign)?;
        token.push('.');
        token.push_str(&URL_SAFE_NO_PAD.encode(signature));
        Ok(token)
    }

    /// What the token says, when this key signed it.
    pub fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::Foreign);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Foreign)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenError::Foreign)?;
        let claims: Claims = part(payload)?;
        if claims.iss != ISSUER && claims.iss != LEGACY_ISSUER {
            return Err(TokenError::Foreign);
        }
        let header: Header = part(header)?;
        if !header.kid.is_empty() && header.kid != self.id {
            return Err(TokenError::Refused("invalid signature, no keys found".into()));
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenError::Foreign)?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key().as_ref());
        // The algorithm is ours to choose, never the token's.
        let ours = header.alg == "ES256" && key.verify(signed.as_bytes(), &signature).is_ok();
        if ours { Ok(claims) } else { Err(TokenError::Refused(BAD_SIGNATURE.into())) }
    }
}

const BAD_SIGNATURE: &str = "go-jose/go-jose: error in cryptographic primitive";

/// Keys stay out of logs.
impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKey").field("id", &self.id).field("key", &"<secret>").finish()
    }
}

/// 256 random bits as text: the administrator's static token.
pub fn random_token() -> Result<String, TokenKeyError> {
    let mut bytes = [0u8; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| TokenKeyError::Make)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn part<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, TokenError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Foreign)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenError::Foreign)
}

fn new_pkcs8() -> Result<Vec<u8>, TokenKeyError> {
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    Ok(document.map_err(|_| TokenKeyError::Make)?.as_ref().to_vec())
}

fn encode_pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = (0..text.len()).step_by(64).map(|at| &text[at..text.len().min(at + 64)]).collect();
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"))
}

fn decode_pem(text: &str) -> Option<Vec<u8>> {
    let body: String = text.lines().filter(|line| !line.starts_with("-----")).map(str::trim).collect();
    STANDARD.decode(body).ok()
}

#[cfg(test)]
mod tests;
