//! Go's quoting: `strconv.Quote` and its relatives, also for text that is not UTF-8. Error texts quote values with it; it
//! differs from JSON's quoting for control and unusual characters.

use std::fmt::Write as _;

/// Quotes like Go's `strconv.Quote`, and `%q`.
pub fn quote(text: &str) -> String {
    quote_bytes(text.as_bytes())
}

/// Quotes like Go's `strconv.Quote`, with each byte that is not UTF-8 as `\x..`.
pub fn quote_bytes(text: &[u8]) -> String {
    quote_with(text, false)
}

/// Quotes like Go's `strconv.QuoteToASCII`.
pub fn quote_to_ascii(text: &[u8]) -> String {
    quote_with(text, true)
}

/// Quotes a character like Go's `strconv.QuoteRune` and `strconv.QuoteRuneToASCII`.
pub fn quote_rune(c: char, ascii: bool) -> String {
    let mut out = String::from("'");
    push_escaped(&mut out, c, '\'', ascii);
    out.push('\'');
    out
}

/// Quotes like Go's `time`: every byte that is not printable ASCII becomes `\x..`.
pub fn quote_for_time(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..0x80 => out.push(char::from(byte)),
            _ => push_hex(&mut out, "\\x", u32::from(byte), 2),
        }
    }
    out + "\""
}

/// Whether Go's `strconv.CanBackquote` holds: one line, no backquote, no control character except the tab.
pub fn can_backquote(text: &[u8]) -> bool {
    std::str::from_utf8(text)
        .is_ok_and(|text| text.chars().all(|c| !matches!(c, '\u{feff}' | '`' | '\u{7f}') && (c >= ' ' || c == '\t')))
}

/// Whether a character stays unescaped in quotes, like Go's `strconv.IsPrint`.
// Rust's Debug leaves the same characters unescaped as Go's IsPrint (letters, marks, numbers, punctuation, symbols,
// ASCII space), except for combining marks at the start of a string, which Go leaves.
pub fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~') || c.escape_debug().len() == 1 || is_combining(c)
}

fn quote_with(text: &[u8], ascii: bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for chunk in text.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_escaped(&mut out, c, '"', ascii));
        chunk.invalid().iter().for_each(|byte| push_hex(&mut out, "\\x", u32::from(*byte), 2));
    }
    out.push('"');
    out
}

fn push_escaped(out: &mut String, c: char, quote: char, ascii: bool) {
    match c {
        c if c == quote || c == '\\' => out.extend(['\\', c]),
        c if (c.is_ascii() || !ascii) && is_printable(c) => out.push(c),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        c if c < ' ' || c == '\u{7f}' => push_hex(out, "\\x", c.into(), 2),
        c if c < '\u{10000}' => push_hex(out, "\\u", c.into(), 4),
        c => push_hex(out, "\\U", c.into(), 8),
    }
}

fn push_hex(out: &mut String, prefix: &str, code: u32, width: usize) {
    write!(out, "{prefix}{code:0width$x}").expect("writing to a String cannot fail");
}

fn is_combining(c: char) -> bool {
    matches!(c as u32, 0x300..=0x36f | 0x483..=0x489 | 0x591..=0x5bd | 0x610..=0x61a | 0x64b..=0x65f | 0x1ab0..=0x1aff
        | 0x1dc0..=0x1dff | 0x20d0..=0x20f0 | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_go_does() {
        assert_eq!(quote("a b"), r#""a b""#);
        assert_eq!(quote("it's"), r#""it's""#);
        assert_eq!(quote("\"\\\n\u{0}\u{7f}"), r#""\"\\\n\x00\x7f""#);
        assert_eq!(quote("häé日本"), "\"häé日本\"");
        assert_eq!(quote("\u{200b}\u{e000}\u{10ffff}"), r#""\u200b\ue000\U0010ffff""#);
        assert_eq!(quote("\u{301}x"), "\"\u{301}x\"");
        assert_eq!(quote("\u{7}\u{8}\u{c}\r\t\u{b}"), r#""\a\b\f\r\t\v""#);
    }

    #[test]
    fn each_invalid_byte_is_escaped() {
        assert_eq!(
            quote_bytes(b"a\xff\xe2\x98b\xed\xa0\x80\xe2\x98\x83"),
            "\"a\\xff\\xe2\\x98b\\xed\\xa0\\x80\u{2603}\""
        );
        assert_eq!(quote("\u{fffd}"), "\"\u{fffd}\"");
    }

    #[test]
    fn only_ascii_remains() {
        assert_eq!(quote_to_ascii("a\u{e9}\u{1f600}\"".as_bytes()), r#""a\u00e9\U0001f600\"""#);
        assert_eq!(quote_rune('\'', false), r"'\''");
        assert_eq!(quote_rune('"', false), "'\"'");
        assert_eq!([quote_rune('\u{e9}', false), quote_rune('\u{e9}', true)], ["'\u{e9}'", r"'\u00e9'"]);
        assert_eq!(quote_for_time("a\u{e9}\"\n".as_bytes()), r#""a\xc3\xa9\"\x0a""#);
    }

    #[test]
    fn backquotes_hold_one_line() {
        assert!(can_backquote(b"a\tb\"") && can_backquote("é".as_bytes()));
        for text in [&b"`"[..], b"a\nb", b"\x7f", b"\xff", "\u{feff}".as_bytes()] {
            assert!(!can_backquote(text), "{text:?}");
        }
    }
}
