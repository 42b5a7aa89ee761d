//! Marks in a template's text that come out with what it writes and say where that came from.
//!
//! A mark stands before the first character of each line that is no blank, where `{{-` and `-}}` take nothing away. Before
//! an action that writes something stands another action that writes the mark, and takes away what the first one would: a
//! marked template writes what it wrote, and the marks.

/// The private characters a mark begins and ends with.
const BEGIN: char = '\u{e0f0}';
const END: char = '\u{e0f1}';

/// Words that begin an action which writes nothing itself.
const KEYWORDS: [&str; 8] = ["if", "else", "end", "range", "with", "define", "break", "continue"];

/// The template with marks, which name it by a number.
pub fn mark(source: &str, file: usize) -> String {
    let mut out = String::with_capacity(source.len() * 2);
    let (mut line, mut column) = (1, 1);
    let mut fresh = true;
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        let mark = format!("{BEGIN}{file}:{line}:{column}{END}");
        if rest.starts_with("{{") {
            let length = action(rest);
            let (open, inner) = opened(&rest[..length]);
            advance(&rest[..length], &mut line, &mut column);
            if writes(inner) {
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

/// What an action begins with, and the rest of it.
fn opened(action: &str) -> (&str, &str) {
    let trims = action.strip_prefix("{{-").is_some_and(|rest| rest.starts_with([' ', '\t', '\r', '\n']));
    let length = if trims { 4 } else { 2 };
    (&action[..length], &action[length..])
}

/// Whether an action writes something: it is no keyword, no comment, and sets no variable.
fn writes(inner: &str) -> bool {
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

/// The length of the action a text begins with, strings and comments inside it passed over.
fn action(text: &str) -> usize {
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

/// What a marked template wrote, divided into its text and its marks.
pub struct Marks {
    text: String,
    /// The byte of the text each mark stood before, and what it names.
    at: Vec<(usize, Marked)>,
}

/// What a mark names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    /// The number of the template.
    pub file: usize,
    /// The line, counted from one.
    pub line: usize,
    /// The column, counted from one.
    pub column: usize,
}

impl Marks {
    /// Takes the marks out.
    pub fn read(written: &str) -> Self {
        let mut marks = Self { text: String::with_capacity(written.len()), at: Vec::new() };
        let mut parts = written.split(BEGIN);
        marks.text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (place, text) = part.split_once(END).unwrap_or(("", part));
            let numbers: Vec<usize> = place.split(':').filter_map(|number| number.parse().ok()).collect();
            if let [file, line, column] = numbers[..] {
                marks.at.push((marks.text.len(), Marked { file, line, column }));
            }
            marks.text.push_str(text);
        }
        marks
    }

    /// What was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The last mark at or before a byte; marks of the same line and template before others.
    pub fn last_before(&self, offset: usize) -> Option<Marked> {
        let end = self.text[offset.min(self.text.len())..].find('\n').map_or(self.text.len(), |at| offset + at);
        let behind = self.at.partition_point(|(at, _)| *at <= offset);
        let first = self.at[..behind].last().map(|(_, marked)| *marked);
        let alike = |marked: &Marked| first.is_none_or(|first| first.file == marked.file);
        // A value that is written in the middle of the line is what the line is about.
        let on_line = self.at[behind..].iter().take_while(|(at, _)| *at <= end).map(|(_, marked)| *marked);
        on_line.filter(alike).last().or(first)
    }
}

#[cfg(test)]
mod tests;
