//! Texts that go-yaml reads and a stricter parser refuses, made acceptable without changing what they say.
//!
//! Inside brackets and quotes the indentation of a line means nothing, so a line that stands too far left is moved right; a tab
//! after a colon becomes a space. Each repair is guided by the parser's own complaint.

use std::collections::BTreeSet;

use saphyr_parser::ScanError;

/// How many bytes may be read again for repairs of one text.
pub(super) const MAX_REREAD_BYTES: usize = 8 << 20;

/// What would make the text acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    /// A line within brackets stands too far left.
    Line(usize),
    /// A line of the quoted text that begins here stands too far left.
    Quoted(usize),
    /// Tabs stand before this column.
    Tabs { line: usize, column: usize },
    /// A comment begins in this column, without a space before it.
    Comment { line: usize, column: usize },
}

impl Repair {
    /// The repair for a complaint, if there is one.
    pub fn of(error: &ScanError) -> Option<Self> {
        let (line, column) = (error.marker().line(), error.marker().col());
        match error.info() {
            "invalid indentation" | "invalid indentation in flow construct" => Some(Self::Line(line)),
            "invalid indentation in quoted scalar" => Some(Self::Quoted(line)),
            "':' must be followed by a valid YAML whitespace" => Some(Self::Tabs { line, column }),
            "comments must be separated from other tokens by whitespace" => Some(Self::Comment { line, column }),
            _ => None,
        }
    }

    /// The repaired text. `moved` are the lines that were moved already.
    pub fn apply(self, text: &str, moved: &mut BTreeSet<usize>) -> Option<String> {
        match self {
            Self::Line(line) => moved_right(text, line, moved),
            Self::Quoted(start) => moved_right(text, (start + 1..).find(|line| !moved.contains(line))?, moved),
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

fn edit(text: &str, line: usize, change: impl Fn(&str) -> String) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    lines.map(|(index, content)| if index + 1 == line { change(content) } else { content.to_string() }).collect()
}

// Further right than any line that was not moved.
fn moved_right(text: &str, line: usize, moved: &mut BTreeSet<usize>) -> Option<String> {
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
