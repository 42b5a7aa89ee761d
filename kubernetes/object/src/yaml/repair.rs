//! Repairs for texts that go-yaml accepts and the stricter parser refuses. The meaning of the text does not change.
//!
//! Inside brackets and quotes the indentation of a line has no meaning, so a line that is not indented enough is moved
//! right, and a tab after a colon becomes a space. Each repair responds to an error of the parser.

use std::borrow::Cow;
use std::collections::BTreeSet;

use saphyr_parser::ScanError;

use super::strict::replace_separators;
use crate::Value;

/// Bytes that may be parsed again for repairs of one text.
pub(super) const MAX_REREAD_BYTES: usize = 8 << 20;

/// Repair that makes a text acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextRepair {
    /// Line within brackets that is not indented enough.
    Line(usize),
    /// Line of the quoted scalar that begins here and is not indented enough.
    Quoted(usize),
    /// Tabs before this column.
    Tabs { line: usize, column: usize },
    /// Comment in this column without a space before it.
    Comment { line: usize, column: usize },
    /// Line of a quoted scalar that begins with tabs.
    Lead(usize),
    /// Escaped single quote after this position.
    Apostrophe { line: usize, column: usize },
}

impl TextRepair {
    /// Returns the repair for an error, if there is one.
    pub fn of(error: &ScanError) -> Option<Self> {
        let (line, column) = (error.marker().line(), error.marker().col());
        match error.info() {
            "invalid indentation" | "invalid indentation in flow construct" => Some(Self::Line(line)),
            "invalid indentation in quoted scalar" => Some(Self::Quoted(line)),
            "tab cannot be used as indentation" => Some(Self::Lead(line)),
            "':' must be followed by a valid YAML whitespace" => Some(Self::Tabs { line, column }),
            "comments must be separated from other tokens by whitespace" => Some(Self::Comment { line, column }),
            info if info.ends_with("found unknown escape character") => Some(Self::Apostrophe { line, column }),
            _ => None,
        }
    }

    /// Returns the repaired text. `moved` are the lines already moved.
    pub fn apply(self, text: &str, moved: &mut BTreeSet<usize>) -> Option<String> {
        match self {
            Self::Line(line) => indent_line(text, line, moved),
            Self::Quoted(start) => indent_line(text, (start + 1..).find(|line| !moved.contains(line))?, moved),
            Self::Lead(line) => {
                let spaced = |content: &str| {
                    let inner = content.trim_start_matches([' ', '\t']);
                    format!("{}{inner}", " ".repeat(content.len() - inner.len()))
                };
                let repaired = edit(text, line, spaced);
                (repaired != text).then_some(repaired)
            }
            Self::Apostrophe { line, column } => {
                let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
                let column = text[start..].char_indices().nth(column).map_or(0, |(at, _)| at);
                let at = first_escape(&text.as_bytes()[start + column..])? + start + column;
                Some(format!("{}{}", &text[..at], &text[at + 1..]))
            }
            Self::Comment { line, column } => {
                let repaired = edit(text, line, |content| apart(content, column));
                (repaired != text).then_some(repaired)
            }
            Self::Tabs { line, column } => {
                let repaired = edit(text, line, |content| spaced(content, column));
                (repaired != text).then_some(repaired)
            }
        }
    }
}

/// Returns the backslash of the first escape, if that is an escaped single quote.
fn first_escape(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at + 1 < text.len() {
        match (text[at], text[at + 1]) {
            (b'\\', b'\'') => return Some(at),
            (b'\\', _) => at += 2,
            _ => at += 1,
        }
    }
    None
}

/// Text with substitutes for characters that go-yaml and the parser interpret differently: U+0085 and every carriage
/// return end a line, and a byte order mark that is not the first character is an ordinary character.
pub(super) struct SubstitutedText<'a> {
    pub text: Cow<'a, str>,
    stand_in: Option<char>,
}

const BYTE_ORDER_MARK: char = '\u{feff}';
const NEXT_LINE: char = '\u{85}';

impl<'a> SubstitutedText<'a> {
    pub fn of(text: &'a str) -> Self {
        let mut marks = Self { text: Cow::Borrowed(text), stand_in: None };
        if text.contains(NEXT_LINE) {
            marks.text = Cow::Owned(text.replace(NEXT_LINE, "\n"));
        }
        if text.contains('\r') {
            marks.text = Cow::Owned(marks.text.replace("\r\n", "\n").replace('\r', "\n"));
        }
        marks.text = replace_separators(marks.text);
        if text.contains(BYTE_ORDER_MARK) {
            marks.stand_in = ('\u{f000}'..='\u{f8ff}').find(|c| !text.contains(*c));
            if let Some(stand_in) = marks.stand_in {
                marks.text = Cow::Owned(marks.text.replace(BYTE_ORDER_MARK, stand_in.encode_utf8(&mut [0; 4])));
            }
        }
        marks
    }

    /// Restores the byte order marks.
    pub fn restore(&self, value: &mut Value) {
        let Some(stand_in) = self.stand_in else { return };
        let back = |text: &str| text.replace(stand_in, BYTE_ORDER_MARK.encode_utf8(&mut [0; 4]));
        match value {
            Value::String(text) if text.contains(stand_in) => *text = back(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.restore(item)),
            Value::Object(map) => {
                map.values_mut().for_each(|item| self.restore(item));
                if map.keys().any(|key| key.contains(stand_in)) {
                    *map = std::mem::take(map).into_iter().map(|(key, value)| (back(&key), value)).collect();
                }
            }
            _ => {}
        }
    }
}

fn edit(text: &str, line: usize, change: impl Fn(&str) -> String) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    lines.map(|(index, content)| if index + 1 == line { change(content) } else { content.to_string() }).collect()
}

// Indents a line more than any line that was not moved.
fn indent_line(text: &str, line: usize, moved: &mut BTreeSet<usize>) -> Option<String> {
    let indent = |content: &str| content.len() - content.trim_start_matches(' ').len();
    let others = text.lines().enumerate().filter(|(index, _)| !moved.contains(&(index + 1)));
    let width = others.map(|(_, content)| indent(content)).max()? + 1;
    let first = moved.insert(line) && line <= text.lines().count();
    first.then(|| edit(text, line, |content| format!("{}{content}", " ".repeat(width))))
}

fn apart(content: &str, column: usize) -> String {
    let at = content.char_indices().nth(column).map_or(content.len(), |(at, _)| at);
    let (before, behind) = content.split_at(at);
    let space = if behind.starts_with('#') { " " } else { "" };
    format!("{before}{space}{behind}")
}

fn spaced(content: &str, column: usize) -> String {
    let at = content.char_indices().nth(column).map_or(content.len(), |(at, _)| at);
    let (before, behind) = content.split_at(at);
    let kept = before.trim_end_matches(['\t', ' ']);
    format!("{kept}{}{behind}", " ".repeat(before.len() - kept.len()))
}
