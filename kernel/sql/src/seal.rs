//! Encryption of credentials at rest.
//!
//! A sealed credential is `swb1:<key id>:<base64 of nonce, ciphertext and tag>`: AES-256-GCM, with the key id, the
//! table, the column and the row's key as associated data, so a credential that was copied to another row, column or
//! key id does not open.
//!
//! # Caveats
//! Plaintext credentials are accepted: managed-gitops writes them, and `migrate` seals them. A user with write access
//! to the database can therefore replace a sealed credential by another one, but cannot read the sealed one.

mod key_check;

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

use crate::key::RowKey;
use crate::secret::SecretString;

pub(crate) use key_check::KeyCheck;

/// Prefix of a sealed credential.
const SEALED: &str = "swb1:";

/// Prefix of a plaintext credential that begins with one of these prefixes itself.
const CLEAR: &str = "swb0:";

/// Length of a key in bytes.
const KEY_BYTES: usize = 32;

/// Maximum number of keys. All but the first are keys to rotate away from.
const MAX_KEYS: usize = 16;

/// Maximum length of a key id.
const MAX_ID_CHARS: usize = 32;

/// Seals credentials with the first of its keys, or stores them in plaintext if it has none.
pub struct Sealer {
    current: Option<String>,
    keys: BTreeMap<String, LessSafeKey>,
}

/// Location of a credential in the database.
#[derive(Clone, Copy, Debug)]
pub struct CredentialCell<'a> {
    /// Table of the credential.
    pub table: &'a str,
    /// Column of the credential.
    pub column: &'a str,
    /// Key of the row.
    pub key: &'a RowKey,
}

/// Error of sealing, opening, or reading keys. No variant repeats a key or a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// A line of the keys is not `id:base64`.
    #[error("could not parse key {0}: it is not `ID:` followed by 32 bytes in base64")]
    BadKey(usize),
    /// There is no key.
    #[error("could not read the keys: no line `ID:BASE64`")]
    NoKey,
    /// There are too many keys.
    #[error("could not read the keys: there are more than {MAX_KEYS}")]
    TooManyKeys,
    /// Two keys have the same id.
    #[error("could not read the keys: two keys have the id `{0}`")]
    SameId(String),
    /// A credential is sealed with a key that was not given.
    #[error("could not decrypt `{column}` of `{table}` {row}: key `{id}` is not among the given keys")]
    UnknownKey {
        /// Table of the credential.
        table: String,
        /// Column of the credential.
        column: String,
        /// Key of the row.
        row: String,
        /// Id of the missing key.
        id: String,
    },
    /// A credential does not open: it was altered or copied here, or the key is another one with the same id.
    #[error("could not decrypt `{column}` of `{table}` {row}: it was encrypted with another key or for another row")]
    Refused {
        /// Table of the credential.
        table: String,
        /// Column of the credential.
        column: String,
        /// Key of the row.
        row: String,
    },
    /// The operating system returned no random bytes.
    #[error("could not read random bytes from the system")]
    NoRandomness,
}

impl Sealer {
    /// Returns a sealer without keys: credentials are stored in plaintext, and sealed ones cannot be read.
    pub fn plain() -> Sealer {
        Sealer { current: None, keys: BTreeMap::new() }
    }

    /// Returns a sealer that seals with the first key; the other keys open what was sealed earlier.
    ///
    /// The text has one key per line, `ID:BASE64`; empty lines and lines that begin with `#` are ignored.
    pub fn with_keys(text: &str) -> Result<Sealer, SealError> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut sealer = Sealer::plain();
        for (at, line) in lines.enumerate() {
            if at == MAX_KEYS {
                return Err(SealError::TooManyKeys);
            }
            let (id, key) = parse(line).ok_or(SealError::BadKey(at + 1))?;
            if sealer.keys.insert(id.clone(), key).is_some() {
                return Err(SealError::SameId(id));
            }
            sealer.current.get_or_insert(id);
        }
        if sealer.current.is_some() { Ok(sealer) } else { Err(SealError::NoKey) }
    }

    /// Keeps the keys for opening, but stores credentials in plaintext from now on.
    pub fn into_plain(mut self) -> Sealer {
        self.current = None;
        self
    }

    /// Whether a stored text is in the form in which this sealer would store it.
    pub fn is_current(&self, stored: &str) -> bool {
        match &self.current {
            None => !stored.starts_with(SEALED),
            Some(id) => {
                stored.strip_prefix(SEALED).and_then(|rest| rest.split_once(':')).is_some_and(|(of, _)| of == id)
            }
        }
    }

    /// Returns the text to store for a credential.
    pub fn seal(&self, secret: &SecretString, cell: CredentialCell<'_>) -> Result<String, SealError> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| SealError::NoRandomness)?;
        Ok(self.seal_with(secret, cell, nonce))
    }

    fn seal_with(&self, secret: &SecretString, cell: CredentialCell<'_>, nonce: [u8; NONCE_LEN]) -> String {
        let text = secret.expose();
        let Some((id, key)) = self.current.as_ref().and_then(|id| Some((id, self.keys.get(id)?))) else {
            let marked = text.starts_with(SEALED) || text.starts_with(CLEAR);
            return if marked { format!("{CLEAR}{text}") } else { text.to_string() };
        };
        let mut sealed = text.as_bytes().to_vec();
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(cell.bound_to(id)), &mut sealed)
            .expect("a credential is shorter than the AES-GCM limit");
        let mut bytes = nonce.to_vec();
        bytes.append(&mut sealed);
        format!("{SEALED}{id}:{}", STANDARD.encode(bytes))
    }

    /// Returns the credential of a stored text.
    pub fn open(&self, stored: &str, cell: CredentialCell<'_>) -> Result<SecretString, SealError> {
        if let Some(text) = stored.strip_prefix(CLEAR) {
            return Ok(SecretString::from(text));
        }
        let Some(rest) = stored.strip_prefix(SEALED) else { return Ok(SecretString::from(stored)) };
        let (id, encoded) = rest.split_once(':').ok_or_else(|| cell.refused())?;
        let key = self.keys.get(id).ok_or_else(|| cell.unknown(id))?;
        let mut bytes = STANDARD.decode(encoded).map_err(|_| cell.refused())?;
        if bytes.len() < NONCE_LEN {
            return Err(cell.refused());
        }
        let mut sealed = bytes.split_off(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&bytes).map_err(|_| cell.refused())?;
        let opened = key.open_in_place(nonce, Aad::from(cell.bound_to(id)), &mut sealed).map_err(|_| cell.refused())?;
        let text = std::str::from_utf8(opened).map_err(|_| cell.refused())?;
        Ok(SecretString::from(text))
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<&String> = self.keys.keys().collect();
        f.debug_struct("Sealing").field("current", &self.current).field("keys", &ids).finish()
    }
}

impl CredentialCell<'_> {
    /// Returns the associated data. Each part is preceded by its length, so two locations never give the same bytes.
    fn bound_to(&self, id: &str) -> Vec<u8> {
        let mut bound = Vec::new();
        let parts = [id, self.table, self.column].into_iter().chain(self.key.parts().iter().map(String::as_str));
        for part in parts {
            bound.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bound.extend_from_slice(part.as_bytes());
        }
        bound
    }

    fn refused(&self) -> SealError {
        let (table, column) = (self.table.to_string(), self.column.to_string());
        SealError::Refused { table, column, row: self.key.to_string() }
    }

    fn unknown(&self, id: &str) -> SealError {
        let (table, column) = (self.table.to_string(), self.column.to_string());
        SealError::UnknownKey { table, column, row: self.key.to_string(), id: id.to_string() }
    }
}

fn parse(line: &str) -> Option<(String, LessSafeKey)> {
    let (id, encoded) = line.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if id.is_empty() || id.len() > MAX_ID_CHARS || !id.chars().all(plain) {
        return None;
    }
    let bytes = STANDARD.decode(encoded.trim()).ok().filter(|bytes| bytes.len() == KEY_BYTES)?;
    let key = UnboundKey::new(&AES_256_GCM, &bytes).ok()?;
    Some((id.to_string(), LessSafeKey::new(key)))
}

#[cfg(test)]
mod tests;
