//! Scalars as written, and their values.

use super::super::resolve;
use crate::Value;

/// Scanned scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarText<'a> {
    /// Nothing where a value could be: null.
    Absent,
    Plain(&'a str),
    /// Plain scalar that continues on further lines.
    Wrapped(&'a str),
    /// Text between single quotes.
    Single(&'a str),
    /// Text between double quotes.
    Double(&'a str),
    /// Lines behind `|`.
    Literal(BlockLines<'a>),
    /// Lines behind `>`, which the full reader folds.
    Folded,
}

/// Lines of a literal block scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockLines<'a> {
    /// All lines, with their indentation.
    pub text: &'a str,
    pub indent: usize,
    pub ending: Chomping,
}

/// Chomping of the line breaks at the end of a block scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chomping {
    /// One line break stays.
    Clipped,
    /// No line break stays: `|-`.
    Stripped,
    /// All line breaks stay: `|+`.
    Kept,
}

impl ScalarText<'_> {
    /// Returns the scalar as a value.
    pub(super) fn value(self) -> Option<Value> {
        match self {
            Self::Absent => Some(Value::Null),
            Self::Plain(text) => resolve::plain(text).into_value().ok(),
            Self::Wrapped(text) => Some(Value::String(fold_lines(text))),
            Self::Folded => None,
            other => other.key().map(Value::String),
        }
    }

    /// Returns the scalar as a key. Plain keys must be words without another meaning.
    pub(super) fn key(self) -> Option<String> {
        match self {
            Self::Plain(text) => Some(text.to_string()),
            Self::Single(text) if text.contains('\'') => Some(text.replace("''", "'")),
            Self::Single(text) => Some(text.to_string()),
            Self::Double(text) => unescaped(text),
            Self::Literal(lines) => Some(lines.join_lines()),
            Self::Absent | Self::Wrapped(_) | Self::Folded => None,
        }
    }
}

impl BlockLines<'_> {
    fn join_lines(self) -> String {
        let mut all = String::with_capacity(self.text.len());
        for line in self.text.split_inclusive('\n') {
            // A blank line may be shorter than the indentation.
            let is_short = line.len() <= self.indent && line.ends_with('\n');
            all.push_str(if is_short { "\n" } else { line.get(self.indent..).unwrap_or_default() });
        }
        let text = all.trim_end_matches('\n').len();
        match self.ending {
            Chomping::Clipped => all.truncate(text + 1),
            Chomping::Stripped => all.truncate(text),
            Chomping::Kept => {}
        }
        all
    }
}

/// Folds lines: joins them with a space, and keeps the breaks of blank lines.
fn fold_lines(text: &str) -> String {
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

/// Whether the fast path handles the escape; others are left to the full reader.
pub(super) fn is_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'n' | b't' | b'r')
}

fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('\\');
    let mut all = parts.next()?.to_string();
    while let Some(part) = parts.next() {
        match part.as_bytes().first() {
            // An escaped backslash; no escape begins with it.
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
