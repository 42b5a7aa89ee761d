//! Marks in a template's text that come out with what it writes and say where that came from.
//!
//! A mark stands before the first character of each line that is no blank, and before actions within lines, so it never
//! stands where `{{-` or `-}}` would take blanks away: a marked template writes what it wrote, and the marks.

/// The private characters a mark begins and ends with.
const BEGIN: char = '\u{e0f0}';
const END: char = '\u{e0f1}';

/// The template with marks.
pub fn mark(source: &str) -> String {
    let mut out = String::with_capacity(source.len() * 2);
    let (mut line, mut column) = (1, 1);
    let mut fresh = true;
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        if rest.starts_with("{{") {
            let length = action(rest);
            // In front of a trimming action a mark would be in the way; in a line of its own an action needs none.
            if !fresh && !rest.starts_with("{{-") {
                out.push_str(&format!("{BEGIN}{line}:{column}{END}"));
            }
            advance(&rest[..length], &mut line, &mut column);
            out.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        if fresh && !next.is_whitespace() {
            out.push_str(&format!("{BEGIN}{line}:{column}{END}"));
            fresh = false;
        }
        fresh = fresh || next == '\n';
        advance(&rest[..next.len_utf8()], &mut line, &mut column);
        out.push(next);
        rest = &rest[next.len_utf8()..];
    }
    out
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
    /// The byte of the text each mark stood before, and the line and column it names.
    at: Vec<(usize, usize, usize)>,
}

impl Marks {
    /// Takes the marks out.
    pub fn read(written: &str) -> Self {
        let mut marks = Self { text: String::with_capacity(written.len()), at: Vec::new() };
        let mut parts = written.split(BEGIN);
        marks.text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (place, text) = part.split_once(END).unwrap_or(("", part));
            if let Some((line, column)) = place.split_once(':')
                && let (Ok(line), Ok(column)) = (line.parse(), column.parse())
            {
                marks.at.push((marks.text.len(), line, column));
            }
            marks.text.push_str(text);
        }
        marks
    }

    /// What was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line and column of the last mark at or before a byte; marks of the same line before others.
    pub fn last_before(&self, offset: usize) -> Option<(usize, usize)> {
        let end = self.text[offset.min(self.text.len())..].find('\n').map_or(self.text.len(), |at| offset + at);
        let behind = self.at.partition_point(|(at, ..)| *at <= offset);
        // A value that is written in the middle of the line is what the line is about.
        let on_line = self.at[behind..].iter().take_while(|(at, ..)| *at <= end).last();
        let found = on_line.or_else(|| self.at[..behind].last())?;
        Some((found.1, found.2))
    }
}

#[cfg(test)]
mod tests;
