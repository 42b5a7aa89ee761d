//! Go's runes: UTF-8 in which every invalid byte decodes to an error rune, and Go's character classes.

use std::sync::OnceLock;

use switchboard_object::quote::is_printable;

/// Replacement for a byte that is not UTF-8.
pub const ERROR: char = '\u{fffd}';

/// Returns the first rune and its length in bytes: `(ERROR, 1)` for an invalid byte, `(ERROR, 0)` at the end.
pub fn decode(bytes: &[u8]) -> (char, usize) {
    let Some(first) = bytes.first() else { return (ERROR, 0) };
    let length = match first {
        0..=0x7f => return (char::from(*first), 1),
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return (ERROR, 1),
    };
    let text = bytes.get(..length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.and_then(|text| text.chars().next()).map_or((ERROR, 1), |c| (c, length))
}

/// Returns the last rune and its length in bytes.
pub fn decode_last(bytes: &[u8]) -> (char, usize) {
    let from = bytes.len().saturating_sub(4);
    for start in (from..bytes.len()).rev() {
        let (c, length) = decode(&bytes[start..]);
        if start + length == bytes.len() && length > 1 || bytes[start].is_ascii() && start + 1 == bytes.len() {
            return (c, length);
        }
        if bytes[start].is_ascii() {
            break;
        }
    }
    (ERROR, bytes.len().min(1))
}

/// Iterates over the runes and their positions, like Go's `range` over a string.
pub fn runes(bytes: &[u8]) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut position = 0;
    std::iter::from_fn(move || {
        if position >= bytes.len() {
            return None;
        }
        let (c, length) = decode(&bytes[position..]);
        position += length;
        Some((position - length, c))
    })
}

/// Returns the number of runes.
pub fn count(bytes: &[u8]) -> usize {
    if bytes.is_ascii() { bytes.len() } else { runes(bytes).count() }
}

/// Appends a rune in UTF-8.
pub fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Whether Go's `unicode.IsLetter` holds.
pub fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { c.is_alphabetic() && !is_mark_or_number(c) }
}

/// Whether Go's `unicode.IsDigit` holds: decimal digits of any script.
pub fn is_digit(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { c.is_numeric() && decimal(c) }
}

/// Whether Go's `strconv.IsPrint` holds.
pub fn is_print(c: char) -> bool {
    is_printable(c)
}

// Whether a character is alphabetic in Unicode but not a letter in Go: marks, and numbers that are letters (Roman
// numerals).
fn is_mark_or_number(c: char) -> bool {
    static CLASS: OnceLock<Option<regex::Regex>> = OnceLock::new();
    matches(&CLASS, r"^[\p{M}\p{N}\p{So}]$", c)
}

fn decimal(c: char) -> bool {
    static CLASS: OnceLock<Option<regex::Regex>> = OnceLock::new();
    matches(&CLASS, r"^\p{Nd}$", c)
}

fn matches(class: &'static OnceLock<Option<regex::Regex>>, pattern: &str, c: char) -> bool {
    let class = class.get_or_init(|| regex::Regex::new(pattern).ok());
    class.as_ref().is_some_and(|class| class.is_match(c.encode_utf8(&mut [0; 4])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_invalid_byte_is_one_error_rune() {
        let found: Vec<(usize, char)> = runes(b"a\xff\xe2\x98\xe2\x98\x83\xc0\x80").collect();
        let errors = [(0, 'a'), (1, ERROR), (2, ERROR), (3, ERROR), (4, '\u{2603}'), (7, ERROR), (8, ERROR)];
        assert_eq!(found, errors);
        assert_eq!(decode(b""), (ERROR, 0));
        for (text, last) in
            [("x", ('x', 1)), ("a\u{2603}", ('\u{2603}', 3)), ("\u{fc}", ('\u{fc}', 2)), ("", (ERROR, 0))]
        {
            assert_eq!(decode_last(text.as_bytes()), last);
        }
        assert_eq!(decode_last(b"a\x98"), (ERROR, 1));
        assert_eq!(decode_last(b"\xe2\x98"), (ERROR, 1));
    }

    #[test]
    fn classes_match_go() {
        assert!(is_letter('é') && is_letter('日') && !is_letter('Ⅷ') && !is_letter('\u{301}') && !is_letter('1'));
        assert!(is_digit('٣') && !is_digit('½') && !is_digit('Ⅷ'));
    }
}
