//! Checks for texts that the parser accepts and go-yaml refuses: tabs in indentation, and an unknown escape.
//!
//! Only texts with a tab or `\/` are checked; nearly none have one.

use std::borrow::Cow;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::YamlError;
use super::lines::LineIndex;

const VIOLATES: &str = "found a tab character that violates indentation";
const NO_TOKEN: &str = "found character that cannot start any token";
const NO_SPACE: &str = "found a tab character where an indentation space is expected";
const NO_ESCAPE: &str = "found unknown escape character";

/// Replaces U+2028 and U+2029, which end lines in go-yaml. In quotes they stay, because there they make no difference.
pub(super) fn replace_separators(text: Cow<'_, str>) -> Cow<'_, str> {
    const SEPARATORS: [char; 2] = ['\u{2028}', '\u{2029}'];
    if !text.contains(SEPARATORS) {
        return text;
    }
    let places = StrictChecker { text: &text, lines: LineIndex::of(&text), open: Vec::new() };
    let mut parser = Parser::new_from_str(&text);
    let mut quoted = Vec::new();
    while let Some(Ok((event, span))) = parser.next_event() {
        if let Event::Scalar(_, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted, ..) = event {
            quoted.push(places.quoted(span));
        }
    }
    quoted.sort_by_key(|range| range.start);
    let mut quoted = quoted.into_iter().peekable();
    // End of the quoted scalars that began so far.
    let mut reach = 0;
    let exchanged = text.char_indices().map(|(at, c)| {
        while let Some(range) = quoted.next_if(|range| range.start <= at) {
            reach = reach.max(range.end);
        }
        if SEPARATORS.contains(&c) && at >= reach { '\n' } else { c }
    });
    Cow::Owned(exchanged.collect())
}

/// Checker that follows the events of a text.
pub(super) struct StrictChecker<'a> {
    text: &'a str,
    lines: LineIndex<'a>,
    /// Columns of the open collections; `None` for one in brackets.
    open: Vec<Option<usize>>,
}

impl<'a> StrictChecker<'a> {
    /// Creates a checker, if the text needs one.
    pub fn of(text: &'a str) -> Option<Self> {
        if !(text.contains('\t') || text.contains("\\/")) {
            return None;
        }
        Some(Self { text, lines: LineIndex::of(text), open: Vec::new() })
    }

    /// Checks an event and the text after it.
    ///
    /// # Errors
    /// With go-yaml's text.
    pub fn event(&mut self, event: &Event<'_>, span: Span) -> Result<(), YamlError> {
        match event {
            Event::StreamStart => self.tokens(0, false),
            Event::DocumentStart(true) => self.tokens(self.end(span), true),
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                let bracket = self.text[self.start(span)..].starts_with(['[', '{']);
                let inside = self.open.last().is_some_and(Option::is_none);
                self.open.push((!bracket && !inside).then(|| span.start.col()));
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let was = self.open.pop().flatten();
                if was.is_none() && self.in_block() { self.tokens(self.end(span), true) } else { Ok(()) }
            }
            Event::Scalar(_, ScalarStyle::DoubleQuoted, ..) => {
                self.escapes(span)?;
                if self.in_block() { self.tokens(self.quoted(span).end, true) } else { Ok(()) }
            }
            Event::Scalar(_, ScalarStyle::SingleQuoted, ..) if self.in_block() => {
                self.tokens(self.quoted(span).end, true)
            }
            // An empty scalar has no text of its own.
            Event::Scalar(text, ScalarStyle::Plain, ..) if self.in_block() && !text.is_empty() => self.plain(span),
            Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..) => self.block(span),
            _ => Ok(()),
        }
    }

    fn in_block(&self) -> bool {
        self.open.last().is_none_or(Option::is_some)
    }

    fn start(&self, span: Span) -> usize {
        self.lines.byte(span.start.line(), span.start.col())
    }

    fn end(&self, span: Span) -> usize {
        self.lines.byte(span.end.line(), span.end.col())
    }

    /// Returns the range of a quoted scalar. The parser's end may lie after a comment.
    fn quoted(&self, span: Span) -> Range<usize> {
        let start = self.start(span);
        let bytes = &self.text.as_bytes()[start..];
        let Some(quote) = bytes.first().copied().filter(|byte| matches!(byte, b'"' | b'\'')) else {
            return start..self.end(span).max(start);
        };
        let mut at = 1;
        while let Some(byte) = bytes.get(at) {
            match (*byte, bytes.get(at + 1)) {
                (b'\\', _) if quote == b'"' => at += 2,
                (b'\'', Some(b'\'')) if quote == b'\'' => at += 2,
                (byte, _) if byte == quote => return start..start + at + 1,
                _ => at += 1,
            }
        }
        start..self.text.len()
    }

    /// Returns go-yaml's error, which does not name the first line.
    fn error_at(&self, at: usize, problem: &str) -> YamlError {
        let (line, column) = self.lines.place(at);
        let place = if line > 1 { format!("line {line}: ") } else { String::new() };
        YamlError { message: format!("yaml: {place}{problem}"), problem: problem.to_string(), line, column }
    }

    fn escapes(&self, span: Span) -> Result<(), YamlError> {
        let range = self.quoted(span);
        let (start, inside) = (range.start, &self.text.as_bytes()[range]);
        let mut at = 0;
        while at + 1 < inside.len() {
            match (inside[at], inside[at + 1]) {
                (b'\\', b'/') => return Err(self.error_at(start + at, NO_ESCAPE)),
                (b'\\', _) => at += 2,
                _ => at += 1,
            }
        }
        Ok(())
    }

    /// Checks the lines after a plain scalar. go-yaml looks for a continuation line, before which a tab is not allowed.
    fn plain(&self, span: Span) -> Result<(), YamlError> {
        let indent = self.open.last().copied().flatten().map_or(0, |column| column + 1);
        let end = self.end(span);
        let (mut column, mut leading) = (0, false);
        for (offset, byte) in self.text[end..].bytes().enumerate() {
            match byte {
                b'\n' => (column, leading) = (0, true),
                b'\t' if leading && column < indent => return Err(self.error_at(end + offset, VIOLATES)),
                b' ' | b'\t' => column += 1,
                // A comment ends the scalar; the following lines begin tokens.
                b'#' => return self.tokens(end + offset, true),
                b':' | b',' if !leading => return self.tokens(end + offset, true),
                // Value of a key that began with a question mark.
                b':' => return self.tokens(end + offset + 1, false),
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Checks a block scalar, whose lines must be indented with spaces only. Skips one with an explicit indentation.
    fn block(&self, span: Span) -> Result<(), YamlError> {
        let least = self.open.last().copied().flatten().map_or(0, |column| column + 1);
        // The parser may report the position of the first line instead of the header's.
        let start = self.start(span);
        let named =
            if self.text[start..].starts_with(['|', '>']) { Some(start) } else { self.text[..start].rfind(['|', '>']) };
        let Some(start) = named else { return Ok(()) };
        let mut lines = self.text[start..].split_inclusive('\n');
        let header = lines.next().unwrap_or_default();
        if header[1..].trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(());
        }
        let (mut at, mut indent) = (start + header.len(), None);
        for line in lines {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            let inside = indent.is_some_and(|indent| spaces >= indent);
            match line[spaces..].chars().next() {
                _ if inside => {}
                Some('\t') => return Err(self.error_at(at + spaces, NO_SPACE)),
                None | Some('\n') => {}
                Some(_) if indent.is_some() || spaces < least => return Ok(()),
                Some(_) => indent = Some(spaces),
            }
            at += line.len();
        }
        Ok(())
    }

    /// Checks for tabs between tokens of a block, at the start of a line or after a hyphen.
    ///
    /// `tabs` is whether a tab is allowed right here.
    fn tokens(&self, from: usize, mut tabs: bool) -> Result<(), YamlError> {
        let mut rest = self.text[from..].bytes().enumerate().peekable();
        while let Some((offset, byte)) = rest.next() {
            match byte {
                b'\n' => tabs = false,
                b'\t' if !tabs => return Err(self.error_at(from + offset, NO_TOKEN)),
                b' ' | b'\t' => {}
                b'#' => while rest.next_if(|(_, byte)| *byte != b'\n').is_some() {},
                b':' if tabs || rest.peek().is_some_and(|(_, next)| matches!(next, b' ' | b'\t')) => {}
                b'-' if rest.peek().is_some_and(|(_, next)| matches!(next, b' ' | b'\t')) => tabs = false,
                _ => return Ok(()),
            }
        }
        Ok(())
    }
}
