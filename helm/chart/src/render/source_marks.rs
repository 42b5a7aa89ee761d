//! Marks in a template that appear in its output and identify the source of each part.
//!
//! A mark is inserted before the first character of each non-blank line, unless `{{-` and `-}}` trim there. Before an
//! action with output, another action writes the mark and takes over the trimming. The output of a marked template is
//! the unmarked output plus the marks.

/// Private use characters at the start and end of a mark.
const BEGIN: char = '\u{e0f0}';
const END: char = '\u{e0f1}';

/// Keywords of actions without output of their own.
const KEYWORDS: [&str; 8] = ["if", "else", "end", "range", "with", "define", "break", "continue"];

/// Returns the template with marks, which contain its number.
pub fn add_marks(source: &str, file: usize) -> String {
    let mut out = String::with_capacity(source.len() * 2);
    let (mut line, mut column) = (1, 1);
    let mut fresh = true;
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let mark = format!("{BEGIN}{file}:{line}:{column}{END}");
        if rest.starts_with("{{") {
            let length = action_length(rest);
            let (open, inner) = split_opening(&rest[..length]);
            advance(&rest[..length], &mut line, &mut column);
            if writes_output(inner) {
                out.push_str(&format!("{open}\"{mark}\" }}}}{{{{ {inner}"));
            } else {
                out.push_str(&rest[..length]);
            }
            rest = &rest[length..];
            continue;
        }
        if fresh && !next.is_whitespace() {
            out.push_str(&mark);
            fresh = false;
        }
        fresh = fresh || next == '\n';
        advance(&rest[..next.len_utf8()], &mut line, &mut column);
        out.push(next);
        rest = &rest[next.len_utf8()..];
    }
    out
}

/// Splits an action into its opening delimiter and the rest.
fn split_opening(action: &str) -> (&str, &str) {
    let trims = action.strip_prefix("{{-").is_some_and(|rest| rest.starts_with([' ', '\t', '\r', '\n']));
    let length = if trims { 4 } else { 2 };
    (&action[..length], &action[length..])
}

/// Whether an action has output: it is not a keyword or a comment, and sets no variable.
fn writes_output(inner: &str) -> bool {
    let inner = inner.trim_start();
    let word = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
    let keyword = KEYWORDS.contains(&&inner[..word]) || inner.starts_with("/*");
    let variable = inner.starts_with('$') && (inner.contains(":=") || inner.contains('='));
    inner.ends_with("}}") && !keyword && !variable
}

fn advance(text: &str, line: &mut usize, column: &mut usize) {
    for next in text.chars() {
        if next == '\n' {
            *line += 1;
            *column = 1;
        } else {
            *column += 1;
        }
    }
}

/// Returns the length of the action at the start of a text, including strings and comments.
fn action_length(text: &str) -> usize {
    let inner = text[2..].trim_start_matches(['-', ' ']);
    if inner.starts_with("/*") {
        return text.find("*/").and_then(|end| text[end..].find("}}").map(|at| end + at + 2)).unwrap_or(text.len());
    }
    let bytes = text.as_bytes();
    let (mut at, mut quote) = (2, None);
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (None, b'"' | b'`' | b'\'') => quote = Some(bytes[at]),
            (Some(b'"' | b'\''), b'\\') => at += 1,
            (Some(open), byte) if open == byte => quote = None,
            (None, b'}') if text[at..].starts_with("}}") => return at + 2,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// Output of a marked template, split into text and marks.
pub struct SourceMarks {
    text: String,
    /// Byte offset of each mark in the text, and its position.
    at: Vec<(usize, MarkPosition)>,
}

/// Source position that a mark identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkPosition {
    /// Number of the template.
    pub file: usize,
    /// Line, counted from 1.
    pub line: usize,
    /// Column, counted from 1.
    pub column: usize,
}

impl SourceMarks {
    /// Extracts the marks from the output.
    pub fn extract(written: &str) -> Self {
        let mut marks = Self { text: String::with_capacity(written.len()), at: Vec::new() };
        let mut parts = written.split(BEGIN);
        marks.text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (place, text) = part.split_once(END).unwrap_or(("", part));
            let numbers: Vec<usize> = place.split(':').filter_map(|number| number.parse().ok()).collect();
            if let [file, line, column] = numbers[..] {
                marks.at.push((marks.text.len(), MarkPosition { file, line, column }));
            }
            marks.text.push_str(text);
        }
        marks
    }

    /// Returns the output without marks.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the mark that best explains a byte: a later one of the same template on the same line, or the last one
    /// before it.
    pub fn last_before(&self, offset: usize) -> Option<MarkPosition> {
        let end = self.text[offset.min(self.text.len())..].find('\n').map_or(self.text.len(), |at| offset + at);
        let behind = self.at.partition_point(|(at, _)| *at <= offset);
        let first = self.at[..behind].last().map(|(_, marked)| *marked);
        let alike = |marked: &MarkPosition| first.is_none_or(|first| first.file == marked.file);
        // A value in the middle of the line is the more likely cause.
        let on_line = self.at[behind..].iter().take_while(|(at, _)| *at <= end).map(|(_, marked)| *marked);
        on_line.filter(alike).last().or(first)
    }
}

#[cfg(test)]
mod tests;
