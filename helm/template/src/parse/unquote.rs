//! Go's string and character literals.

use crate::rune;

/// Unquotes a string in double quotes or backquotes like Go's `strconv.Unquote`.
pub(crate) fn unquote(text: &[u8]) -> Option<Vec<u8>> {
    let (quote, rest) = text.split_first()?;
    let inner = rest.strip_suffix(&[*quote])?;
    match quote {
        b'`' if inner.contains(&b'`') => None,
        b'`' => Some(inner.iter().copied().filter(|byte| *byte != b'\r').collect()),
        b'"' => unescape(inner),
        _ => None,
    }
}

fn unescape(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    while let Some(first) = text.first() {
        if *first == b'\n' {
            return None;
        }
        if *first != b'\\' && *first != b'"' && first.is_ascii() {
            out.push(*first);
            text = &text[1..];
            continue;
        }
        let byte = *first == b'\\' && matches!(text.get(1), Some(b'x' | b'0'..=b'7'));
        let (c, tail) = character(text, b'"')?;
        match byte {
            true => out.push(c as u8),
            false => rune::push(&mut out, char::from_u32(c)?),
        }
        text = tail;
    }
    Some(out)
}

/// Decodes the first character or byte and returns the rest, like Go's `strconv.UnquoteChar`.
pub(super) fn character(text: &[u8], quote: u8) -> Option<(u32, &[u8])> {
    let first = *text.first()?;
    if first == quote {
        return None;
    }
    if first != b'\\' {
        let (c, length) = rune::decode(text);
        return Some((c.into(), &text[length..]));
    }
    let (escape, rest) = (*text.get(1)?, &text[2..]);
    let simple = |c: u32| Some((c, rest));
    match escape {
        b'a' => simple(7),
        b'b' => simple(8),
        b'f' => simple(12),
        b'n' => simple(10),
        b'r' => simple(13),
        b't' => simple(9),
        b'v' => simple(11),
        b'\\' => simple(92),
        b'\'' | b'"' if escape == quote => simple(quote.into()),
        b'x' => digits(rest, 2, 16),
        b'u' => digits(rest, 4, 16).filter(|(c, _)| char::from_u32(*c).is_some()),
        b'U' => digits(rest, 8, 16).filter(|(c, _)| char::from_u32(*c).is_some()),
        b'0'..=b'7' => digits(&text[1..], 3, 8).filter(|(c, _)| *c < 256),
        _ => None,
    }
}

fn digits(text: &[u8], count: usize, base: u32) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(count)?;
    let mut digits = digits.iter().map(|digit| char::from(*digit).to_digit(base));
    let value = digits.try_fold(0u32, |value, digit| Some((value << if base == 16 { 4 } else { 3 }) | digit?));
    Some((value?, rest))
}
