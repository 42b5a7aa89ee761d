//! YAML parser with the behavior of PyYAML's safe loader and the line of every field.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Value};

use super::lines::{FieldLines, escaped};
use super::plain_scalar::{PlainScalar, resolve};

/// Maximum nesting of a document.
pub const MAX_DEPTH: usize = 100;
/// Maximum number of values in a document, including those repeated by aliases.
pub const MAX_NODES: usize = 4_000_000;
/// Maximum number of values repeated by aliases, against documents that expand exponentially.
pub const MAX_ALIASED_NODES: usize = 100_000;

/// Error for text that is not YAML or has no JSON form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct PyYamlError {
    /// Message.
    pub message: String,
    /// Line, counted from one.
    pub line: usize,
}

/// Handling of dates and times, which JSON does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateHandling {
    /// Read as text.
    Text,
    /// Rejected, as by programs that print JSON.
    Refused,
}

/// Reads the single document of a text.
///
/// # Errors
/// If the text is not YAML, contains several documents, or exceeds a limit.
pub fn read(text: &str, times: DateHandling) -> Result<Value, PyYamlError> {
    YamlReader::new(text, times, false).document().map(|(value, _)| value)
}

/// Reads the single document of a text with the lines of its fields.
///
/// # Errors
/// The errors of [`read`].
pub fn read_with_lines(text: &str) -> Result<(Value, FieldLines), PyYamlError> {
    YamlReader::new(text, DateHandling::Text, true).document()
}

struct YamlReader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    times: DateHandling,
    lines: Option<FieldLines>,
    open: Vec<OpenNode>,
    anchors: BTreeMap<usize, (Value, usize)>,
    nodes: usize,
    aliased: usize,
}

struct OpenNode {
    anchor: usize,
    size: usize,
    content: NodeContent,
}

enum NodeContent {
    List(Vec<Value>),
    Map { map: Map<String, Value>, merged: Map<String, Value>, key: Option<MapKey> },
}

enum MapKey {
    Named(String),
    Merge,
}

impl<'a> YamlReader<'a> {
    fn new(text: &'a str, times: DateHandling, with_lines: bool) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self {
            parser: Parser::new_from_str(text),
            times,
            lines: with_lines.then(FieldLines::default),
            open: Vec::new(),
            anchors: BTreeMap::new(),
            nodes: 0,
            aliased: 0,
        }
    }

    fn document(mut self) -> Result<(Value, FieldLines), PyYamlError> {
        let mut document = None;
        let mut documents = 0;
        while let Some(event) = self.parser.next_event() {
            let (event, span) = event
                .map_err(|error| PyYamlError { message: error.info().to_string(), line: error.marker().line() })?;
            if let Event::DocumentStart(_) = event {
                documents += 1;
                if documents > 1 {
                    return Err(at(span, "a file must contain a single document"));
                }
            }
            if let Some(value) = self.take(event, span)? {
                document = Some(value);
            }
        }
        Ok((document.unwrap_or(Value::Null), self.lines.unwrap_or_default()))
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<Option<Value>, PyYamlError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => self.scalar(&text, style, anchor, tag.as_deref(), span),
            Event::Alias(id) => {
                let Some((value, size)) = self.anchors.get(&id).cloned() else {
                    return Err(at(span, "an anchor refers to itself"));
                };
                self.aliased += size;
                if self.aliased > MAX_ALIASED_NODES {
                    return Err(at(span, format!("aliases expand to more than {MAX_ALIASED_NODES} values")));
                }
                self.note(span);
                self.place(value, size, span)
            }
            Event::SequenceStart(anchor, _) => self.push(anchor, NodeContent::List(Vec::new()), span),
            Event::MappingStart(anchor, _) => {
                let content = NodeContent::Map { map: Map::new(), merged: Map::new(), key: None };
                self.push(anchor, content, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            _ => Ok(None),
        }
    }

    fn push(&mut self, anchor: usize, content: NodeContent, span: Span) -> Result<Option<Value>, PyYamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(at(span, format!("is nested deeper than {MAX_DEPTH}")));
        }
        if matches!(self.open.last(), Some(OpenNode { content: NodeContent::Map { key: None, .. }, .. })) {
            return Err(at(span, "a list or a map cannot be a key"));
        }
        self.note(span);
        self.open.push(OpenNode { anchor, size: 1, content });
        Ok(None)
    }

    fn close(&mut self, span: Span) -> Result<Option<Value>, PyYamlError> {
        let Some(open) = self.open.pop() else { return Ok(None) };
        let value = match open.content {
            NodeContent::List(list) => Value::Array(list),
            NodeContent::Map { map, mut merged, .. } => {
                merged.extend(map);
                Value::Object(merged)
            }
        };
        self.remember(open.anchor, &value, open.size);
        self.place(value, open.size, span)
    }

    fn remember(&mut self, anchor: usize, value: &Value, size: usize) {
        // Stored values are limited to the size that aliases may expand to.
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
    ) -> Result<Option<Value>, PyYamlError> {
        let implicit = style == ScalarStyle::Plain && tag.is_none();
        if let Some(OpenNode { content: NodeContent::Map { key: key @ None, .. }, .. }) = self.open.last_mut() {
            *key = Some(if implicit && text == "<<" { MapKey::Merge } else { MapKey::Named(key_text(text, implicit)) });
            return Ok(None);
        }
        self.note(span);
        let value = match tag {
            None if implicit => self.meaning(text, span)?,
            None => Value::String(text.to_string()),
            Some(tag) if tag.is_yaml_core_schema() => match &*tag.suffix {
                "str" | "binary" => Value::String(text.to_string()),
                "null" | "bool" | "int" | "float" | "timestamp" => self.meaning(text, span)?,
                _ => return Err(at(span, format!("unsupported tag {tag}"))),
            },
            Some(tag) => return Err(at(span, format!("unsupported tag {tag}"))),
        };
        self.remember(anchor, &value, 1);
        self.place(value, 1, span)
    }

    fn meaning(&self, text: &str, span: Span) -> Result<Value, PyYamlError> {
        match resolve(text) {
            PlainScalar::Value(value) => Ok(value),
            PlainScalar::Time if self.times == DateHandling::Refused => {
                Err(at(span, format!("{text} is a date, which JSON does not support")))
            }
            PlainScalar::Unbounded => Err(at(span, format!("{text} is a number that JSON does not support"))),
            PlainScalar::Text | PlainScalar::Time => Ok(Value::String(text.to_string())),
        }
    }

    /// Adds a complete value to its parent, or returns it if it is the document.
    fn place(&mut self, value: Value, size: usize, span: Span) -> Result<Option<Value>, PyYamlError> {
        self.nodes += size;
        if self.nodes > MAX_NODES {
            return Err(at(span, format!("contains more than {MAX_NODES} values")));
        }
        let Some(open) = self.open.last_mut() else { return Ok(Some(value)) };
        open.size += size;
        match &mut open.content {
            NodeContent::List(list) => list.push(value),
            NodeContent::Map { map, merged, key } => match key.take() {
                Some(MapKey::Named(name)) => drop(map.insert(name, value)),
                Some(MapKey::Merge) => merge(merged, value).map_err(|message| at(span, message))?,
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
                NodeContent::List(list) => pointer.push_str(&format!("/{}", list.len())),
                NodeContent::Map { key: Some(MapKey::Named(name)), .. } => {
                    pointer.push_str(&format!("/{}", escaped(name)))
                }
                NodeContent::Map { .. } => return,
            }
        }
        lines.note(&pointer, span.start.line());
    }
}

/// Earlier maps take precedence over later ones, and explicit keys over all of them.
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

/// Formats a key like Python's JSON encoder.
fn key_text(text: &str, implicit: bool) -> String {
    match resolve(text) {
        PlainScalar::Value(Value::String(text)) => text,
        PlainScalar::Value(value) if implicit => value.to_string(),
        _ => text.to_string(),
    }
}

fn at(span: Span, message: impl Into<String>) -> PyYamlError {
    PyYamlError { message: message.into(), line: span.start.line() }
}

#[cfg(test)]
mod tests;
