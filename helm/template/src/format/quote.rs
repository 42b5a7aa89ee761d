//! Go's quoting of strings and characters, including text that is not UTF-8.

use std::fmt::Write as _;

use crate::rune;

/// Quotes like Go's `strconv.Quote`.
pub fn quote(text: &[u8]) -> String {
    quote_with(text, '"', false)
}

/// Quotes like Go's `strconv.QuoteToASCII`.
pub fn quote_to_ascii(text: &[u8]) -> String {
    quote_with(text, '"', true)
}

/// Quotes like Go's `strconv.QuoteRune` and `strconv.QuoteRuneToASCII`.
pub(super) fn quote_rune(c: char, ascii: bool) -> String {
    let mut out = String::from("'");
    escape(&mut out, c, '\'', ascii);
    out.push('\'');
    out
}

/// Whether Go's `strconv.CanBackquote` holds: one line, no backquote, no control character except the tab.
pub(crate) fn can_backquote(text: &[u8]) -> bool {
    std::str::from_utf8(text)
        .is_ok_and(|text| text.chars().all(|c| !matches!(c, '\u{feff}' | '`' | '\u{7f}') && (c >= ' ' || c == '\t')))
}

fn quote_with(text: &[u8], quote: char, ascii: bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    let mut rest = text;
    while !rest.is_empty() {
        let (c, length) = rune::decode(rest);
        if c == rune::ERROR && length == 1 {
            write!(out, "\\x{:02x}", rest[0]).expect("writing to a String cannot fail");
        } else {
            escape(&mut out, c, quote, ascii);
        }
        rest = &rest[length..];
    }
    out.push(quote);
    out
}

fn escape(out: &mut String, c: char, quote: char, ascii: bool) {
    let code = c as u32;
    let hex = |out: &mut String, prefix: &str, width: usize| {
        write!(out, "{prefix}{code:0width$x}").expect("writing to a String cannot fail");
    };
    match c {
        c if c == quote || c == '\\' => {
            out.push('\\');
            out.push(c);
        }
        c if c.is_ascii() && rune::is_print(c) => out.push(c),
        c if !ascii && rune::is_print(c) => out.push(c),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        _ if code < 0x20 || code == 0x7f => hex(out, "\\x", 2),
        _ if code < 0x10000 => hex(out, "\\u", 4),
        _ => hex(out, "\\U", 8),
    }
}
