//! Go's `%q`. Error texts quote values with it; it differs from JSON's quoting for control and unusual characters.

use std::fmt::Write as _;

/// Returns `text` in double quotes, escaped like Go's `strconv.Quote`.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        push_escaped(&mut out, c);
    }
    out.push('"');
    out
}

/// Quotes like Go's `time`: every byte that is not printable ASCII becomes `\x..`.
pub fn quote_for_time(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..0x80 => out.push(char::from(byte)),
            _ => write!(out, "\\x{byte:02x}").expect("writing to a String cannot fail"),
        }
    }
    out + "\""
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        c if (c as u32) < 0x20 || c as u32 == 0x7f => push_hex(out, "\\x", c, 2),
        c if is_printable(c) => out.push(c),
        c if (c as u32) < 0x10000 => push_hex(out, "\\u", c, 4),
        c => push_hex(out, "\\U", c, 8),
    }
}

fn push_hex(out: &mut String, prefix: &str, c: char, width: usize) {
    write!(out, "{prefix}{:0width$x}", c as u32).expect("writing to a String cannot fail");
}

/// Whether a character stays unescaped in quotes, like Go's `strconv.IsPrint`.
// Rust's Debug leaves the same characters unescaped as Go's IsPrint (letters, marks, numbers, punctuation, symbols,
// ASCII space), except for combining marks at the start of a string, which Go leaves.
pub fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~') || c.escape_debug().len() == 1 || is_combining(c)
}

fn is_combining(c: char) -> bool {
    matches!(c as u32, 0x300..=0x36f | 0x483..=0x489 | 0x591..=0x5bd | 0x610..=0x61a | 0x64b..=0x65f | 0x1ab0..=0x1aff
        | 0x1dc0..=0x1dff | 0x20d0..=0x20f0 | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f)
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn quotes_as_go_does() {
        assert_eq!(quote("a b"), r#""a b""#);
        assert_eq!(quote("it's"), r#""it's""#);
        assert_eq!(quote("\"\\\n\u{0}\u{7f}"), r#""\"\\\n\x00\x7f""#);
        assert_eq!(quote("häé日本"), "\"häé日本\"");
        assert_eq!(quote("\u{200b}\u{e000}\u{10ffff}"), r#""\u200b\ue000\U0010ffff""#);
        assert_eq!(quote("\u{301}x"), "\"\u{301}x\"");
    }
}
