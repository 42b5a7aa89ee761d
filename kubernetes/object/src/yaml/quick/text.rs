//! Scalars as they are written, and what they say.

use super::super::resolve;
use crate::Value;

/// A scalar that was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text<'a> {
    /// Nothing where something could stand: null.
    Absent,
    Plain(&'a str),
    /// One without quotes that goes on in further lines.
    Wrapped(&'a str),
    /// What stands between apostrophes.
    Single(&'a str),
    /// What stands between quotation marks.
    Double(&'a str),
    /// Lines behind `|`.
    Literal(Lines<'a>),
    /// Lines behind `>`, which are for the full reader to bring together.
    Folded,
}

/// Lines of a text that stands as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines<'a> {
    /// All of them, with their indentation.
    pub text: &'a str,
    pub indent: usize,
    pub ending: Ending,
}

/// What becomes of the line breaks at the end of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// One stays.
    Clipped,
    /// None: `|-`.
    Stripped,
    /// All: `|+`.
    Kept,
}

impl Text<'_> {
    /// What it is as a value.
    pub(super) fn value(self) -> Option<Value> {
        match self {
            Self::Absent => Some(Value::Null),
            Self::Plain(text) => resolve::plain(text).into_value().ok(),
            Self::Wrapped(text) => Some(Value::String(unwrapped(text))),
            Self::Folded => None,
            other => other.key().map(Value::String),
        }
    }

    /// What it is as a key. Plain ones are words that mean nothing else.
    pub(super) fn key(self) -> Option<String> {
        match self {
            Self::Plain(text) => Some(text.to_string()),
            Self::Single(text) if text.contains('\'') => Some(text.replace("''", "'")),
            Self::Single(text) => Some(text.to_string()),
            Self::Double(text) => unescaped(text),
            Self::Literal(lines) => Some(lines.joined()),
            Self::Absent | Self::Wrapped(_) | Self::Folded => None,
        }
    }
}

impl Lines<'_> {
    fn joined(self) -> String {
        let mut all = String::with_capacity(self.text.len());
        for line in self.text.split_inclusive('\n') {
            // A line without text may be shorter than the others are indented.
            let is_short = line.len() <= self.indent && line.ends_with('\n');
            all.push_str(if is_short { "\n" } else { line.get(self.indent..).unwrap_or_default() });
        }
        let text = all.trim_end_matches('\n').len();
        match self.ending {
            Ending::Clipped => all.truncate(text + 1),
            Ending::Stripped => all.truncate(text),
            Ending::Kept => {}
        }
        all
    }
}

/// Lines are brought together with a space; those without text between them stay line breaks.
fn unwrapped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    let mut empty = 0;
    for (index, line) in text.split('\n').map(|line| line.trim_matches(' ')).enumerate() {
        if line.is_empty() {
            empty += 1;
            continue;
        }
        match empty {
            _ if index == 0 => {}
            0 => all.push(' '),
            _ => all.extend(std::iter::repeat_n('\n', empty)),
        }
        all.push_str(line);
        empty = 0;
    }
    all
}

/// Escapes that are passed over; others are for the full reader.
pub(super) fn is_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'n' | b't' | b'r')
}

fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('\\');
    let mut all = parts.next()?.to_string();
    while let Some(part) = parts.next() {
        match part.as_bytes().first() {
            // The backslash itself, escaped: what follows it has no escape in it.
            None => {
                all.push('\\');
                all.push_str(parts.next()?);
            }
            Some(b'n') => all.push('\n'),
            Some(b't') => all.push('\t'),
            Some(b'r') => all.push('\r'),
            Some(b'"') => all.push('"'),
            Some(_) => return None,
        }
        all.push_str(part.get(1..).unwrap_or_default());
    }
    Some(all)
}
