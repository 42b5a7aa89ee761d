//! Texts that a milder parser reads and go-yaml refuses: tabs where indentation is, and an escape it does not know.
//!
//! Looked at only in texts that hold a tab or `\/`; nearly none do.

use std::borrow::Cow;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::YamlError;
use super::lines::Lines;

const VIOLATES: &str = "found a tab character that violates indentation";
const NO_TOKEN: &str = "found character that cannot start any token";
const NO_SPACE: &str = "found a tab character where an indentation space is expected";
const NO_ESCAPE: &str = "found unknown escape character";

/// U+2028 and U+2029 end lines for go-yaml; in quotes they stay what they are, and nobody sees the difference.
pub(super) fn separated(text: Cow<'_, str>) -> Cow<'_, str> {
    const SEPARATORS: [char; 2] = ['\u{2028}', '\u{2029}'];
    if !text.contains(SEPARATORS) {
        return text;
    }
    let places = Strict { text: &text, lines: Lines::of(&text), open: Vec::new() };
    let mut parser = Parser::new_from_str(&text);
    let mut quoted = Vec::new();
    while let Some(Ok((event, span))) = parser.next_event() {
        if let Event::Scalar(_, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted, ..) = event {
            quoted.push(places.quoted(span));
        }
    }
    quoted.sort_by_key(|range| range.start);
    let mut quoted = quoted.into_iter().peekable();
    // How far those in quotes reach that began so far.
    let mut reach = 0;
    let exchanged = text.char_indices().map(|(at, c)| {
        while let Some(range) = quoted.next_if(|range| range.start <= at) {
            reach = reach.max(range.end);
        }
        if SEPARATORS.contains(&c) && at >= reach { '\n' } else { c }
    });
    Cow::Owned(exchanged.collect())
}

/// Follows the events of a text.
pub(super) struct Strict<'a> {
    text: &'a str,
    lines: Lines<'a>,
    /// The columns of the collections that are open; of one in brackets there is none.
    open: Vec<Option<usize>>,
}

impl<'a> Strict<'a> {
    /// For a text that needs looking at.
    pub fn of(text: &'a str) -> Option<Self> {
        if !(text.contains('\t') || text.contains("\\/")) {
            return None;
        }
        Some(Self { text, lines: Lines::of(text), open: Vec::new() })
    }

    /// Looks at an event and at what stands behind it.
    ///
    /// # Errors
    /// What go-yaml says.
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
            // An empty one has no text of its own.
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

    /// A text in quotes. The parser's own end of it may lie behind a comment.
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

    /// What go-yaml says; it is silent about the first line.
    fn refused(&self, at: usize, problem: &str) -> YamlError {
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
                (b'\\', b'/') => return Err(self.refused(start + at, NO_ESCAPE)),
                (b'\\', _) => at += 2,
                _ => at += 1,
            }
        }
        Ok(())
    }

    /// Behind a plain text its next line is looked for: a tab may not stand left of where that could begin.
    fn plain(&self, span: Span) -> Result<(), YamlError> {
        let indent = self.open.last().copied().flatten().map_or(0, |column| column + 1);
        let end = self.end(span);
        let (mut column, mut leading) = (0, false);
        for (offset, byte) in self.text[end..].bytes().enumerate() {
            match byte {
                b'\n' => (column, leading) = (0, true),
                b'\t' if leading && column < indent => return Err(self.refused(end + offset, VIOLATES)),
                b' ' | b'\t' => column += 1,
                // A comment ends the text; lines behind it begin tokens.
                b'#' => return self.tokens(end + offset, true),
                b':' | b',' if !leading => return self.tokens(end + offset, true),
                // What belongs to a key that began with a question mark.
                b':' => return self.tokens(end + offset + 1, false),
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// The lines of a text that stands as it is begin with spaces alone. One whose indentation is said is not looked at.
    fn block(&self, span: Span) -> Result<(), YamlError> {
        let least = self.open.last().copied().flatten().map_or(0, |column| column + 1);
        // The parser may name the place of the first line instead of that of its header.
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
                Some('\t') => return Err(self.refused(at + spaces, NO_SPACE)),
                None | Some('\n') => {}
                Some(_) if indent.is_some() || spaces < least => return Ok(()),
                Some(_) => indent = Some(spaces),
            }
            at += line.len();
        }
        Ok(())
    }

    /// Between tokens of a block no tab may stand at the beginning of a line, or behind a hyphen.
    ///
    /// `tabs` says whether one may stand right here.
    fn tokens(&self, from: usize, mut tabs: bool) -> Result<(), YamlError> {
        let mut rest = self.text[from..].bytes().enumerate().peekable();
        while let Some((offset, byte)) = rest.next() {
            match byte {
                b'\n' => tabs = false,
                b'\t' if !tabs => return Err(self.refused(from + offset, NO_TOKEN)),
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
