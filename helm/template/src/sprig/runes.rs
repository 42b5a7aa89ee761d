//! Runes of byte strings, and functions of Go's `unicode`.

use std::sync::LazyLock;

use regex::Regex;

/// Rune that Go decodes from an invalid byte.
pub const RUNE_ERROR: char = '\u{fffd}';

/// Returns the first rune and its length. An invalid byte is a `RUNE_ERROR` of length 1.
pub fn first(text: &[u8]) -> Option<(char, usize)> {
    let byte = *text.first()?;
    if byte < 0x80 {
        return Some((char::from(byte), 1));
    }
    for length in 2..=4.min(text.len()) {
        if let Ok(valid) = std::str::from_utf8(&text[..length]) {
            return valid.chars().next().map(|c| (c, length));
        }
    }
    Some((RUNE_ERROR, 1))
}

/// Iterates over the runes with their positions and lengths.
pub fn indexed(text: &[u8]) -> impl Iterator<Item = (usize, char, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (rune, length) = first(&text[at..])?;
        at += length;
        Some((at - length, rune, length))
    })
}

/// Iterates over the runes, like Go's `[]rune(s)`.
pub fn all(text: &[u8]) -> impl Iterator<Item = char> + '_ {
    indexed(text).map(|(_, rune, _)| rune)
}

/// Converts like Go's `strings.ToUpper`.
pub fn upper(text: &[u8]) -> Vec<u8> {
    if text.is_ascii() { text.to_ascii_uppercase() } else { map(text, to_upper) }
}

/// Converts like Go's `strings.ToLower`.
pub fn lower(text: &[u8]) -> Vec<u8> {
    if text.is_ascii() { text.to_ascii_lowercase() } else { map(text, to_lower) }
}

/// Converts like Go's `strings.Map`, for mappings that remove no rune.
pub fn map(text: &[u8], mapping: impl FnMut(char) -> char) -> Vec<u8> {
    all(text).map(mapping).collect::<String>().into_bytes()
}

/// A Unicode class, tested for runes beyond ASCII.
struct UnicodeClass(LazyLock<Regex>);

macro_rules! class {
    ($name:ident, $doc:literal, $pattern:literal, $ascii:expr) => {
        #[doc = $doc]
        pub fn $name(rune: char) -> bool {
            static CLASS: UnicodeClass =
                UnicodeClass(LazyLock::new(|| Regex::new($pattern).expect("the class is constant")));
            if rune.is_ascii() {
                let ascii: fn(&char) -> bool = $ascii;
                return ascii(&rune);
            }
            CLASS.0.is_match(rune.encode_utf8(&mut [0; 4]))
        }
    };
}

class!(is_upper, "Whether the rune has category Lu.", r"^\p{Lu}$", char::is_ascii_uppercase);
class!(is_lower, "Whether the rune has category Ll.", r"^\p{Ll}$", char::is_ascii_lowercase);
class!(is_title, "Whether the rune has category Lt.", r"^\p{Lt}$", |_| false);
class!(is_letter, "Whether the rune has category L.", r"^\pL$", char::is_ascii_alphabetic);
class!(is_number, "Whether the rune has category N.", r"^\pN$", char::is_ascii_digit);
class!(is_digit, "Whether the rune has category Nd.", r"^\p{Nd}$", char::is_ascii_digit);
class!(is_punct, "Whether the rune has category P.", r"^\pP$", |c| c.is_ascii_punctuation()
    && !"$+<=>^`|~".contains(*c));

/// Whether Go's `unicode.IsSpace` holds.
pub fn is_space(rune: char) -> bool {
    rune.is_whitespace()
}

/// Returns the single rune of Unicode's simple case mapping.
fn simple(rune: char, mut full: impl Iterator<Item = char>) -> char {
    match (full.next(), full.next()) {
        (Some(only), None) => only,
        _ => rune,
    }
}

/// Returns Go's `unicode.ToUpper`, which is always a single rune.
pub fn to_upper(rune: char) -> char {
    match rune {
        // Greek with iota subscript: the full mapping expands the iota, the simple one keeps it.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => shifted(rune, 8),
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => shifted(rune, 9),
        _ => simple(rune, rune.to_uppercase()),
    }
}

/// Returns Go's `unicode.ToLower`, which is always a single rune.
pub fn to_lower(rune: char) -> char {
    if rune == '\u{130}' { 'i' } else { simple(rune, rune.to_lowercase()) }
}

/// Returns Go's `unicode.ToTitle`.
pub fn to_title(rune: char) -> char {
    match rune {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        // Georgian has uppercase but no titlecase letters.
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => rune,
        _ => to_upper(rune),
    }
}

fn shifted(rune: char, by: u32) -> char {
    char::from_u32(rune as u32 + by).unwrap_or(rune)
}
