//! The parser's complaints in Go's words.

use saphyr_parser::{Marker, ScanError};

use super::YamlError;
use super::lines::Lines;

/// What the parser is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    Nothing,
    List,
    Map {
        /// Whether the value of a key is wanted.
        has_key: bool,
    },
    /// A list in brackets.
    Brackets,
    /// A map in braces.
    Braces,
}

impl Inside {
    /// What could have come next.
    fn wanted(self) -> &'static str {
        match self {
            Self::Nothing => "did not find expected <document start>",
            Self::List => "did not find expected '-' indicator",
            Self::Map { .. } => "did not find expected key",
            Self::Brackets => "did not find expected ',' or ']'",
            Self::Braces => "did not find expected ',' or '}'",
        }
    }
}

/// What go-yaml says where the parser has its own words.
pub(super) fn told(text: &str, error: &ScanError, inside: Inside) -> YamlError {
    let mark = error.marker();
    // Behind a quoted text go-yaml just reads on.
    let behind = error.info().starts_with("invalid trailing content");
    let info = if behind { behind_quotes(text, mark.line(), mark.col()) } else { error.info() };
    // go-yaml reports what is never closed where the text ends.
    let last = 1 + text.matches('\n').count();
    // A text ends at a comment; what stands on the next line is one too many, or the key before it has no value.
    let key = info == COMMENT && matches!(inside, Inside::Map { .. }) && !has_colon(text, mark.line());
    let line = match info {
        COMMENT => content_behind(text, mark.line()).unwrap_or(last),
        _ if info.ends_with("end of stream") => last,
        // What is told of is the tab, not the text before it.
        _ if info.ends_with("found a tab") => tab_behind(text, mark.line()).unwrap_or(mark.line()),
        _ => mark.line(),
    };
    let words = match info.strip_prefix("while ").and_then(|rest| rest.split_once(", ")) {
        Some((_, "found unknown anchor")) => {
            let name = alias_at(text, mark.line(), mark.col());
            let problem = format!("unknown anchor '{name}' referenced");
            let message = format!("yaml: {problem}");
            return YamlError { message, problem, line: mark.line(), column: mark.col() + 1 };
        }
        Some((_, "did not find expected ',' or '}'")) if inside == Inside::Brackets => inside.wanted().to_string(),
        Some((_, "found a tab")) => "found a tab character that violates indentation".to_string(),
        Some((_, rest)) if rest.starts_with("expected") => format!("did not find {rest}"),
        // Upstream's own spelling.
        Some((_, rest)) => rest.replace("hexadecimal", "hexdecimal"),
        None => match info {
            "simple key expect ':'" | "simple key expected" => "could not find expected ':'".to_string(),
            "a block scalar content cannot start with a tab" => {
                "found a tab character where an indentation space is expected".to_string()
            }
            COMMENT if key => "could not find expected ':'".to_string(),
            COMMENT => inside.wanted().to_string(),
            // What stands there is a tab.
            "expected whitespace" => "found character that cannot start any token".to_string(),
            "missing explicit document end marker before directive" => "found unknown directive name".to_string(),
            "more" if is_key(text, mark.line(), mark.col(), inside) => {
                Inside::Map { has_key: false }.wanted().to_string()
            }
            "more" | "illegal placement of ':' indicator" => inside.wanted().to_string(),
            "misplaced bracket" if is_late(text, mark.line(), mark.col(), inside) => inside.wanted().to_string(),
            "misplaced bracket" => "did not find expected node content".to_string(),
            _ if info.starts_with("unexpected character") || info.contains("tab") => {
                "found character that cannot start any token".to_string()
            }
            _ => info.to_string(),
        },
    };
    // go-yaml counts a parser's lines from zero, a scanner's from one, and is silent about the first.
    let parsing = matches!(info, "more" | "misplaced bracket" | "illegal placement of ':' indicator")
        || info == COMMENT && !key
        || info.starts_with("while parsing a flow")
        || info.starts_with("while parsing a block")
        || words == "did not find expected node content";
    let place = match (line.saturating_sub(1), parsing) {
        (0, _) => String::new(),
        (line, true) => format!("line {line}: "),
        (line, false) => format!("line {}: ", line + 1),
    };
    YamlError { message: format!("yaml: {place}{words}"), problem: words, line, column: mark.col() + 1 }
}

/// The parser's complaint about a comment between the lines of a text.
const COMMENT: &str = "comment intercepting the multiline text";

// Whether there is a colon before the comment of a line.
fn has_colon(text: &str, line: usize) -> bool {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    line.split(" #").next().unwrap_or_default().contains(": ")
}

/// What go-yaml says of a line that begins with a colon, unless that belongs to a question mark.
pub(super) fn no_key(lines: &Lines<'_>, at: Marker, inside: impl Fn() -> Inside) -> Option<YamlError> {
    let (line, column) = (at.line(), at.col());
    let content = lines.at(line);
    let before = content.get(..column)?;
    if !content[column..].starts_with(':') || !before.trim().chars().all(|c| matches!(c, '-' | ' ')) {
        return None;
    }
    let above = (1..line).rev().map(|line| lines.at(line)).find(|line| !line.trim().is_empty());
    let asked = above.is_some_and(|line| line.trim_end().ends_with('?'));
    let block = !asked && matches!(inside(), Inside::Nothing | Inside::List | Inside::Map { has_key: false });
    block.then(|| {
        let problem = Inside::Map { has_key: false }.wanted().to_string();
        let place = if line > 1 { format!("line {}: ", line - 1) } else { String::new() };
        YamlError { message: format!("yaml: {place}{problem}"), problem, line, column: column + 1 }
    })
}

// The first line behind another that holds more than a comment.
fn content_behind(text: &str, line: usize) -> Option<usize> {
    let content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    text.lines().enumerate().skip(line).find(|(_, line)| content(line)).map(|(index, _)| index + 1)
}

// The first line behind another that has a tab in its indentation.
fn tab_behind(text: &str, line: usize) -> Option<usize> {
    let indented = |line: &str| {
        line.len() != line.trim_start().len() && line[..line.len() - line.trim_start().len()].contains('\t')
    };
    text.lines().enumerate().skip(line).find(|(_, line)| indented(line)).map(|(index, _)| index + 1)
}

// What is wrong with what follows a quoted text: that it is there, or that it is nothing at all.
fn behind_quotes(text: &str, line: usize, column: usize) -> &'static str {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest: String = text[start..].chars().skip(column).collect();
    match rest.chars().next() {
        Some('@' | '`' | '%') => "unexpected character",
        Some(quote @ ('"' | '\'')) if !closes(&rest[1..], quote) => {
            "while scanning a quoted scalar, found unexpected end of stream"
        }
        _ => "more",
    }
}

fn closes(text: &str, quote: char) -> bool {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' if quote == '"' => drop(rest.next()),
            c if c == quote => return true,
            _ => {}
        }
    }
    false
}

// A quoted text at the beginning of a line is a key if a colon follows anywhere on it.
fn is_key(text: &str, line: usize, column: usize, inside: Inside) -> bool {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let rest: String = line.chars().skip(column).collect();
    let colon = rest.contains(": ") || rest.contains(":\t") || rest.ends_with(':');
    matches!(inside, Inside::Nothing | Inside::List) && colon
}

// Whether what should stand before a bracket does.
fn is_late(text: &str, line: usize, column: usize, inside: Inside) -> bool {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let before: String = line.chars().take(column).collect();
    match inside {
        _ if before.trim_end().ends_with('-') => false,
        Inside::Map { has_key } => !has_key,
        Inside::List => true,
        _ => false,
    }
}

// The name after the asterisk.
pub(super) fn alias_at(text: &str, line: usize, column: usize) -> String {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let rest: String = line.chars().skip(column).collect();
    let rest = rest.strip_prefix('*').unwrap_or(&rest);
    rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).collect()
}
