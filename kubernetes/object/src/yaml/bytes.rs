//! Decoding of bytes as in go-yaml's reader: UTF-8, or UTF-16 by its byte order mark, without control characters.

use std::borrow::Cow;

use super::YamlError;

/// Decodes bytes to text.
///
/// # Errors
/// When the bytes are not text, or contain characters that YAML forbids, in Go's words.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, YamlError> {
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes).map(Cow::Owned),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes).map(Cow::Owned),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(error) => {
                // The first error in the text is reported.
                let (good, bad) = bytes.split_at(error.valid_up_to());
                let good = std::str::from_utf8(good).unwrap_or_default();
                check(good)?;
                Err(error_at(good, wrong_utf8(bad)))
            }
        },
    }
}

/// Checks that YAML allows all characters.
///
/// # Errors
/// When the text has a control character.
pub fn check(text: &str) -> Result<(), YamlError> {
    let bytes = text.as_bytes();
    // Nearly all texts have no suspect byte and are checked byte by byte only.
    let suspect = |byte: &u8| matches!(byte, 0..=0x08 | 0x0b | 0x0c | 0x0e..=0x1f | 0x7f | 0xc2 | 0xef);
    let Some(mut from) = bytes.iter().position(suspect) else { return Ok(()) };
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let odd = |c: char| {
        let control = c < ' ' && !matches!(c, '\t' | '\n' | '\r');
        control || matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
    };
    match text[from..].find(odd) {
        Some(at) => Err(error_at(&text[..from + at], "control characters are not allowed")),
        None => Ok(()),
    }
}

fn error_at(before: &str, problem: &str) -> YamlError {
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
    YamlError { message: format!("yaml: {problem}"), problem: problem.to_string(), line, column }
}

fn wrong_utf8(bad: &[u8]) -> &'static str {
    let [first, rest @ ..] = bad else { return "incomplete UTF-8 octet sequence" };
    let width = match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => return "invalid leading UTF-8 octet",
    };
    let following = &rest[..rest.len().min(width - 1)];
    if rest.len() < width - 1 {
        return "incomplete UTF-8 octet sequence";
    }
    if following.iter().any(|byte| byte & 0xc0 != 0x80) {
        return "invalid trailing UTF-8 octet";
    }
    let value =
        following.iter().fold(u32::from(first & (0x7f >> width)), |value, byte| value << 6 | u32::from(byte & 0x3f));
    let long_enough = match width {
        2 => value >= 0x80,
        3 => value >= 0x800,
        _ => value >= 0x1_0000,
    };
    if long_enough { "invalid Unicode character" } else { "invalid length of a UTF-8 sequence" }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, YamlError> {
    let mut text = String::new();
    let mut pairs = bytes.chunks(2);
    // The first error in the text is reported.
    let refused = |text: &str, problem: &str| check(text).err().unwrap_or_else(|| error_at(text, problem));
    while let Some(pair) = pairs.next() {
        let mut next = |pair: &[u8]| <[u8; 2]>::try_from(pair).map(unit).ok();
        let incomplete = |text: &str| refused(text, "incomplete UTF-16 character");
        let first = next(pair).ok_or_else(|| incomplete(&text))?;
        let value = match first {
            0xdc00..=0xdfff => return Err(refused(&text, "unexpected low surrogate area")),
            0xd800..=0xdbff => {
                let half = || refused(&text, "incomplete UTF-16 surrogate pair");
                let second = pairs.next().and_then(&mut next).ok_or_else(half)?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(refused(&text, "expected low surrogate area"));
                }
                0x1_0000 + ((u32::from(first) & 0x3ff) << 10) + (u32::from(second) & 0x3ff)
            }
            other => u32::from(other),
        };
        text.push(char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    Ok(text)
}
