//! Tokens of an expression: runes, escapes, counts.

use super::class;
use crate::sprig::runes;

/// Creates an error with Go's text and the affected part of the expression.
pub(super) fn error<T>(code: &str, at: &[u8]) -> Result<T, String> {
    Err(format!("error parsing regexp: {code}: `{}`", String::from_utf8_lossy(at)))
}

pub(super) fn counts(text: &[u8]) -> Option<(i64, i64, &[u8])> {
    let (mut min, rest) = count(text.strip_prefix(b"{")?)?;
    let (max, rest) = match rest {
        [b',', b'}', ..] => (-1, &rest[1..]),
        [b',', tail @ ..] => {
            let (max, rest) = count(tail)?;
            if max < 0 {
                min = -1;
            }
            (max, rest)
        }
        _ => (min, rest),
    };
    Some((min, max, rest.strip_prefix(b"}")?))
}

/// Reads a number without leading zeros; returns -1 for one that is too large.
fn count(text: &[u8]) -> Option<(i64, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || (digits > 1 && text[0] == b'0') {
        return None;
    }
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse::<i64>().ok().filter(|n| *n < 1_000_000_000);
    Some((number.unwrap_or(-1), &text[digits..]))
}

pub(super) fn check_utf8(text: &[u8]) -> Result<(), String> {
    match runes::indexed(text).find(|(_, rune, length)| *rune == runes::RUNE_ERROR && *length == 1) {
        Some((at, ..)) => error("invalid UTF-8", &text[at..]),
        None => Ok(()),
    }
}

pub(super) fn next_rune(text: &[u8]) -> Result<(u32, &[u8]), String> {
    match runes::first(text) {
        Some((runes::RUNE_ERROR, 1)) => error("invalid UTF-8", text),
        Some((rune, length)) => Ok((rune as u32, &text[length..])),
        // Go reads beyond the end and finds nothing that fits.
        None => Ok((runes::RUNE_ERROR as u32, text)),
    }
}

pub(super) fn class_char<'t>(text: &'t [u8], whole: &[u8]) -> Result<(u32, &'t [u8]), String> {
    match text.first() {
        None => error("missing closing ]", whole),
        Some(b'\\') => escape(text),
        Some(_) => next_rune(text),
    }
}

pub(super) fn unicode_class(text: &[u8]) -> Result<(String, &[u8]), String> {
    let mut negated = text[1] == b'P';
    let (first, after) = next_rune(&text[2..])?;
    let (whole, name, after) = if first == u32::from(b'{') {
        let Some(end) = text.iter().position(|b| *b == b'}') else {
            check_utf8(text)?;
            return error("invalid character class range", text);
        };
        (&text[..=end], &text[3..end], &text[end + 1..])
    } else {
        let whole = &text[..text.len() - after.len()];
        (whole, &whole[2..], after)
    };
    check_utf8(name)?;
    let name = String::from_utf8_lossy(name).into_owned();
    let plain = name.strip_prefix('^').inspect(|_| negated = !negated).unwrap_or(&name);
    match class::unicode(plain, negated) {
        Some(class) => Ok((class, after)),
        None => error("invalid character class range", whole),
    }
}

pub(super) fn escape(text: &[u8]) -> Result<(u32, &[u8]), String> {
    if text.len() < 2 {
        return error("trailing backslash at end of expression", b"");
    }
    let (rune, mut rest) = next_rune(&text[1..])?;
    let octal = |rest: &[u8]| rest.first().is_some_and(|b| (b'0'..=b'7').contains(b));
    let digit = |rune: u32| char::from_u32(rune).and_then(|c| c.to_digit(16));
    match char::from_u32(rune) {
        Some(first @ '0'..='7') if first == '0' || octal(rest) => {
            let mut value = rune - u32::from(b'0');
            for _ in 1..3 {
                if octal(rest) {
                    value = value * 8 + u32::from(rest[0] - b'0');
                    rest = &rest[1..];
                }
            }
            return Ok((value, rest));
        }
        Some('x') if rest.first() == Some(&b'{') => {
            rest = &rest[1..];
            let (mut value, mut digits) = (0u32, 0);
            while !rest.is_empty() {
                let (rune, after) = next_rune(rest)?;
                rest = after;
                if rune == u32::from(b'}') && digits > 0 {
                    return Ok((value, rest));
                }
                let Some(next) = digit(rune).map(|d| value * 16 + d).filter(|v| *v <= 0x10_FFFF) else { break };
                (value, digits) = (next, digits + 1);
            }
        }
        Some('x') if !rest.is_empty() => {
            let (high, after) = next_rune(rest)?;
            let (low, after) = next_rune(after)?;
            rest = after;
            if let (Some(high), Some(low)) = (digit(high), digit(low)) {
                return Ok((high * 16 + low, rest));
            }
        }
        Some('a') => return Ok((7, rest)),
        Some('f') => return Ok((12, rest)),
        Some('n') => return Ok((10, rest)),
        Some('r') => return Ok((13, rest)),
        Some('t') => return Ok((9, rest)),
        Some('v') => return Ok((11, rest)),
        Some(c) if c.is_ascii() && !c.is_ascii_alphanumeric() => return Ok((rune, rest)),
        _ => {}
    }
    error("invalid escape sequence", &text[..text.len() - rest.len()])
}
