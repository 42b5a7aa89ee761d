//! YAML as PyYAML's safe loader reads it, with the line of every field.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Value};

use super::lines::{Lines, escaped};
use super::plain::{Plain, plain};

/// How deep a document may nest.
pub const MAX_DEPTH: usize = 100;
/// How many values a document may have, those that aliases repeat included.
pub const MAX_NODES: usize = 4_000_000;
/// How many of them aliases may make: a bomb is small and all aliases.
pub const MAX_ALIASED_NODES: usize = 100_000;

/// Text that is not YAML, or YAML that JSON has no form for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct YamlError {
    /// What is wrong.
    pub message: String,
    /// The line it was found at, counted from one.
    pub line: usize,
}

/// What becomes of dates and times, which JSON does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// They are the text they were written as.
    Text,
    /// They are an error, as they are to a program that prints JSON.
    Refused,
}

/// Reads the one document of a text.
///
/// # Errors
/// When the text is not YAML, holds several documents, or is not within bounds.
pub fn read(text: &str, times: Times) -> Result<Value, YamlError> {
    Reader::new(text, times, false).document().map(|(value, _)| value)
}

/// Reads the one document of a text, and notes where each field stands.
///
/// # Errors
/// As [`read`].
pub fn read_with_lines(text: &str) -> Result<(Value, Lines), YamlError> {
    Reader::new(text, Times::Text, true).document()
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    times: Times,
    lines: Option<Lines>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, (Value, usize)>,
    nodes: usize,
    aliased: usize,
}

struct Open {
    anchor: usize,
    size: usize,
    content: Content,
}

enum Content {
    List(Vec<Value>),
    Map { map: Map<String, Value>, merged: Map<String, Value>, key: Option<Key> },
}

enum Key {
    Named(String),
    Merge,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, times: Times, with_lines: bool) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            parser: Parser::new_from_str(text),
            times,
            lines: with_lines.then(Lines::default),
            open: Vec::new(),
            anchors: BTreeMap::new(),
            nodes: 0,
            aliased: 0,
        }
    }

    fn document(mut self) -> Result<(Value, Lines), YamlError> {
        let mut document = None;
        let mut documents = 0;
        while let Some(event) = self.parser.next_event() {
            let (event, span) =
                event.map_err(|error| YamlError { message: error.info().to_string(), line: error.marker().line() })?;
            if let Event::DocumentStart(_) = event {
                documents += 1;
                if documents > 1 {
                    return Err(at(span, "a second document begins; a file holds one"));
                }
            }
            if let Some(value) = self.take(event, span)? {
                document = Some(value);
            }
        }
        Ok((document.unwrap_or(Value::Null), self.lines.unwrap_or_default()))
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<Option<Value>, YamlError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => self.scalar(&text, style, anchor, tag.as_deref(), span),
            Event::Alias(id) => {
                let Some((value, size)) = self.anchors.get(&id).cloned() else {
                    return Err(at(span, "an anchor is used inside of itself"));
                };
                self.aliased += size;
                if self.aliased > MAX_ALIASED_NODES {
                    return Err(at(span, format!("aliases make more than {MAX_ALIASED_NODES} values")));
                }
                self.note(span);
                self.place(value, size, span)
            }
            Event::SequenceStart(anchor, _) => self.push(anchor, Content::List(Vec::new()), span),
            Event::MappingStart(anchor, _) => {
                let content = Content::Map { map: Map::new(), merged: Map::new(), key: None };
                self.push(anchor, content, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            _ => Ok(None),
        }
    }

    fn push(&mut self, anchor: usize, content: Content, span: Span) -> Result<Option<Value>, YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(at(span, format!("nests deeper than {MAX_DEPTH}")));
        }
        if matches!(self.open.last(), Some(Open { content: Content::Map { key: None, .. }, .. })) {
            return Err(at(span, "a list or a map cannot be a key"));
        }
        self.note(span);
        self.open.push(Open { anchor, size: 1, content });
        Ok(None)
    }

    fn close(&mut self, span: Span) -> Result<Option<Value>, YamlError> {
        let Some(open) = self.open.pop() else { return Ok(None) };
        let value = match open.content {
            Content::List(list) => Value::Array(list),
            Content::Map { map, mut merged, .. } => {
                merged.extend(map);
                Value::Object(merged)
            }
        };
        self.remember(open.anchor, &value, open.size);
        self.place(value, open.size, span)
    }

    fn remember(&mut self, anchor: usize, value: &Value, size: usize) {
        // What is kept is never larger than what aliases may make of it.
        if anchor != 0 && size <= MAX_ALIASED_NODES {
            self.anchors.insert(anchor, (value.clone(), size));
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<Option<Value>, YamlError> {
        let implicit = style == ScalarStyle::Plain && tag.is_none();
        if let Some(Open { content: Content::Map { key: key @ None, .. }, .. }) = self.open.last_mut() {
            *key = Some(if implicit && text == "<<" { Key::Merge } else { Key::Named(key_text(text, implicit)) });
            return Ok(None);
        }
        self.note(span);
        let value = match tag {
            None if implicit => self.meaning(text, span)?,
            None => Value::String(text.to_string()),
            Some(tag) if tag.is_yaml_core_schema() => match &*tag.suffix {
                "str" | "binary" => Value::String(text.to_string()),
                "null" | "bool" | "int" | "float" | "timestamp" => self.meaning(text, span)?,
                _ => return Err(at(span, format!("no value is made of the tag {tag}"))),
            },
            Some(tag) => return Err(at(span, format!("no value is made of the tag {tag}"))),
        };
        self.remember(anchor, &value, 1);
        self.place(value, 1, span)
    }

    fn meaning(&self, text: &str, span: Span) -> Result<Value, YamlError> {
        match plain(text) {
            Plain::Value(value) => Ok(value),
            Plain::Time if self.times == Times::Refused => {
                Err(at(span, format!("{text} is a date, which JSON does not have")))
            }
            Plain::Unbounded => Err(at(span, format!("{text} is a number that JSON does not have"))),
            Plain::Text | Plain::Time => Ok(Value::String(text.to_string())),
        }
    }

    /// Puts a complete value where it belongs; gives it back when it is the document.
    fn place(&mut self, value: Value, size: usize, span: Span) -> Result<Option<Value>, YamlError> {
        self.nodes += size;
        if self.nodes > MAX_NODES {
            return Err(at(span, format!("holds more than {MAX_NODES} values")));
        }
        let Some(open) = self.open.last_mut() else { return Ok(Some(value)) };
        open.size += size;
        match &mut open.content {
            Content::List(list) => list.push(value),
            Content::Map { map, merged, key } => match key.take() {
                Some(Key::Named(name)) => drop(map.insert(name, value)),
                Some(Key::Merge) => merge(merged, value).map_err(|message| at(span, message))?,
                None => return Err(at(span, "a list or a map cannot be a key")),
            },
        }
        Ok(None)
    }

    fn note(&mut self, span: Span) {
        let Some(lines) = &mut self.lines else { return };
        let mut pointer = String::new();
        for open in &self.open {
            match &open.content {
                Content::List(list) => pointer.push_str(&format!("/{}", list.len())),
                Content::Map { key: Some(Key::Named(name)), .. } => pointer.push_str(&format!("/{}", escaped(name))),
                Content::Map { .. } => return,
            }
        }
        lines.note(&pointer, span.start.line());
    }
}

/// Earlier maps take precedence over later ones, and what is written out over all of them.
fn merge(merged: &mut Map<String, Value>, value: Value) -> Result<(), &'static str> {
    let maps = match value {
        Value::Array(list) => list,
        one => vec![one],
    };
    for map in maps {
        let Value::Object(map) = map else { return Err("only maps can be merged") };
        for (key, value) in map {
            merged.entry(key).or_insert(value);
        }
    }
    Ok(())
}

/// A key as Python's JSON writes it.
fn key_text(text: &str, implicit: bool) -> String {
    match plain(text) {
        Plain::Value(Value::String(text)) => text,
        Plain::Value(value) if implicit => value.to_string(),
        _ => text.to_string(),
    }
}

fn at(span: Span, message: impl Into<String>) -> YamlError {
    YamlError { message: message.into(), line: span.start.line() }
}

#[cfg(test)]
mod tests;
