//! Credentials at rest.
//!
//! A sealed credential is `swb1:<key id>:<base64 of nonce, ciphertext and tag>`: AES-256-GCM, with the key's id, the table, the
//! column and the row's key as associated data, so that a credential moved to another row, column or key id does not open.
//!
//! # Caveats
//! What stands in the database in clear is read as it is: the original writes it so, and `migrate` seals it. Whoever may write to
//! the database can therefore put a credential of their own in a sealed one's place. They cannot read the sealed one.

mod trial;

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

use crate::key::Key;
use crate::secret::Secret;

pub(crate) use trial::Trial;

/// Begins what is sealed.
const SEALED: &str = "swb1:";

/// Begins what is in clear and would otherwise look like a mark of ours.
const CLEAR: &str = "swb0:";

/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// The most keys that can be given; each but the first is one that credentials are being moved away from.
const MAX_KEYS: usize = 16;

/// The longest id of a key.
const MAX_ID_CHARS: usize = 32;

/// How credentials are kept: in clear, or sealed with the first of some keys.
pub struct Sealing {
    current: Option<String>,
    keys: BTreeMap<String, LessSafeKey>,
}

/// Where a credential stands.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The table.
    pub table: &'a str,
    /// The column.
    pub column: &'a str,
    /// The row.
    pub key: &'a Key,
}

/// Why a credential could not be sealed or opened, or keys not be read. None of them repeats a key or a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// A line of keys is not `id:base64`.
    #[error("could not read key {0}: it is not `ID:` and 32 bytes as base64")]
    BadKey(usize),
    /// No key at all.
    #[error("could not find a key: there is no line `ID:BASE64`")]
    NoKey,
    /// Too many keys.
    #[error("could not take more than {MAX_KEYS} keys")]
    TooManyKeys,
    /// Two keys of one id.
    #[error("could not tell two keys apart: both have the id `{0}`")]
    SameId(String),
    /// A credential was sealed with a key that is not among ours.
    #[error("could not open `{column}` of `{table}` {row}: it is sealed with key `{id}`, which was not given")]
    UnknownKey {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row.
        row: String,
        /// The key it needs.
        id: String,
    },
    /// A credential does not open: it was changed, moved here from elsewhere, or the key is another one of the same id.
    #[error("could not open `{column}` of `{table}` {row}: it was not sealed there with that key")]
    Refused {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The row.
        row: String,
    },
    /// The system gave no random bytes.
    #[error("could not get random bytes from the system")]
    NoRandomness,
}

impl Sealing {
    /// Credentials are kept in clear. What was sealed cannot be read.
    pub fn plain() -> Sealing {
        Sealing { current: None, keys: BTreeMap::new() }
    }

    /// Credentials are sealed with the first key; the others open what was sealed earlier.
    ///
    /// One key a line, `ID:BASE64`; empty lines and lines that begin with `#` are left out.
    pub fn with_keys(text: &str) -> Result<Sealing, SealError> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut sealing = Sealing::plain();
        for (at, line) in lines.enumerate() {
            if at == MAX_KEYS {
                return Err(SealError::TooManyKeys);
            }
            let (id, key) = parse(line).ok_or(SealError::BadKey(at + 1))?;
            if sealing.keys.insert(id.clone(), key).is_some() {
                return Err(SealError::SameId(id));
            }
            sealing.current.get_or_insert(id);
        }
        if sealing.current.is_some() { Ok(sealing) } else { Err(SealError::NoKey) }
    }

    /// The same keys for opening, but credentials are kept in clear from now on.
    pub fn into_plain(mut self) -> Sealing {
        self.current = None;
        self
    }

    /// Whether a stored text is as these keys would store it now.
    pub fn is_current(&self, stored: &str) -> bool {
        match &self.current {
            None => !stored.starts_with(SEALED),
            Some(id) => {
                stored.strip_prefix(SEALED).and_then(|rest| rest.split_once(':')).is_some_and(|(of, _)| of == id)
            }
        }
    }

    /// The text to store for a credential.
    pub fn seal(&self, secret: &Secret, place: Place<'_>) -> Result<String, SealError> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| SealError::NoRandomness)?;
        Ok(self.seal_with(secret, place, nonce))
    }

    fn seal_with(&self, secret: &Secret, place: Place<'_>, nonce: [u8; NONCE_LEN]) -> String {
        let text = secret.expose();
        let Some((id, key)) = self.current.as_ref().and_then(|id| Some((id, self.keys.get(id)?))) else {
            let marked = text.starts_with(SEALED) || text.starts_with(CLEAR);
            return if marked { format!("{CLEAR}{text}") } else { text.to_string() };
        };
        let mut sealed = text.as_bytes().to_vec();
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(place.bound_to(id)), &mut sealed)
            .expect("a credential is shorter than what AES-GCM takes");
        let mut bytes = nonce.to_vec();
        bytes.append(&mut sealed);
        format!("{SEALED}{id}:{}", STANDARD.encode(bytes))
    }

    /// The credential of a stored text.
    pub fn open(&self, stored: &str, place: Place<'_>) -> Result<Secret, SealError> {
        if let Some(text) = stored.strip_prefix(CLEAR) {
            return Ok(Secret::from(text));
        }
        let Some(rest) = stored.strip_prefix(SEALED) else { return Ok(Secret::from(stored)) };
        let (id, encoded) = rest.split_once(':').ok_or_else(|| place.refused())?;
        let key = self.keys.get(id).ok_or_else(|| place.unknown(id))?;
        let mut bytes = STANDARD.decode(encoded).map_err(|_| place.refused())?;
        if bytes.len() < NONCE_LEN {
            return Err(place.refused());
        }
        let mut sealed = bytes.split_off(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(&bytes).map_err(|_| place.refused())?;
        let opened =
            key.open_in_place(nonce, Aad::from(place.bound_to(id)), &mut sealed).map_err(|_| place.refused())?;
        let text = std::str::from_utf8(opened).map_err(|_| place.refused())?;
        Ok(Secret::from(text))
    }
}

impl fmt::Debug for Sealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<&String> = self.keys.keys().collect();
        f.debug_struct("Sealing").field("current", &self.current).field("keys", &ids).finish()
    }
}

impl Place<'_> {
    /// Each part with its length before it: no two places give the same bytes.
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
