//! Reading: parser events to values, with a stack of our own.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::alias::Aliases;
use super::bytes::check;
use super::lines::Lines;
use super::quick;
use super::repair::{MAX_REREAD_BYTES, Marks, Repair};
use super::resolve::{Scalar, plain, tagged};
use super::strict::Strict;
use super::told::{Inside, alias_at, no_key, told};
use super::{Document, MAX_DEPTH, MAX_DUPLICATES, YamlError};
use crate::{Map, Value, gofmt, json, quote::quote};

/// Reads the first document; null when there is none.
///
/// # Errors
/// When the text is not YAML, or not within bounds.
pub fn read(text: &str) -> Result<Document, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    quick::read(text).map_or_else(|| full(text), Ok)
}

/// Reads the first document for some entries of a map: those whose keys are wanted, in whatever case they are written. Others may be
/// missing in what is given, but all of the text was looked at: what [`read`] refuses is refused.
///
/// # Errors
/// As [`read`].
pub fn outline(text: &str, wanted: &[&str]) -> Result<Value, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    quick::outline(text, wanted).map_or_else(|| full(text).map(|document| document.value), Ok)
}

/// The same as [`read`] without the short way that simple texts have.
pub(super) fn full(text: &str) -> Result<Document, YamlError> {
    check(text)?;
    if let Some(document) = as_json(text) {
        return Ok(document);
    }
    let marks = Marks::of(text);
    let first = repaired(&marks.text, |reader| reader.next_document())?;
    let mut first = first.unwrap_or(Document { value: Value::Null, line: 1, duplicates: Vec::new() });
    marks.put_back(&mut first.value);
    Ok(first)
}

/// Reads all documents of a stream; empty ones are left out.
///
/// # Errors
/// When the text is not YAML, or not within bounds.
pub fn read_all(text: &str) -> Result<Vec<Document>, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check(text)?;
    if let Some(document) = as_json(text) {
        return Ok(vec![document]);
    }
    let marks = Marks::of(text);
    let mut documents = repaired(&marks.text, |reader| {
        let mut documents = Vec::new();
        while let Some(document) = reader.next_document()? {
            if !document.value.is_null() {
                documents.push(document);
            }
        }
        Ok(documents)
    })?;
    documents.iter_mut().for_each(|document| marks.put_back(&mut document.value));
    Ok(documents)
}

fn repaired<T>(text: &str, read: impl Fn(&mut Reader<'_>) -> Outcome<T>) -> Outcome<T> {
    let mut text = Cow::Borrowed(text);
    let (mut reread, mut moved) = (0, BTreeSet::new());
    loop {
        let mut reader = Reader::new(&text);
        let result = read(&mut reader);
        let Some(repair) = reader.repair.filter(|_| result.is_err()) else { return result };
        reread += text.len();
        match repair.apply(&text, &mut moved).filter(|_| reread <= MAX_REREAD_BYTES) {
            Some(next) => text = Cow::Owned(next),
            None => return result,
        }
    }
}

// JSON is YAML, and much faster to read as what it is. With keys that stand twice the line is wanted, which JSON does not give.
fn as_json(text: &str) -> Option<Document> {
    let start = text.trim_start();
    if !start.starts_with('{') {
        return None;
    }
    let line = 1 + text[..text.len() - start.len()].matches('\n').count();
    let document = json::read(start.as_bytes()).ok().filter(|d| d.duplicates.is_empty())?;
    Some(Document { value: document.value, line, duplicates: Vec::new() })
}

type Outcome<T> = Result<T, YamlError>;

struct Reader<'a> {
    text: &'a str,
    lines: Lines<'a>,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    duplicates: Vec<String>,
    aliases: Aliases,
    /// What would have helped against the parser's error.
    repair: Option<Repair>,
    strict: Option<Strict<'a>>,
}

/// A value with what bounds and merges need to know of it.
#[derive(Clone)]
struct Node {
    value: Value,
    size: usize,
    depth: usize,
    line: usize,
    /// What it is as a key; `None` for lists and maps.
    key: Option<Scalar>,
    is_merge: bool,
}

struct Open {
    anchor: usize,
    line: usize,
    column: usize,
    size: usize,
    depth: usize,
    content: Content,
}

enum Content {
    List(Vec<Value>),
    Map(Map, Option<Node>),
    /// The list of maps after `<<`.
    Merge(Vec<Node>),
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            lines: Lines::of(text),
            parser: Parser::new_from_str(text),
            open: Vec::new(),
            anchors: BTreeMap::new(),
            duplicates: Vec::new(),
            aliases: Aliases::default(),
            repair: None,
            strict: Strict::of(text),
        }
    }

    fn next_document(&mut self) -> Outcome<Option<Document>> {
        let (mut document, mut first_line, mut failed) = (None, 1, None);
        while let Some(event) = self.parser.next_event() {
            let (event, span) = event.map_err(|e| self.refused(&e))?;
            if let Some(strict) = &mut self.strict {
                strict.event(&event, span)?;
            }
            if matches!(&event, Event::Scalar(text, ScalarStyle::Plain, 0, None) if text.is_empty()) {
                no_key(&self.lines, span.start, || self.inside()).map_or(Ok(()), Err)?;
            }
            match event {
                Event::DocumentStart(_) => first_line = span.start.line(),
                Event::DocumentEnd => {
                    self.anchors.clear();
                    self.open.clear();
                    let duplicates = std::mem::take(&mut self.duplicates);
                    let value = document.unwrap_or(Value::Null);
                    return failed.map_or(Ok(Some(Document { value, line: first_line, duplicates })), Err);
                }
                // go-yaml parses to the end before it looks at what the text means, so a later syntax error comes first.
                _ if failed.is_some() => {}
                event => match self.take(event, span) {
                    Ok(value) => document = value.or(document),
                    Err(error) => failed = Some(error),
                },
            }
        }
        failed.map_or(Ok(None), Err)
    }

    fn refused(&mut self, error: &ScanError) -> YamlError {
        self.repair = Repair::of(error);
        told(self.text, error, self.inside())
    }

    /// What the parser is in the middle of.
    fn inside(&self) -> Inside {
        let bracket =
            |open: &Open, wanted: char| self.text[self.lines.byte(open.line, open.column)..].starts_with(wanted);
        match self.open.as_slice() {
            // Whether brackets are a key is only known behind them.
            [] if self.text.trim_start().starts_with('{') => Inside::Braces,
            [] if self.text.trim_start().starts_with('[') => Inside::Brackets,
            [] => Inside::Nothing,
            [.., open] if bracket(open, '[') => Inside::Brackets,
            [.., open] if bracket(open, '{') => Inside::Braces,
            // A pair may stand in a list without braces of its own, and then it is the list that goes on.
            [.., above, Open { content: Content::Map(..), .. }] if bracket(above, '[') => Inside::Brackets,
            [.., Open { content: Content::Map(_, key), .. }] => Inside::Map { has_key: key.is_some() },
            // A list may stand no further right than the key it belongs to; what follows it is a key.
            [.., above, list] if list.column == above.column && list.line > above.line => {
                Inside::Map { has_key: false }
            }
            _ => Inside::List,
        }
    }

    // One event of a document; gives the value back when the document is complete.
    fn take(&mut self, event: Event<'_>, span: Span) -> Outcome<Option<Value>> {
        let complete = match event {
            Event::Alias(id) => Some(self.alias(id, span)?),
            Event::Scalar(text, style, anchor, tag) => {
                let text = self.without_added_break(&text, style, span);
                let node = scalar(text, style, tag.as_deref(), span.start.line()).map_err(|m| at(span, m))?;
                self.aliases.built();
                self.remember(anchor, &node, span)?;
                Some(node)
            }
            Event::SequenceStart(anchor, _) => self.open_list(anchor, span)?,
            Event::MappingStart(anchor, _) => self.open_map(anchor, span)?,
            Event::SequenceEnd | Event::MappingEnd => self.close(span)?,
            _ => None,
        };
        complete.map_or(Ok(None), |node| self.place(node, span))
    }

    // Where a text ends without a line break, so does the last line of a block; the parser adds one.
    fn without_added_break<'t>(&self, text: &'t str, style: ScalarStyle, span: Span) -> &'t str {
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let is_last = is_block && !self.text.ends_with('\n') && span.end.line() == self.lines.count();
        // The place such a text begins at is that of its first line, behind the indentation.
        let added = is_last && span.end.col() >= span.start.col().max(1);
        text.strip_suffix('\n').filter(|_| added).unwrap_or(text)
    }

    fn open_list(&mut self, anchor: usize, span: Span) -> Outcome<Option<Node>> {
        let merging =
            matches!(self.open.last(), Some(Open { content: Content::Map(_, Some(key)), .. }) if key.is_merge);
        let content = if merging { Content::Merge(Vec::new()) } else { Content::List(Vec::new()) };
        self.push(anchor, span, content)
    }

    fn open_map(&mut self, anchor: usize, span: Span) -> Outcome<Option<Node>> {
        self.push(anchor, span, Content::Map(Map::new(), None))
    }

    fn push(&mut self, anchor: usize, span: Span, content: Content) -> Outcome<Option<Node>> {
        if self.open.len() >= MAX_DEPTH {
            return Err(at(span, format!("yaml: exceeded max depth of {MAX_DEPTH}")));
        }
        self.aliases.built();
        let (line, column) = (span.start.line(), span.start.col());
        self.open.push(Open { anchor, line, column, size: 1, depth: 1, content });
        Ok(None)
    }

    fn close(&mut self, span: Span) -> Outcome<Option<Node>> {
        let Some(open) = self.open.pop() else { return Ok(None) };
        let (value, is_merge) = match open.content {
            Content::List(list) => (Value::Array(list), false),
            Content::Map(map, _) => (Value::Object(map), false),
            // Earlier maps take precedence, so they are laid over the later ones.
            Content::Merge(nodes) => {
                let mut merged = Map::new();
                for node in nodes.into_iter().rev() {
                    if let Value::Object(map) = node.value {
                        merged.extend(map);
                    }
                }
                (Value::Object(merged), false)
            }
        };
        let node = Node { value, size: open.size, depth: open.depth, line: open.line, key: None, is_merge };
        self.remember(open.anchor, &node, span)?;
        Ok(Some(node))
    }

    fn remember(&mut self, anchor: usize, node: &Node, span: Span) -> Outcome<()> {
        if anchor == 0 {
            return Ok(());
        }
        if !self.aliases.may_keep(node.size, &node.value) {
            return Err(at(span, "yaml: document contains excessive aliasing".to_string()));
        }
        self.anchors.insert(anchor, node.clone());
        Ok(())
    }

    fn alias(&mut self, id: usize, span: Span) -> Outcome<Node> {
        let Some(node) = self.anchors.get(&id) else {
            let name = alias_at(self.text, span.start.line(), span.start.col());
            return Err(at(span, format!("yaml: anchor '{name}' value contains itself")));
        };
        if !self.aliases.may_use(node.size, &node.value) {
            return Err(at(span, "yaml: document contains excessive aliasing".to_string()));
        }
        if self.open.len() + node.depth > MAX_DEPTH {
            return Err(at(span, format!("yaml: exceeded max depth of {MAX_DEPTH}")));
        }
        Ok(Node { line: span.start.line(), ..node.clone() })
    }

    // Puts a complete node where it belongs; gives the value back when it is the document.
    fn place(&mut self, node: Node, span: Span) -> Outcome<Option<Value>> {
        let Some(open) = self.open.last_mut() else { return Ok(Some(node.value)) };
        open.size += node.size;
        open.depth = open.depth.max(node.depth + 1);
        match &mut open.content {
            Content::List(list) => list.push(node.value),
            Content::Merge(nodes) if node.value.is_object() => nodes.push(node),
            Content::Merge(_) => return Err(at(span, want_map())),
            Content::Map(map, pending) => match pending.take() {
                None => *pending = Some(node),
                Some(key) if key.is_merge => {
                    let Value::Object(merged) = node.value else { return Err(at(span, want_map())) };
                    for (name, value) in merged {
                        insert(map, name, value, node.line, &mut self.duplicates);
                    }
                }
                Some(key) => {
                    let name = key_text(&key, &node.value).map_err(|m| at(span, m))?;
                    insert(map, name, node.value, node.line, &mut self.duplicates);
                }
            },
        }
        Ok(None)
    }
}

fn at(span: Span, message: String) -> YamlError {
    let problem = message.strip_prefix("yaml: ").unwrap_or(&message).to_string();
    YamlError { message, problem, line: span.start.line(), column: span.start.col() + 1 }
}

fn want_map() -> String {
    "yaml: map merge requires map or sequence of maps as the value".to_string()
}

fn insert(map: &mut Map, key: String, value: Value, line: usize, duplicates: &mut Vec<String>) {
    if map.contains_key(&key) && duplicates.len() < MAX_DUPLICATES {
        duplicates.push(format!("line {line}: key {} already set in map", quote(&key)));
    }
    map.insert(key, value);
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, line: usize) -> Result<Node, String> {
    let implicit = style == ScalarStyle::Plain;
    let scalar = match tag {
        Some(tag) if tag.is_yaml_core_schema() => match tag.suffix.as_str() {
            "binary" => Scalar::Text(binary(text)?),
            "str" | "bool" | "int" | "float" | "null" | "timestamp" => tagged(&tag.suffix, text)?,
            _ => Scalar::Text(text.to_string()),
        },
        Some(_) => Scalar::Text(text.to_string()),
        None if implicit => plain(text),
        None => Scalar::Text(text.to_string()),
    };
    let is_merge = text == "<<" && (implicit && tag.is_none() || tag.is_some_and(|t| t.suffix == "merge"));
    let value = scalar.clone().into_value()?;
    Ok(Node { value, size: 1, depth: 0, line, key: Some(scalar), is_merge })
}

fn key_text(key: &Node, value: &Value) -> Result<String, String> {
    match &key.key {
        Some(Scalar::Text(text) | Scalar::Timestamp(text)) => Ok(text.clone()),
        Some(Scalar::Integer(integer)) => Ok(integer.to_string()),
        Some(Scalar::Bool(bool)) => Ok(bool.to_string()),
        Some(Scalar::Float(float)) => Ok(gofmt::short_float(*float)),
        Some(Scalar::Unsigned(integer)) => {
            Err(format!("unsupported map key of type: uint64, key: {integer:#x}, value: {}", shown(value)))
        }
        Some(Scalar::Null) => {
            Err(format!("unsupported map key of type: %!s(<nil>), key: <nil>, value: {}", shown(value)))
        }
        None => Err(format!("yaml: invalid map key: {}", gofmt::syntax(&key.value))),
    }
}

fn shown(value: &Value) -> String {
    if value.is_null() { "<nil>".to_string() } else { gofmt::syntax(value) }
}

fn binary(text: &str) -> Result<String, String> {
    let digits = text.replace(['\n', '\r'], "");
    let bytes = base64::engine::general_purpose::STANDARD.decode(digits);
    let bytes = bytes.map_err(|_| "yaml: !!binary value contains invalid base64 data".to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
