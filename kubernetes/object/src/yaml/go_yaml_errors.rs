//! Translation of the parser's errors to go-yaml's.

use saphyr_parser::{Marker, ScanError};

use super::YamlError;
use super::lines::LineIndex;

/// Innermost construct that the parser is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParserContext {
    Nothing,
    List,
    Map {
        /// Whether the value of a key is expected.
        has_key: bool,
    },
    /// List in brackets.
    Brackets,
    /// Map in braces.
    Braces,
}

impl ParserContext {
    /// Returns go-yaml's text about the expected token.
    fn expectation(self) -> &'static str {
        match self {
            Self::Nothing => "did not find expected <document start>",
            Self::List => "did not find expected '-' indicator",
            Self::Map { .. } => "did not find expected key",
            Self::Brackets => "did not find expected ',' or ']'",
            Self::Braces => "did not find expected ',' or '}'",
        }
    }
}

/// Translates a parser error to go-yaml's.
pub(super) fn go_yaml_error(text: &str, error: &ScanError, inside: ParserContext) -> YamlError {
    let mark = error.marker();
    // go-yaml continues after a quoted scalar.
    let behind = error.info().starts_with("invalid trailing content");
    let info = if behind { trailing_content_error(text, mark.line(), mark.col()) } else { error.info() };
    // go-yaml reports an unclosed collection at the end of the text.
    let last = 1 + text.matches('\n').count();
    // A comment ends a scalar. The next line is then unexpected, or the key before it has no value.
    let key = info == COMMENT && matches!(inside, ParserContext::Map { .. }) && !has_colon(text, mark.line());
    let line = match info {
        COMMENT => next_content_line(text, mark.line()).unwrap_or(last),
        _ if info.ends_with("end of stream") => last,
        // The error is about the tab, not about the text before it.
        _ if info.ends_with("found a tab") => next_tab_line(text, mark.line()).unwrap_or(mark.line()),
        _ => mark.line(),
    };
    let words = match info.strip_prefix("while ").and_then(|rest| rest.split_once(", ")) {
        Some((_, "found unknown anchor")) => {
            let name = alias_at(text, mark.line(), mark.col());
            let problem = format!("unknown anchor '{name}' referenced");
            let message = format!("yaml: {problem}");
            return YamlError { message, problem, line: mark.line(), column: mark.col() + 1 };
        }
        Some((_, "did not find expected ',' or '}'")) if inside == ParserContext::Brackets => {
            inside.expectation().to_string()
        }
        Some((_, "found a tab")) => "found a tab character that violates indentation".to_string(),
        Some((_, rest)) if rest.starts_with("expected") => format!("did not find {rest}"),
        // go-yaml's spelling.
        Some((_, rest)) => rest.replace("hexadecimal", "hexdecimal"),
        None => match info {
            "simple key expect ':'" | "simple key expected" => "could not find expected ':'".to_string(),
            "a block scalar content cannot start with a tab" => {
                "found a tab character where an indentation space is expected".to_string()
            }
            COMMENT if key => "could not find expected ':'".to_string(),
            COMMENT => inside.expectation().to_string(),
            // The character is a tab.
            "expected whitespace" => "found character that cannot start any token".to_string(),
            "missing explicit document end marker before directive" => "found unknown directive name".to_string(),
            "more" if is_key(text, mark.line(), mark.col(), inside) => {
                ParserContext::Map { has_key: false }.expectation().to_string()
            }
            "more" | "illegal placement of ':' indicator" => inside.expectation().to_string(),
            "misplaced bracket" if lacks_separator(text, mark.line(), mark.col(), inside) => {
                inside.expectation().to_string()
            }
            "misplaced bracket" => "did not find expected node content".to_string(),
            _ if info.starts_with("unexpected character") || info.contains("tab") => {
                "found character that cannot start any token".to_string()
            }
            _ => info.to_string(),
        },
    };
    // go-yaml counts a parser's lines from zero and a scanner's from one, and does not name the first.
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

/// Error of the parser about a comment between the lines of a scalar.
const COMMENT: &str = "comment intercepting the multiline text";

// Whether a line has a colon before its comment.
fn has_colon(text: &str, line: usize) -> bool {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    line.split(" #").next().unwrap_or_default().contains(": ")
}

/// Returns go-yaml's error for a line that begins with a colon, unless the colon belongs to a question mark.
pub(super) fn missing_key_error(
    lines: &LineIndex<'_>,
    at: Marker,
    inside: impl Fn() -> ParserContext,
) -> Option<YamlError> {
    let (line, column) = (at.line(), at.col());
    let content = lines.at(line);
    let before = content.get(..column)?;
    if !content[column..].starts_with(':') || !before.trim().chars().all(|c| matches!(c, '-' | ' ')) {
        return None;
    }
    let above = (1..line).rev().map(|line| lines.at(line)).find(|line| !line.trim().is_empty());
    let asked = above.is_some_and(|line| line.trim_end().ends_with('?'));
    let block = !asked
        && matches!(inside(), ParserContext::Nothing | ParserContext::List | ParserContext::Map { has_key: false });
    block.then(|| {
        let problem = ParserContext::Map { has_key: false }.expectation().to_string();
        let place = if line > 1 { format!("line {}: ", line - 1) } else { String::new() };
        YamlError { message: format!("yaml: {place}{problem}"), problem, line, column: column + 1 }
    })
}

// Returns the next line that has more than a comment.
fn next_content_line(text: &str, line: usize) -> Option<usize> {
    let content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    text.lines().enumerate().skip(line).find(|(_, line)| content(line)).map(|(index, _)| index + 1)
}

// Returns the next line with a tab in its indentation.
fn next_tab_line(text: &str, line: usize) -> Option<usize> {
    let indented = |line: &str| {
        line.len() != line.trim_start().len() && line[..line.len() - line.trim_start().len()].contains('\t')
    };
    text.lines().enumerate().skip(line).find(|(_, line)| indented(line)).map(|(index, _)| index + 1)
}

// Returns the error after a quoted scalar: unexpected content, or nothing at all.
fn trailing_content_error(text: &str, line: usize, column: usize) -> &'static str {
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

// Whether a quoted scalar at the start of a line is a key, which means that a colon follows anywhere on the line.
fn is_key(text: &str, line: usize, column: usize, inside: ParserContext) -> bool {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let rest: String = line.chars().skip(column).collect();
    let colon = rest.contains(": ") || rest.contains(":\t") || rest.ends_with(':');
    matches!(inside, ParserContext::Nothing | ParserContext::List) && colon
}

// Whether the separator that should precede a bracket is missing.
fn lacks_separator(text: &str, line: usize, column: usize, inside: ParserContext) -> bool {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let before: String = line.chars().take(column).collect();
    match inside {
        _ if before.trim_end().ends_with('-') => false,
        ParserContext::Map { has_key } => !has_key,
        ParserContext::List => true,
        _ => false,
    }
}

// Returns the alias name after the asterisk.
pub(super) fn alias_at(text: &str, line: usize, column: usize) -> String {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let rest: String = line.chars().skip(column).collect();
    let rest = rest.strip_prefix('*').unwrap_or(&rest);
    rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).collect()
}
