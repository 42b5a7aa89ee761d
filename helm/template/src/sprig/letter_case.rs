//! Words and letter case: the functions that sprig takes from xstrings and goutils.

use super::runes::{self, RUNE_ERROR, first, is_letter, is_number, is_punct, is_space, is_upper, to_lower, to_upper};

fn is_connector(rune: char) -> bool {
    rune == '-' || rune == '_' || is_space(rune)
}

/// Converts `http_server` to `HttpServer` (`big`) or `httpServer`.
pub fn camel_case(text: &[u8], big: bool) -> Vec<u8> {
    let mut out = String::new();
    let mut rest = runes::all(text).peekable();
    let (mut last, mut first_upper) = (None, false);
    // Leading connectors stay.
    for rune in rest.by_ref() {
        if !is_connector(rune) {
            first_upper = is_upper(rune);
            last = Some(if big { to_upper(rune) } else { to_lower(rune) });
            break;
        }
        out.push(rune);
        last = Some(rune);
    }
    let Some(mut last) = last else { return Vec::new() };
    if rest.peek().is_none() {
        out.push(last);
        return out.into_bytes();
    }
    for rune in rest {
        let before = std::mem::replace(&mut last, rune);
        if is_connector(rune) && is_connector(before) {
            out.push(before);
        } else if is_connector(before) {
            first_upper = is_upper(rune);
            last = to_upper(rune);
        } else {
            if first_upper && is_upper(rune) {
                last = to_lower(rune);
            } else {
                first_upper = false;
            }
            out.push(before);
        }
    }
    out.push(if first_upper && !big { to_lower(last) } else { last });
    out.into_bytes()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Invalid,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punct,
    Other,
}

/// Converts `HTTPServer2xx` to `http_server_2xx`, or with another connector.
pub fn lower_case(text: &[u8], connector: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut kind, mut word, mut rest) = next_word(text);
    while !rest.is_empty() {
        if kind != WordKind::Connector {
            lower(&mut out, kind, word, connector);
        }
        let (before, last) = (kind, word);
        (kind, word, rest) = next_word(rest);
        match before {
            WordKind::Number => {
                (kind, word, rest) = lower_tail(&mut out, (kind, word, rest), connector);
                if !matches!(kind, WordKind::Invalid | WordKind::Punct | WordKind::Connector) {
                    out.push(connector);
                }
            }
            WordKind::Connector => lower(&mut out, before, last, connector),
            WordKind::Punct => {}
            _ if kind != WordKind::Number => {
                if !matches!(kind, WordKind::Connector | WordKind::Punct) {
                    out.push(connector);
                }
            }
            _ if rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word, rest) = next_word(rest);
                // `Bld4Floor` becomes `bld4_floor`, but `HTTP2xx` becomes `http_2xx`.
                if kind != WordKind::Alphabet {
                    lower(&mut out, WordKind::Number, number, connector);
                    if !matches!(kind, WordKind::Connector | WordKind::Punct) {
                        out.push(connector);
                    }
                    continue;
                }
                out.push(connector);
                lower(&mut out, WordKind::Number, number, connector);
                (kind, word, rest) = lower_tail(&mut out, (kind, word, rest), connector);
                if !matches!(kind, WordKind::Invalid | WordKind::Connector | WordKind::Punct) {
                    out.push(connector);
                }
            }
        }
    }
    lower(&mut out, kind, word, connector);
    out
}

type NextWord<'a> = (WordKind, &'a [u8], &'a [u8]);

/// Appends letters and numbers to the number before them.
fn lower_tail<'a>(out: &mut Vec<u8>, mut cut: NextWord<'a>, connector: u8) -> NextWord<'a> {
    while matches!(cut.0, WordKind::Alphabet | WordKind::Number) {
        lower(out, cut.0, cut.1, connector);
        cut = next_word(cut.2);
    }
    cut
}

fn lower(out: &mut Vec<u8>, kind: WordKind, word: &[u8], connector: u8) {
    if !matches!(kind, WordKind::Upper | WordKind::Connector) {
        return out.extend_from_slice(word);
    }
    for rune in runes::all(word) {
        let made = match rune {
            rune if is_connector(rune) => char::from(connector),
            rune if is_upper(rune) => to_lower(rune),
            rune => rune,
        };
        out.extend_from_slice(made.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Returns the next valid rune with the invalid bytes before it, or `before` at the end.
fn next_valid(text: &[u8], before: char) -> (char, usize) {
    let mut size = 0;
    while let Some((rune, length)) = first(&text[size..]) {
        size += length;
        if rune != RUNE_ERROR {
            return (rune, size);
        }
    }
    (before, size)
}

fn is_alphabet(rune: char) -> bool {
    is_letter(rune) && !matches!(rune, '\u{4e00}'..='\u{9fcc}' | '\u{3400}'..='\u{4d85}' | '\u{20000}'..='\u{2b81d}')
}

/// Returns the end of the runes from an offset on that belong together.
fn run(text: &[u8], mut offset: usize, mut rune: char, belongs: impl Fn(char) -> bool) -> usize {
    while offset < text.len() {
        let size;
        (rune, size) = next_valid(&text[offset..], rune);
        if size == 0 || !belongs(rune) {
            break;
        }
        offset += size;
    }
    offset
}

fn next_word(text: &[u8]) -> NextWord<'_> {
    if text.is_empty() {
        return (WordKind::Invalid, text, text);
    }
    let (rune, size) = next_valid(text, RUNE_ERROR);
    let small = |rune| is_alphabet(rune) && !is_upper(rune);
    let (kind, end) = match rune {
        RUNE_ERROR => (WordKind::Invalid, size),
        rune if is_connector(rune) => (WordKind::Connector, run(text, size, rune, is_connector)),
        rune if is_punct(rune) => (WordKind::Punct, run(text, size, rune, is_punct)),
        rune if is_upper(rune) => (WordKind::Upper, upper_word(text, size, rune)),
        rune if is_alphabet(rune) => (WordKind::Alphabet, run(text, size, rune, small)),
        rune if is_number(rune) => (WordKind::Number, run(text, size, rune, is_number)),
        rune => {
            let other = |r| !(is_connector(r) || is_alphabet(r) || is_number(r) || is_punct(r));
            (WordKind::Other, run(text, size, rune, other))
        }
    };
    (kind, &text[..end], &text[end..])
}

/// Returns the length of a capitalized word. `HTTPStatus` is `HTTP` and `Status`: the last capital belongs to the next
/// word.
fn upper_word(text: &[u8], start: usize, rune: char) -> usize {
    if start == text.len() {
        return start;
    }
    let (mut rune, size) = next_valid(&text[start..], rune);
    let mut offset = start + size;
    if !is_upper(rune) {
        let small = |rune| is_alphabet(rune) && !is_upper(rune);
        return if is_alphabet(rune) { run(text, offset, rune, small) } else { start };
    }
    let mut last = size;
    while offset < text.len() {
        let size;
        (rune, size) = next_valid(&text[offset..], rune);
        if !is_upper(rune) {
            break;
        }
        last = size;
        offset += size;
    }
    if offset < text.len() && is_alphabet(rune) { offset - last } else { offset }
}

/// Converts uppercase letters to lowercase, and lowercase letters to uppercase, or to titlecase at the start of a word.
pub fn swap_case(text: &[u8]) -> Vec<u8> {
    let mut word_starts = true;
    runes::map(text, |rune| {
        if is_upper(rune) || runes::is_title(rune) {
            word_starts = false;
            to_lower(rune)
        } else if runes::is_lower(rune) {
            if std::mem::take(&mut word_starts) { runes::to_title(rune) } else { to_upper(rune) }
        } else {
            word_starts = is_space(rune);
            rune
        }
    })
}

/// Converts the first letters of all words to lowercase.
pub fn uncapitalize(text: &[u8]) -> Vec<u8> {
    let mut next = true;
    runes::map(text, |rune| {
        if is_space(rune) {
            next = true;
            rune
        } else if std::mem::take(&mut next) {
            to_lower(rune)
        } else {
            rune
        }
    })
}

/// Implements Go's `strings.Title`.
pub fn title(text: &[u8]) -> Vec<u8> {
    let mut before = ' ';
    runes::map(text, |rune| {
        let starts = is_separator(std::mem::replace(&mut before, rune));
        if starts { runes::to_title(rune) } else { rune }
    })
}

fn is_separator(rune: char) -> bool {
    if rune.is_ascii() {
        return !(rune.is_ascii_alphanumeric() || rune == '_');
    }
    !is_letter(rune) && !runes::is_digit(rune) && is_space(rune)
}

/// Returns the first byte of each word. goutils takes bytes, not runes.
pub fn initials(text: &[u8]) -> Vec<u8> {
    let mut gap = true;
    let mut out = String::new();
    for byte in text {
        if is_space(char::from(*byte)) {
            gap = true;
        } else if std::mem::take(&mut gap) {
            out.push(char::from(*byte));
        }
    }
    out.into_bytes()
}

/// Removes white space byte by byte. As in goutils, this breaks some runes beyond ASCII.
pub fn delete_white_space(text: &[u8]) -> Vec<u8> {
    if !text.iter().any(|b| is_space(char::from(*b))) {
        return text.to_vec();
    }
    text.iter().map(|b| char::from(*b)).filter(|c| !is_space(*c)).collect::<String>().into_bytes()
}

/// Breaks text at spaces into lines of at most `width` bytes. `break_words` also breaks longer words.
pub fn wrap(text: &[u8], width: i64, newline: &[u8], break_words: bool) -> Vec<u8> {
    let newline: &[u8] = if newline.is_empty() { b"\n" } else { newline };
    let width = usize::try_from(width).unwrap_or(1).max(1);
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while text.len() - at > width {
        if text[at] == b' ' {
            at += 1;
            continue;
        }
        let space = text[at..=at + width].iter().rposition(|b| *b == b' ').map(|space| at + space);
        let later = || text[at + width..].iter().position(|b| *b == b' ').map(|space| at + width + space);
        match space.or_else(|| if break_words { None } else { later() }) {
            Some(space) => {
                out.extend_from_slice(&text[at..space]);
                out.extend_from_slice(newline);
                at = space + 1;
            }
            None if break_words => {
                out.extend_from_slice(&text[at..at + width]);
                out.extend_from_slice(newline);
                at += width;
            }
            None => {
                out.extend_from_slice(&text[at..]);
                at = text.len();
            }
        }
    }
    out.extend_from_slice(&text[at..]);
    out
}

/// Shortens text to at most `width` bytes with `...` for missing text. Returns an empty text if goutils fails, because
/// sprig drops the error.
pub fn abbreviate(text: &[u8], offset: i64, width: i64) -> Vec<u8> {
    let length = text.len() as i64;
    if text.is_empty() || width < 4 {
        return Vec::new();
    }
    if length <= width {
        return text.to_vec();
    }
    let mut offset = offset.min(length);
    if length - offset < width - 3 {
        offset = length - (width - 3);
    }
    let slice = |from: i64, to: i64| &text[from as usize..to as usize];
    if offset <= 4 {
        return [slice(0, width - 3), b"..."].concat();
    }
    if width < 7 {
        return Vec::new();
    }
    if offset + width - 3 < length {
        return [b"...".to_vec(), abbreviate(slice(offset, length), 0, width - 3)].concat();
    }
    [b"...", slice(length - (width - 3), length)].concat()
}
