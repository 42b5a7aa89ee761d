//! Go strings: bytes, mostly UTF-8.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// Maximum length of a string stored inline, without an allocation. With this length, a [`crate::Value`] has 24 bytes.
const INLINE_BYTES: usize = 22;

/// A Go string: immutable bytes that need not be UTF-8, cheap to clone.
#[derive(Clone)]
pub struct Str(Repr);

#[derive(Clone)]
enum Repr {
    Inline(u8, [u8; INLINE_BYTES]),
    Shared(Arc<[u8]>),
}

impl Str {
    /// The empty string.
    pub const EMPTY: Str = Str(Repr::Inline(0, [0; INLINE_BYTES]));

    /// Creates a string from a copy of these bytes.
    pub fn new(bytes: impl AsRef<[u8]>) -> Str {
        let bytes = bytes.as_ref();
        if bytes.len() > INLINE_BYTES {
            return Str(Repr::Shared(Arc::from(bytes)));
        }
        let mut inline = [0; INLINE_BYTES];
        inline[..bytes.len()].copy_from_slice(bytes);
        Str(Repr::Inline(bytes.len() as u8, inline))
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline(length, bytes) => &bytes[..usize::from(*length)],
            Repr::Shared(bytes) => bytes,
        }
    }

    /// Returns the bytes of memory that only this reference owns, which is the memory allocated for a new string.
    pub(crate) fn own_bytes(&self) -> usize {
        match &self.0 {
            Repr::Shared(bytes) if Arc::strong_count(bytes) == 1 => bytes.len(),
            _ => 0,
        }
    }

    /// Returns the text with invalid UTF-8 replaced by U+FFFD.
    pub fn to_text(&self) -> Cow<'_, str> {
        // Validation is several times cheaper than replacement, and nearly all texts are UTF-8.
        match std::str::from_utf8(self.as_bytes()) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(self.as_bytes()),
        }
    }

    /// Returns the text if it is valid UTF-8.
    pub fn as_utf8(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()).ok()
    }
}

impl Default for Str {
    fn default() -> Str {
        Str::EMPTY
    }
}

impl Deref for Str {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsRef<[u8]> for Str {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// Returns the bytes of a short string as two numbers with the same order. Bytes after the end are zero.
#[inline]
fn words(bytes: &[u8; INLINE_BYTES]) -> (u128, u64) {
    const LENGTHS: &str = "a short string is longer than either number";
    let (first, last) = (bytes.first_chunk().expect(LENGTHS), bytes.last_chunk().expect(LENGTHS));
    // The numbers overlap. The overlapping bytes are equal when the second number decides.
    (u128::from_be_bytes(*first), u64::from_be_bytes(*last))
}

impl PartialEq for Str {
    #[inline]
    fn eq(&self, other: &Str) -> bool {
        match (&self.0, &other.0) {
            (Repr::Inline(length, bytes), Repr::Inline(other_length, others)) => {
                length == other_length && words(bytes) == words(others)
            }
            _ => self.as_bytes() == other.as_bytes(),
        }
    }
}

impl Eq for Str {}

impl PartialOrd for Str {
    fn partial_cmp(&self, other: &Str) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Str {
    #[inline]
    fn cmp(&self, other: &Str) -> Ordering {
        match (&self.0, &other.0) {
            // Most strings are names used as keys.
            (Repr::Inline(length, bytes), Repr::Inline(other_length, others)) => {
                words(bytes).cmp(&words(others)).then_with(|| length.cmp(other_length))
            }
            _ => self.as_bytes().cmp(other.as_bytes()),
        }
    }
}

impl Hash for Str {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl PartialEq<str> for Str {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Str {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Str {
        Str::new(text)
    }
}

impl From<String> for Str {
    fn from(text: String) -> Str {
        Str::new(text)
    }
}

impl From<&[u8]> for Str {
    fn from(bytes: &[u8]) -> Str {
        Str::new(bytes)
    }
}

impl From<Vec<u8>> for Str {
    fn from(bytes: Vec<u8>) -> Str {
        Str::new(bytes)
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.to_text(), f)
    }
}
