//! YAML reader: converts parser events to values, with an explicit stack.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::alias_budget::AliasBudget;
use super::bytes::check;
use super::go_yaml_errors::{ParserContext, alias_at, go_yaml_error, missing_key_error};
use super::lines::LineIndex;
use super::repair::{MAX_REREAD_BYTES, SubstitutedText, TextRepair};
use super::resolve::{Scalar, plain, tagged};
use super::simple;
use super::strict::StrictChecker;
use super::{MAX_DEPTH, MAX_DUPLICATES, YamlDocument, YamlError};
use crate::{Map, Value, go_format, json, quote::quote};

/// Reads the first document; null if there is none.
///
/// # Errors
/// When the text is not YAML, or not within bounds.
pub fn read(text: &str) -> Result<YamlDocument, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    simple::read(text).map_or_else(|| full(text), Ok)
}

/// Reads some entries of the first document's map: those whose keys are wanted, regardless of case. Other entries may
/// be missing in the result, but the whole text is checked: a text that [`read`] refuses is refused.
///
/// # Errors
/// As [`read`].
pub fn outline(text: &str, wanted: &[&str]) -> Result<Value, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    simple::outline(text, wanted).map_or_else(|| full(text).map(|document| document.value), Ok)
}

/// Reads the first document without the fast path for simple texts.
pub(super) fn full(text: &str) -> Result<YamlDocument, YamlError> {
    check(text)?;
    if let Some(document) = as_json(text) {
        return Ok(document);
    }
    let marks = SubstitutedText::of(text);
    let first = repaired(&marks.text, |reader| reader.next_document())?;
    let mut first = first.unwrap_or(YamlDocument { value: Value::Null, line: 1, duplicates: Vec::new() });
    marks.restore(&mut first.value);
    Ok(first)
}

/// Reads all documents of a stream; empty ones are omitted.
///
/// # Errors
/// When the text is not YAML, or not within bounds.
pub fn read_all(text: &str) -> Result<Vec<YamlDocument>, YamlError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check(text)?;
    if let Some(document) = as_json(text) {
        return Ok(vec![document]);
    }
    let marks = SubstitutedText::of(text);
    let mut documents = repaired(&marks.text, |reader| {
        let mut documents = Vec::new();
        while let Some(document) = reader.next_document()? {
            if !document.value.is_null() {
                documents.push(document);
            }
        }
        Ok(documents)
    })?;
    documents.iter_mut().for_each(|document| marks.restore(&mut document.value));
    Ok(documents)
}

fn repaired<T>(text: &str, read: impl Fn(&mut YamlReader<'_>) -> YamlResult<T>) -> YamlResult<T> {
    let mut text = Cow::Borrowed(text);
    let (mut reread, mut moved) = (0, BTreeSet::new());
    loop {
        let mut reader = YamlReader::new(&text);
        let result = read(&mut reader);
        let Some(repair) = reader.repair.filter(|_| result.is_err()) else { return result };
        reread += text.len();
        match repair.apply(&text, &mut moved).filter(|_| reread <= MAX_REREAD_BYTES) {
            Some(next) => text = Cow::Owned(next),
            None => return result,
        }
    }
}

// Reads a JSON text with the much faster JSON parser. Duplicate keys need the YAML parser for the line of the error.
fn as_json(text: &str) -> Option<YamlDocument> {
    let start = text.trim_start();
    if !start.starts_with('{') {
        return None;
    }
    let line = 1 + text[..text.len() - start.len()].matches('\n').count();
    let document = json::read(start.as_bytes()).ok().filter(|d| d.duplicates.is_empty())?;
    Some(YamlDocument { value: document.value, line, duplicates: Vec::new() })
}

type YamlResult<T> = Result<T, YamlError>;

struct YamlReader<'a> {
    text: &'a str,
    lines: LineIndex<'a>,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    open: Vec<OpenCollection>,
    anchors: BTreeMap<usize, YamlNode>,
    duplicates: Vec<String>,
    aliases: AliasBudget,
    repair: Option<TextRepair>,
    strict: Option<StrictChecker<'a>>,
}

/// Value with the information that bounds and merges need.
#[derive(Clone)]
struct YamlNode {
    value: Value,
    size: usize,
    depth: usize,
    line: usize,
    /// Scalar as a key; `None` for lists and maps.
    key: Option<Scalar>,
    is_merge: bool,
}

struct OpenCollection {
    anchor: usize,
    line: usize,
    column: usize,
    size: usize,
    depth: usize,
    content: CollectionContent,
}

enum CollectionContent {
    List(Vec<Value>),
    Map(Map, Option<YamlNode>),
    /// List of maps after `<<`.
    Merge(Vec<YamlNode>),
}

impl<'a> YamlReader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            lines: LineIndex::of(text),
            parser: Parser::new_from_str(text),
            open: Vec::new(),
            anchors: BTreeMap::new(),
            duplicates: Vec::new(),
            aliases: AliasBudget::default(),
            repair: None,
            strict: StrictChecker::of(text),
        }
    }

    fn next_document(&mut self) -> YamlResult<Option<YamlDocument>> {
        let (mut document, mut first_line, mut failed) = (None, 1, None);
        while let Some(event) = self.parser.next_event() {
            let (event, span) = event.map_err(|e| self.parser_error(&e))?;
            if let Some(strict) = &mut self.strict {
                strict.event(&event, span)?;
            }
            if matches!(&event, Event::Scalar(text, ScalarStyle::Plain, 0, None) if text.is_empty()) {
                missing_key_error(&self.lines, span.start, || self.inside()).map_or(Ok(()), Err)?;
            }
            match event {
                Event::DocumentStart(_) => first_line = span.start.line(),
                Event::DocumentEnd => {
                    self.anchors.clear();
                    self.open.clear();
                    let duplicates = std::mem::take(&mut self.duplicates);
                    let value = document.unwrap_or(Value::Null);
                    return failed.map_or(Ok(Some(YamlDocument { value, line: first_line, duplicates })), Err);
                }
                // go-yaml parses to the end before it interprets the text, so a later syntax error takes precedence.
                _ if failed.is_some() => {}
                event => match self.take(event, span) {
                    Ok(value) => document = value.or(document),
                    Err(error) => failed = Some(error),
                },
            }
        }
        failed.map_or(Ok(None), Err)
    }

    fn parser_error(&mut self, error: &ScanError) -> YamlError {
        self.repair = TextRepair::of(error);
        go_yaml_error(self.text, error, self.inside())
    }

    /// Returns the innermost construct that the parser is in.
    fn inside(&self) -> ParserContext {
        let bracket = |open: &OpenCollection, wanted: char| {
            self.text[self.lines.byte(open.line, open.column)..].starts_with(wanted)
        };
        match self.open.as_slice() {
            // Only after the closing bracket is it known whether brackets are a key.
            [] if self.text.trim_start().starts_with('{') => ParserContext::Braces,
            [] if self.text.trim_start().starts_with('[') => ParserContext::Brackets,
            [] => ParserContext::Nothing,
            [.., open] if bracket(open, '[') => ParserContext::Brackets,
            [.., open] if bracket(open, '{') => ParserContext::Braces,
            // A list may contain a pair without braces of its own; then the list continues after it.
            [.., above, OpenCollection { content: CollectionContent::Map(..), .. }] if bracket(above, '[') => {
                ParserContext::Brackets
            }
            [.., OpenCollection { content: CollectionContent::Map(_, key), .. }] => {
                ParserContext::Map { has_key: key.is_some() }
            }
            // A list may be in the same column as its key; then a key follows it.
            [.., above, list] if list.column == above.column && list.line > above.line => {
                ParserContext::Map { has_key: false }
            }
            _ => ParserContext::List,
        }
    }

    // Handles an event of a document. Returns the value once the document is complete.
    fn take(&mut self, event: Event<'_>, span: Span) -> YamlResult<Option<Value>> {
        let complete = match event {
            Event::Alias(id) => Some(self.alias(id, span)?),
            Event::Scalar(text, style, anchor, tag) => {
                let text = self.without_added_break(&text, style, span);
                let node = scalar(text, style, tag.as_deref(), span.start.line()).map_err(|m| error_at(span, m))?;
                self.aliases.count_node();
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

    // Removes the line break that the parser adds to a block scalar at the end of a text without a final line break.
    fn without_added_break<'t>(&self, text: &'t str, style: ScalarStyle, span: Span) -> &'t str {
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let is_last = is_block && !self.text.ends_with('\n') && span.end.line() == self.lines.count();
        // Such a text begins at its first line, after the indentation.
        let added = is_last && span.end.col() >= span.start.col().max(1);
        text.strip_suffix('\n').filter(|_| added).unwrap_or(text)
    }

    fn open_list(&mut self, anchor: usize, span: Span) -> YamlResult<Option<YamlNode>> {
        let merging = matches!(self.open.last(), Some(OpenCollection { content: CollectionContent::Map(_, Some(key)), .. }) if key.is_merge);
        let content = if merging { CollectionContent::Merge(Vec::new()) } else { CollectionContent::List(Vec::new()) };
        self.push(anchor, span, content)
    }

    fn open_map(&mut self, anchor: usize, span: Span) -> YamlResult<Option<YamlNode>> {
        self.push(anchor, span, CollectionContent::Map(Map::new(), None))
    }

    fn push(&mut self, anchor: usize, span: Span, content: CollectionContent) -> YamlResult<Option<YamlNode>> {
        if self.open.len() >= MAX_DEPTH {
            return Err(error_at(span, format!("yaml: exceeded max depth of {MAX_DEPTH}")));
        }
        self.aliases.count_node();
        let (line, column) = (span.start.line(), span.start.col());
        self.open.push(OpenCollection { anchor, line, column, size: 1, depth: 1, content });
        Ok(None)
    }

    fn close(&mut self, span: Span) -> YamlResult<Option<YamlNode>> {
        let Some(open) = self.open.pop() else { return Ok(None) };
        let (value, is_merge) = match open.content {
            CollectionContent::List(list) => (Value::Array(list), false),
            CollectionContent::Map(map, _) => (Value::Object(map), false),
            // Earlier maps take precedence, so they are merged over the later ones.
            CollectionContent::Merge(nodes) => {
                let mut merged = Map::new();
                for node in nodes.into_iter().rev() {
                    if let Value::Object(map) = node.value {
                        merged.extend(map);
                    }
                }
                (Value::Object(merged), false)
            }
        };
        let node = YamlNode { value, size: open.size, depth: open.depth, line: open.line, key: None, is_merge };
        self.remember(open.anchor, &node, span)?;
        Ok(Some(node))
    }

    fn remember(&mut self, anchor: usize, node: &YamlNode, span: Span) -> YamlResult<()> {
        if anchor == 0 {
            return Ok(());
        }
        if !self.aliases.reserve_anchor(node.size, &node.value) {
            return Err(error_at(span, "yaml: document contains excessive aliasing".to_string()));
        }
        self.anchors.insert(anchor, node.clone());
        Ok(())
    }

    fn alias(&mut self, id: usize, span: Span) -> YamlResult<YamlNode> {
        let Some(node) = self.anchors.get(&id) else {
            let name = alias_at(self.text, span.start.line(), span.start.col());
            return Err(error_at(span, format!("yaml: anchor '{name}' value contains itself")));
        };
        if !self.aliases.reserve_alias(node.size, &node.value) {
            return Err(error_at(span, "yaml: document contains excessive aliasing".to_string()));
        }
        if self.open.len() + node.depth > MAX_DEPTH {
            return Err(error_at(span, format!("yaml: exceeded max depth of {MAX_DEPTH}")));
        }
        Ok(YamlNode { line: span.start.line(), ..node.clone() })
    }

    // Adds a complete node to its parent. Returns the value if the node is the document.
    fn place(&mut self, node: YamlNode, span: Span) -> YamlResult<Option<Value>> {
        let Some(open) = self.open.last_mut() else { return Ok(Some(node.value)) };
        open.size += node.size;
        open.depth = open.depth.max(node.depth + 1);
        match &mut open.content {
            CollectionContent::List(list) => list.push(node.value),
            CollectionContent::Merge(nodes) if node.value.is_object() => nodes.push(node),
            CollectionContent::Merge(_) => return Err(error_at(span, want_map())),
            CollectionContent::Map(map, pending) => match pending.take() {
                None => *pending = Some(node),
                Some(key) if key.is_merge => {
                    let Value::Object(merged) = node.value else { return Err(error_at(span, want_map())) };
                    for (name, value) in merged {
                        insert(map, name, value, node.line, &mut self.duplicates);
                    }
                }
                Some(key) => {
                    let name = key_text(&key, &node.value).map_err(|m| error_at(span, m))?;
                    insert(map, name, node.value, node.line, &mut self.duplicates);
                }
            },
        }
        Ok(None)
    }
}

fn error_at(span: Span, message: String) -> YamlError {
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

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, line: usize) -> Result<YamlNode, String> {
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
    Ok(YamlNode { value, size: 1, depth: 0, line, key: Some(scalar), is_merge })
}

fn key_text(key: &YamlNode, value: &Value) -> Result<String, String> {
    match &key.key {
        Some(Scalar::Text(text) | Scalar::Timestamp(text)) => Ok(text.clone()),
        Some(Scalar::Integer(integer)) => Ok(integer.to_string()),
        Some(Scalar::Bool(bool)) => Ok(bool.to_string()),
        Some(Scalar::Float(float)) => Ok(go_format::short_float(*float)),
        Some(Scalar::Unsigned(integer)) => {
            Err(format!("unsupported map key of type: uint64, key: {integer:#x}, value: {}", display_key(value)))
        }
        Some(Scalar::Null) => {
            Err(format!("unsupported map key of type: %!s(<nil>), key: <nil>, value: {}", display_key(value)))
        }
        None => Err(format!("yaml: invalid map key: {}", go_format::syntax(&key.value))),
    }
}

fn display_key(value: &Value) -> String {
    if value.is_null() { "<nil>".to_string() } else { go_format::syntax(value) }
}

fn binary(text: &str) -> Result<String, String> {
    let digits = text.replace(['\n', '\r'], "");
    let bytes = base64::engine::general_purpose::STANDARD.decode(digits);
    let bytes = bytes.map_err(|_| "yaml: !!binary value contains invalid base64 data".to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
