//! YAML tree with the position of each node.
//!
//! Scalars have the same meaning as in all other files that Switchboard reads (`switchboard_object::yaml`). Anchors,
//! aliases, merges and tags are refused: every value is written where it applies, and a small file cannot expand.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::Value;
use switchboard_object::yaml;

use super::report::{ConfigProblem, ErrorCollector};
use super::section::join;

/// Maximum size of the file in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// Maximum nesting depth of the file.
pub const MAX_DEPTH: usize = 64;
// Maximum length of a plain scalar that may be something other than text.
const MAX_MEANING_BYTES: usize = 64;

/// Position in the file, counted from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePosition {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// Value with its position.
#[derive(Clone, Debug)]
pub struct YamlNode {
    /// Position of the value.
    pub at: SourcePosition,
    /// Content of the value.
    pub content: NodeContent,
}

/// Content of a node.
#[derive(Clone, Debug)]
pub enum NodeContent {
    /// Text, number, boolean or null.
    Scalar(Value),
    /// Items in the order of the file.
    List(Vec<YamlNode>),
    /// Entries in the order of the file; each key once.
    Map(Vec<(YamlKey, YamlNode)>),
}

/// Key with its position.
#[derive(Clone, Debug)]
pub struct YamlKey {
    /// Position of the key.
    pub at: SourcePosition,
    /// Text of the key.
    pub name: String,
}

impl YamlNode {
    /// Returns the value without positions.
    pub fn value(&self) -> Value {
        match &self.content {
            NodeContent::Scalar(value) => value.clone(),
            NodeContent::List(list) => Value::Array(list.iter().map(YamlNode::value).collect()),
            NodeContent::Map(map) => Value::Object(map.iter().map(|(k, v)| (k.name.clone(), v.value())).collect()),
        }
    }

    /// Whether the value is null or missing.
    pub fn is_null(&self) -> bool {
        matches!(self.content, NodeContent::Scalar(Value::Null))
    }
}

/// Reads the only document of a text; `None` if it has none, or is invalid YAML, which is reported.
pub(super) fn read(text: &str, findings: &mut ErrorCollector) -> Option<YamlNode> {
    if text.len() > MAX_BYTES {
        findings.add(
            SourcePosition { line: 1, column: 1 },
            "",
            ConfigProblem::new(format!("is longer than {MAX_BYTES} bytes")),
        );
        return None;
    }
    let mut builder = TreeBuilder { findings, open: Vec::new(), root: None, documents: 0 };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match builder.run(Parser::new_from_str(text)) {
        Ok(()) => builder.root,
        Err(BuildStop::Reported) => None,
        Err(BuildStop::Scan(error)) => {
            syntax(text, &error, findings);
            None
        }
    }
}

/// Reason for stopping early.
enum BuildStop {
    /// The error is reported already.
    Reported,
    Scan(ScanError),
}

struct TreeBuilder<'f> {
    findings: &'f mut ErrorCollector,
    open: Vec<OpenCollection>,
    root: Option<YamlNode>,
    documents: usize,
}

struct OpenCollection {
    at: SourcePosition,
    content: NodeContent,
    /// Key of the next value; only for a map.
    key: Option<YamlKey>,
    /// Line of each key of a map.
    lines: BTreeMap<String, usize>,
}

impl TreeBuilder<'_> {
    fn run(&mut self, mut parser: Parser<'_, StrInput<'_>>) -> Result<(), BuildStop> {
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(BuildStop::Scan)?;
            self.take(event, span)?;
        }
        Ok(())
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), BuildStop> {
        let at = position(span);
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.stop(
                        at,
                        ConfigProblem::new("the file has a second document").hint("put everything in one document"),
                    ));
                }
            }
            Event::Alias(_) => return Err(self.stop(at, unsupported("aliases"))),
            Event::Scalar(text, style, anchor, tag) => {
                self.reject_anchor_and_tag(at, anchor, tag.is_some());
                let plain = style == ScalarStyle::Plain;
                self.scalar(at, &text, plain)?;
            }
            Event::SequenceStart(anchor, tag) => {
                self.reject_anchor_and_tag(at, anchor, tag.is_some());
                self.push(at, NodeContent::List(Vec::new()))?;
            }
            Event::MappingStart(anchor, tag) => {
                self.reject_anchor_and_tag(at, anchor, tag.is_some());
                self.push(at, NodeContent::Map(Vec::new()))?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    self.add_node(YamlNode { at: open.at, content: open.content });
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn reject_anchor_and_tag(&mut self, at: SourcePosition, anchor: usize, tagged: bool) {
        if anchor == 0 && !tagged {
            return;
        }
        let path = self.path();
        if anchor != 0 {
            self.findings.add(at, &path, unsupported("anchors"));
        }
        if tagged {
            self.findings.add(at, &path, ConfigProblem::new("tags are not supported").hint("remove the tag"));
        }
    }

    fn push(&mut self, at: SourcePosition, content: NodeContent) -> Result<(), BuildStop> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.stop(at, ConfigProblem::new(format!("nests deeper than {MAX_DEPTH} levels"))));
        }
        if let Some(OpenCollection { content: NodeContent::Map(_), key: None, .. }) = self.open.last() {
            return Err(self.stop(at, ConfigProblem::new("a key must be text, not a list or a map")));
        }
        self.open.push(OpenCollection { at, content, key: None, lines: BTreeMap::new() });
        Ok(())
    }

    fn scalar(&mut self, at: SourcePosition, text: &str, plain: bool) -> Result<(), BuildStop> {
        let Some(OpenCollection { content: NodeContent::Map(_), key: key @ None, lines, .. }) = self.open.last_mut()
        else {
            self.add_node(YamlNode { at, content: NodeContent::Scalar(meaning(text, plain)) });
            return Ok(());
        };
        if plain && text == "<<" {
            return Err(self.stop(at, unsupported("merges")));
        }
        *key = Some(YamlKey { at, name: text.to_string() });
        if let Some(line) = lines.get(text) {
            let problem = ConfigProblem::new(format!("is already defined on line {line}")).hint("remove one of them");
            let path = self.path();
            self.findings.add(at, &path, problem);
        }
        Ok(())
    }

    fn add_node(&mut self, node: YamlNode) {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(OpenCollection { content: NodeContent::Map(map), key, lines, .. }) => {
                // The first of two equal keys is kept; the second is reported.
                if let Some(key) = key.take().filter(|key| !lines.contains_key(&key.name)) {
                    lines.insert(key.name.clone(), key.at.line);
                    map.push((key, node));
                }
            }
            Some(OpenCollection { content: NodeContent::List(list), .. }) => list.push(node),
            Some(OpenCollection { content: NodeContent::Scalar(_), .. }) => {}
        }
    }

    fn path(&self) -> String {
        self.open.iter().fold(String::new(), |path, open| match (&open.key, &open.content) {
            (Some(key), _) => join(&path, &key.name),
            (None, NodeContent::List(list)) => format!("{path}[{}]", list.len()),
            (None, _) => path,
        })
    }

    fn stop(&mut self, at: SourcePosition, problem: ConfigProblem) -> BuildStop {
        let path = self.path();
        self.findings.add(at, &path, problem);
        BuildStop::Reported
    }
}

fn unsupported(what: &str) -> ConfigProblem {
    ConfigProblem::new(format!("{what} are not supported")).hint("write the value out")
}

fn position(span: Span) -> SourcePosition {
    SourcePosition { line: span.start.line(), column: span.start.col() + 1 }
}

// Resolves a plain scalar. Only text that starts like a number or a YAML keyword is parsed; `---` would start a
// document.
fn meaning(text: &str, plain: bool) -> Value {
    let one_word = !text.contains(char::is_whitespace) && !matches!(text, "---" | "...");
    let begins = |c: char| c.is_ascii_digit() || "+-.~nNtTfFyYoO".contains(c);
    if !plain || !one_word || text.len() > MAX_MEANING_BYTES {
        return Value::String(text.to_string());
    }
    if text.is_empty() {
        return Value::Null;
    }
    let read = text.starts_with(begins).then(|| yaml::read(text).ok()).flatten();
    match read.map(|document| document.value) {
        Some(value @ (Value::Null | Value::Bool(_) | Value::Number(_))) => value,
        _ => Value::String(text.to_string()),
    }
}

// Reports a syntax error in the words of the common YAML reader, which are better; if that reader accepts the text, in
// those of the parser.
fn syntax(text: &str, error: &ScanError, findings: &mut ErrorCollector) {
    let (at, words) = match yaml::read(text) {
        Err(known) => (SourcePosition { line: known.line, column: known.column }, known.problem),
        Ok(_) => {
            let mark = error.marker();
            (SourcePosition { line: mark.line(), column: mark.col() + 1 }, error.info().to_string())
        }
    };
    let line = text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default();
    let problem = ConfigProblem::new(words);
    let tabbed = line.trim_start_matches(' ').starts_with('\t');
    findings.add(at, "", if tabbed { problem.hint("indent with spaces, not tabs") } else { problem });
}
