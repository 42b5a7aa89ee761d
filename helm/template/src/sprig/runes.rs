//! Runes of byte strings, and Go's `unicode` on them.

use std::sync::LazyLock;

use regex::Regex;

/// What Go reads from a byte that is no UTF-8.
pub const RUNE_ERROR: char = '\u{fffd}';

/// The first rune and its length; a broken byte is one `RUNE_ERROR` of length 1.
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

/// All runes with where they start and how long they are.
pub fn indexed(text: &[u8]) -> impl Iterator<Item = (usize, char, usize)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (rune, length) = first(&text[at..])?;
        at += length;
        Some((at - length, rune, length))
    })
}

/// All runes: Go's `[]rune(s)`.
pub fn all(text: &[u8]) -> impl Iterator<Item = char> + '_ {
    indexed(text).map(|(_, rune, _)| rune)
}

/// Go's `strings.ToUpper`.
pub fn upper(text: &[u8]) -> Vec<u8> {
    if text.is_ascii() { text.to_ascii_uppercase() } else { map(text, to_upper) }
}

/// Go's `strings.ToLower`.
pub fn lower(text: &[u8]) -> Vec<u8> {
    if text.is_ascii() { text.to_ascii_lowercase() } else { map(text, to_lower) }
}

/// Go's `strings.Map`, for mappings that drop nothing.
pub fn map(text: &[u8], mapping: impl FnMut(char) -> char) -> Vec<u8> {
    all(text).map(mapping).collect::<String>().into_bytes()
}

/// One class of Unicode, asked of runes past ASCII.
struct Class(LazyLock<Regex>);

macro_rules! class {
    ($name:ident, $doc:literal, $pattern:literal, $ascii:expr) => {
        #[doc = $doc]
        pub fn $name(rune: char) -> bool {
            static CLASS: Class = Class(LazyLock::new(|| Regex::new($pattern).expect("the class is constant")));
            if rune.is_ascii() {
                let ascii: fn(&char) -> bool = $ascii;
                return ascii(&rune);
            }
            CLASS.0.is_match(rune.encode_utf8(&mut [0; 4]))
        }
    };
}

class!(is_upper, "Category Lu.", r"^\p{Lu}$", char::is_ascii_uppercase);
class!(is_lower, "Category Ll.", r"^\p{Ll}$", char::is_ascii_lowercase);
class!(is_title, "Category Lt.", r"^\p{Lt}$", |_| false);
class!(is_letter, "Category L.", r"^\pL$", char::is_ascii_alphabetic);
class!(is_number, "Category N.", r"^\pN$", char::is_ascii_digit);
class!(is_digit, "Category Nd.", r"^\p{Nd}$", char::is_ascii_digit);
class!(is_punct, "Category P.", r"^\pP$", |c| c.is_ascii_punctuation() && !"$+<=>^`|~".contains(*c));

/// Go's `unicode.IsSpace`.
pub fn is_space(rune: char) -> bool {
    rune.is_whitespace()
}

/// The one rune that Unicode's simple mapping gives.
fn simple(rune: char, mut full: impl Iterator<Item = char>) -> char {
    match (full.next(), full.next()) {
        (Some(only), None) => only,
        _ => rune,
    }
}

/// Go's `unicode.ToUpper`: always one rune.
pub fn to_upper(rune: char) -> char {
    match rune {
        // Greek with iota below: the full mapping writes the iota out, the simple one keeps it.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => shifted(rune, 8),
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => shifted(rune, 9),
        _ => simple(rune, rune.to_uppercase()),
    }
}

/// Go's `unicode.ToLower`: always one rune.
pub fn to_lower(rune: char) -> char {
    if rune == '\u{130}' { 'i' } else { simple(rune, rune.to_lowercase()) }
}

/// Go's `unicode.ToTitle`.
pub fn to_title(rune: char) -> char {
    match rune {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        // Georgian has capitals, but no titles.
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => rune,
        _ => to_upper(rune),
    }
}

fn shifted(rune: char, by: u32) -> char {
    char::from_u32(rune as u32 + by).unwrap_or(rune)
}
