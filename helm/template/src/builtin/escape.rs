//! `html`, `js` and `urlquery`.

use std::fmt::Write as _;

use crate::rune;
use crate::value::Str;

/// Escapes text like Go's `template.HTMLEscapeString`.
pub(super) fn html(text: Str) -> Str {
    if !text.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'&' | b'<' | b'>' | 0)) {
        return text;
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    for byte in text.iter() {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            byte => out.push(*byte),
        }
    }
    out.into()
}

/// Escapes text like Go's `template.JSEscapeString`.
pub(super) fn js(text: &[u8]) -> Str {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(first) = rest.first() {
        let (c, length) = rune::decode(rest);
        let escaped = match c {
            '\\' => "\\\\".to_string(),
            '\'' => "\\'".to_string(),
            '"' => "\\\"".to_string(),
            '<' | '>' | '&' | '=' | '\0'..='\u{1f}' => format!("\\u{:04X}", c as u32),
            c if c.is_ascii() => char::from(*first).to_string(),
            c if rune::is_print(c) => String::new(),
            c => format!("\\u{:04X}", c as u32),
        };
        match escaped.is_empty() {
            true => out.extend_from_slice(&rest[..length]),
            false => out.extend_from_slice(escaped.as_bytes()),
        }
        rest = &rest[length..];
    }
    out.into()
}

/// Escapes text like Go's `url.QueryEscape`.
pub(super) fn query(text: &[u8]) -> Str {
    let mut out = String::with_capacity(text.len() + 16);
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(*byte)),
            b' ' => out.push('+'),
            byte => write!(out, "%{byte:02X}").expect("writing to a String cannot fail"),
        }
    }
    out.into()
}
