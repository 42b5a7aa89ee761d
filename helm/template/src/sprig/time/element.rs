//! Elements of a time: digits, names and zone abbreviations.

/// Error for an element that does not fit. The caller knows its position.
pub(super) struct LayoutMismatch;

pub(super) type ParsedElement<'a, T> = Result<(T, &'a [u8]), LayoutMismatch>;

/// Returns the number of digits after a point or comma.
pub(super) fn fraction_digits(value: &[u8]) -> usize {
    match value {
        [b'.' | b',', digits @ ..] => digits.iter().take_while(|c| c.is_ascii_digit()).count(),
        _ => 0,
    }
}

/// Parses nine digits of a fraction, padding fewer digits with zeros.
pub(super) fn nanos(digits: &[u8]) -> Result<u32, LayoutMismatch> {
    let kept = &digits[..digits.len().min(9)];
    let number = atoi(kept)?;
    let scaled = number * 10i64.pow(9 - kept.len() as u32);
    u32::try_from(scaled).map_err(|_| LayoutMismatch)
}

pub(super) fn atoi(text: &[u8]) -> Result<i64, LayoutMismatch> {
    std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).ok_or(LayoutMismatch)
}

/// Reads one or two digits, or exactly two if the layout has a leading zero.
pub(super) fn number(value: &[u8], fixed: bool) -> ParsedElement<'_, i64> {
    let digit = |at: usize| value.get(at).filter(|c| c.is_ascii_digit()).map(|c| i64::from(c - b'0'));
    match (digit(0), digit(1)) {
        (Some(tens), Some(ones)) => Ok((tens * 10 + ones, &value[2..])),
        (Some(ones), None) if !fixed => Ok((ones, &value[1..])),
        _ => Err(LayoutMismatch),
    }
}

pub(super) fn lookup<'a>(names: &[&str], length: Option<usize>, value: &'a [u8]) -> ParsedElement<'a, usize> {
    for (index, name) in names.iter().enumerate() {
        let name = &name[..length.unwrap_or(name.len())];
        if value.get(..name.len()).is_some_and(|v| v.eq_ignore_ascii_case(name.as_bytes())) {
            return Ok((index, &value[name.len()..]));
        }
    }
    Err(LayoutMismatch)
}

/// Returns the length of a zone abbreviation such as `CEST`, `GMT+3` or `-03`.
pub(super) fn zone_length(value: &[u8]) -> Option<usize> {
    if value.len() < 3 {
        return None;
    }
    if value.starts_with(b"ChST") || value.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(tail) = value.strip_prefix(b"GMT") {
        return Some(3 + signed_offset_length(tail));
    }
    if matches!(value[0], b'+' | b'-') {
        return Some(signed_offset_length(value)).filter(|length| *length > 0);
    }
    match value.iter().take(6).take_while(|c| c.is_ascii_uppercase()).count() {
        5 if value[4] == b'T' => Some(5),
        4 if value[3] == b'T' || value.starts_with(b"WITA") => Some(4),
        3 => Some(3),
        _ => None,
    }
}

pub(super) fn signed_offset_length(value: &[u8]) -> usize {
    let [b'+' | b'-', tail @ ..] = value else { return 0 };
    let digits = tail.iter().take_while(|c| c.is_ascii_digit()).count();
    match atoi(&tail[..digits]) {
        Ok(0..=23) => 1 + digits,
        _ => 0,
    }
}
