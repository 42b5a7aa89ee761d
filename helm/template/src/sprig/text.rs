//! Functions of Go's `strings` on bytes.

use super::runes;

/// Implements Go's `strings.Index`.
pub fn index(text: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, part)
}

/// Implements Go's `strings.ReplaceAll`.
pub fn replace(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    if old.is_empty() {
        out.extend_from_slice(new);
        for (at, _, length) in runes::indexed(text) {
            out.extend_from_slice(&text[at..at + length]);
            out.extend_from_slice(new);
        }
        return out;
    }
    let mut rest = text;
    while let Some(at) = index(rest, old) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// Implements Go's `strings.SplitN`: all parts for a negative limit, none for 0.
pub fn split<'t>(text: &'t [u8], separator: &[u8], limit: i64) -> Vec<&'t [u8]> {
    if limit == 0 {
        return Vec::new();
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut rest = text;
    while parts.len() + 1 < limit {
        let (end, skip) = if separator.is_empty() {
            match runes::first(rest) {
                Some((_, length)) if length < rest.len() => (length, 0),
                _ => break,
            }
        } else {
            match index(rest, separator) {
                Some(at) => (at, separator.len()),
                None => break,
            }
        };
        parts.push(&rest[..end]);
        rest = &rest[end + skip..];
    }
    // An empty text has no runes, but splits into one part at a non-empty separator.
    if !(separator.is_empty() && text.is_empty()) {
        parts.push(rest);
    }
    parts
}

/// Implements Go's `strings.TrimFunc`.
pub fn trim(text: &[u8], cut: impl Fn(char) -> bool) -> &[u8] {
    if text.is_ascii() {
        let kept = |byte: &u8| !cut(char::from(*byte));
        let start = text.iter().position(kept).unwrap_or(text.len());
        let end = text.iter().rposition(kept).map_or(start, |last| last + 1);
        return &text[start..end];
    }
    let start = runes::indexed(text).find(|(_, rune, _)| !cut(*rune)).map_or(text.len(), |(at, ..)| at);
    let kept = runes::indexed(&text[start..]).filter(|(_, rune, _)| !cut(*rune));
    let end = kept.last().map_or(start, |(at, _, length)| start + at + length);
    &text[start..end]
}

/// Adds spaces before every line, and `first` before all.
pub fn indent(first: &[u8], text: &[u8], spaces: usize) -> Vec<u8> {
    let lines = memchr::memchr_iter(b'\n', text).count() + 1;
    let mut out = Vec::with_capacity(first.len() + text.len() + lines * spaces);
    out.extend_from_slice(first);
    let mut from = 0;
    for end in memchr::memchr_iter(b'\n', text).map(|at| at + 1).chain([text.len()]) {
        out.resize(out.len() + spaces, b' ');
        out.extend_from_slice(&text[from..end]);
        from = end;
    }
    out
}

/// Implements Go's `s[start:end]`. The error has the text of Go's panic.
pub fn slice(text: &[u8], start: Option<i64>, end: Option<i64>) -> Result<&[u8], String> {
    let length = text.len() as i64;
    let fail = |bounds: String| Err(format!("runtime error: slice bounds out of range {bounds}"));
    match end {
        Some(end) if end < 0 => return fail(format!("[:{end}]")),
        Some(end) if end > length => return fail(format!("[:{end}] with length {length}")),
        _ => {}
    }
    let (low, high) = (start.unwrap_or(0), end.unwrap_or(length));
    match low {
        low if low < 0 => fail(format!("[{low}:]")),
        low if low > high => fail(format!("[{low}:{high}]")),
        low => Ok(&text[low as usize..high as usize]),
    }
}

/// Quotes like Go's `strconv.Quote`, for error texts.
pub fn quoted(text: &str) -> String {
    switchboard_object::quote::quote(text)
}
