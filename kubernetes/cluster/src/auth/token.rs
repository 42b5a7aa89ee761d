//! Service account tokens: JSON Web Tokens signed with the cluster's own key (ES256).
//!
//! [`TokenClaims`] is the content of a token. [`TokenKey::verify`] checks the signature; [`super::authentication`] checks
//! the time, the audience, and whether the bound objects still exist.

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

/// Issuer of the tokens, and their default audience.
pub const ISSUER: &str = "https://kubernetes.default.svc";
/// Issuer of the tokens stored in Secrets.
pub const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";
/// Longer tokens are refused without parsing.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// File in the data directory.
const FILE: &str = "service-account.key";
/// Bytes before the 65 bytes of a P-256 point in a SubjectPublicKeyInfo.
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Error of the signing key.
#[derive(Debug, thiserror::Error)]
pub enum TokenKeyError {
    /// Creation of the key failed.
    #[error("could not create the service account key")]
    Make,
    /// Signing a token failed.
    #[error("could not sign a token")]
    Sign,
    /// Reading or writing the file failed.
    #[error("could not read or write service account key {path}")]
    File {
        /// File.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// Unexpected content of the file. The file is not replaced, because that would silently revoke every token.
    #[error(
        "{path} does not hold a P-256 key in PKCS #8\nhint: restore the file from a backup; if you delete it, a new key is created and every token becomes invalid"
    )]
    Damaged {
        /// File.
        path: PathBuf,
    },
}

/// Claims of a token.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenClaims {
    /// Audiences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aud: Vec<String>,
    /// Expiry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exp: Option<i64>,
    /// Time of issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iat: Option<i64>,
    /// Issuer.
    pub iss: String,
    /// Id of the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jti: Option<String>,
    /// Service account and bound objects.
    #[serde(rename = "kubernetes.io", default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<TokenBinding>,
    /// Namespace, of a token stored in a Secret.
    #[serde(rename = "kubernetes.io/serviceaccount/namespace", default, skip_serializing_if = "Option::is_none")]
    pub legacy_namespace: Option<String>,
    /// Secret that stores the token.
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name", default, skip_serializing_if = "Option::is_none")]
    pub legacy_secret: Option<String>,
    /// Service account, of a token stored in a Secret.
    #[serde(
        rename = "kubernetes.io/serviceaccount/service-account.name",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub legacy_name: Option<String>,
    /// Uid of the service account, of a token stored in a Secret.
    #[serde(
        rename = "kubernetes.io/serviceaccount/service-account.uid",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub legacy_uid: Option<String>,
    /// Start of validity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    /// User name.
    pub sub: String,
}

/// Objects a token is bound to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenBinding {
    /// Namespace of the service account.
    pub namespace: String,
    /// Node, for tokens of pods and nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<BoundObject>,
    /// Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<BoundObject>,
    /// Secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<BoundObject>,
    /// Service account.
    pub serviceaccount: BoundObject,
    /// Time after which the token is still valid, but its use is logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnafter: Option<i64>,
}

/// Name of an object together with its uid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoundObject {
    /// Name of the object.
    pub name: String,
    /// Uid of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// Reason for which a token is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Token of another issuer.
    #[error("not a token of this cluster")]
    ForeignIssuer,
    /// Token of this cluster's issuer that is not signed with this key.
    #[error("{0}")]
    Refused(String),
}

/// Key that signs tokens.
pub struct TokenKey {
    pair: EcdsaKeyPair,
    id: String,
}

#[derive(Serialize, Deserialize)]
struct JwtHeader {
    alg: String,
    #[serde(default)]
    kid: String,
}

impl TokenKey {
    /// Creates a key in memory.
    pub fn ephemeral() -> Result<Self, TokenKeyError> {
        Self::from_pkcs8(&new_pkcs8()?).ok_or(TokenKeyError::Make)
    }

    /// Returns the key in `directory`, created if there is none.
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

    /// Returns the public key as a JSON Web Key, for verifying tokens.
    pub fn public_key(&self) -> Value {
        // Uncompressed point: a tag byte, then both coordinates.
        let point = &self.pair.public_key().as_ref()[1..];
        let (x, y) = point.split_at(point.len() / 2);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        json!({"use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": "ES256", "x": x, "y": y})
    }

    /// Signs a token with these claims.
    pub fn sign(&self, claims: &TokenClaims) -> Result<String, TokenKeyError> {
        let header = JwtHeader { alg: "ES256".into(), kid: self.id.clone() };
        let header = serde_json::to_vec(&header).map_err(|_| TokenKeyError::Sign)?;
        let claims = serde_json::to_vec(claims).map_err(|_| TokenKeyError::Sign)?;
        let mut token = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = self.pair.sign(&SystemRandom::new(), token.as_bytes()).map_err(|_| TokenKeyError::Sign)?;
        token.push('.');
        token.push_str(&URL_SAFE_NO_PAD.encode(signature));
        Ok(token)
    }

    /// Returns the claims of a token that this key signed.
    pub fn verify(&self, token: &str) -> Result<TokenClaims, TokenError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::ForeignIssuer);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::ForeignIssuer)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenError::ForeignIssuer)?;
        let claims: TokenClaims = part(payload)?;
        if claims.iss != ISSUER && claims.iss != LEGACY_ISSUER {
            return Err(TokenError::ForeignIssuer);
        }
        let header: JwtHeader = part(header)?;
        if !header.kid.is_empty() && header.kid != self.id {
            return Err(TokenError::Refused("invalid signature, no keys found".into()));
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenError::ForeignIssuer)?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key().as_ref());
        // The server chooses the algorithm, never the token.
        let ours = header.alg == "ES256" && key.verify(signed.as_bytes(), &signature).is_ok();
        if ours { Ok(claims) } else { Err(TokenError::Refused(BAD_SIGNATURE.into())) }
    }
}

const BAD_SIGNATURE: &str = "go-jose/go-jose: error in cryptographic primitive";

/// Omits the key.
impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKey").field("id", &self.id).field("key", &"<secret>").finish()
    }
}

/// Returns 256 random bits as text: the administrator's static token.
pub fn random_token() -> Result<String, TokenKeyError> {
    let mut bytes = [0u8; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| TokenKeyError::Make)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn part<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, TokenError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::ForeignIssuer)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenError::ForeignIssuer)
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
