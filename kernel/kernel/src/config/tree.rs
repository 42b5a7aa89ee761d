//! YAML as a tree that knows where each of its parts stands.
//!
//! Scalars mean what they mean in every other file that this program reads (`switchboard_object::yaml`). Anchors, aliases,
//! merges and tags are refused: without them a value stands where it counts, and a small file stays small.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::Value;
use switchboard_object::yaml;

use super::report::{Findings, Problem};
use super::section::join;

/// The longest file that is read.
pub const MAX_BYTES: usize = 1 << 20;
/// How deep the file may nest.
pub const MAX_DEPTH: usize = 64;
// No plain scalar longer than this means anything but its text.
const MAX_MEANING_BYTES: usize = 64;

/// Where something stands, counted from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    pub line: usize,
    pub column: usize,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub at: Position,
    pub content: Content,
}

/// What stands there.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Scalar(Value),
    List(Vec<Node>),
    /// In the order written, each key once.
    Map(Vec<(Key, Node)>),
}

/// A key and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub at: Position,
    pub name: String,
}

impl Node {
    /// The value without positions.
    pub fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(list) => Value::Array(list.iter().map(Node::value).collect()),
            Content::Map(map) => Value::Object(map.iter().map(|(k, v)| (k.name.clone(), v.value())).collect()),
        }
    }

    /// Whether nothing is written there.
    pub fn is_null(&self) -> bool {
        matches!(self.content, Content::Scalar(Value::Null))
    }
}

/// Reads the only document of a text; `None` when it has none, or is not YAML, which is then among the findings.
pub(super) fn read(text: &str, findings: &mut Findings) -> Option<Node> {
    if text.len() > MAX_BYTES {
        findings.add(Position { line: 1, column: 1 }, "", Problem::new(format!("is longer than {MAX_BYTES} bytes")));
        return None;
    }
    let mut builder = Builder { findings, open: Vec::new(), root: None, documents: 0 };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match builder.run(Parser::new_from_str(text)) {
        Ok(()) => builder.root,
        Err(Stop::Found) => None,
        Err(Stop::Scan(error)) => {
            syntax(text, &error, findings);
            None
        }
    }
}

/// Why building ended early.
enum Stop {
    /// The reason is among the findings.
    Found,
    Scan(ScanError),
}

struct Builder<'f> {
    findings: &'f mut Findings,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
}

struct Open {
    at: Position,
    content: Content,
    /// The key whose value comes next; of a map only.
    key: Option<Key>,
    /// The lines of a map's keys.
    lines: BTreeMap<String, usize>,
}

impl Builder<'_> {
    fn run(&mut self, mut parser: Parser<'_, StrInput<'_>>) -> Result<(), Stop> {
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(Stop::Scan)?;
            self.take(event, span)?;
        }
        Ok(())
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Stop> {
        let at = position(span);
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.stop(
                        at,
                        Problem::new("a second document begins here").hint("put all of it in one document"),
                    ));
                }
            }
            Event::Alias(_) => return Err(self.stop(at, not_here("aliases"))),
            Event::Scalar(text, style, anchor, tag) => {
                self.plain_words_only(at, anchor, tag.is_some());
                let plain = style == ScalarStyle::Plain;
                self.scalar(at, &text, plain)?;
            }
            Event::SequenceStart(anchor, tag) => {
                self.plain_words_only(at, anchor, tag.is_some());
                self.push(at, Content::List(Vec::new()))?;
            }
            Event::MappingStart(anchor, tag) => {
                self.plain_words_only(at, anchor, tag.is_some());
                self.push(at, Content::Map(Vec::new()))?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    self.place(Node { at: open.at, content: open.content });
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn plain_words_only(&mut self, at: Position, anchor: usize, tagged: bool) {
        if anchor == 0 && !tagged {
            return;
        }
        let path = self.path();
        if anchor != 0 {
            self.findings.add(at, &path, not_here("anchors"));
        }
        if tagged {
            self.findings.add(at, &path, Problem::new("tags are not read in this file").hint("remove the tag"));
        }
    }

    fn push(&mut self, at: Position, content: Content) -> Result<(), Stop> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.stop(at, Problem::new(format!("nests deeper than {MAX_DEPTH} levels"))));
        }
        if let Some(Open { content: Content::Map(_), key: None, .. }) = self.open.last() {
            return Err(self.stop(at, Problem::new("a key must be a word, not a list or a map")));
        }
        self.open.push(Open { at, content, key: None, lines: BTreeMap::new() });
        Ok(())
    }

    fn scalar(&mut self, at: Position, text: &str, plain: bool) -> Result<(), Stop> {
        let Some(Open { content: Content::Map(_), key: key @ None, lines, .. }) = self.open.last_mut() else {
            self.place(Node { at, content: Content::Scalar(meaning(text, plain)) });
            return Ok(());
        };
        if plain && text == "<<" {
            return Err(self.stop(at, not_here("merges")));
        }
        *key = Some(Key { at, name: text.to_string() });
        if let Some(line) = lines.get(text) {
            let problem =
                Problem::new(format!("stands here again, and on line {line} already")).hint("remove one of them");
            let path = self.path();
            self.findings.add(at, &path, problem);
        }
        Ok(())
    }

    fn place(&mut self, node: Node) {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open { content: Content::Map(map), key, lines, .. }) => {
                // The first of keys that stand twice is kept; the second is among the findings.
                if let Some(key) = key.take().filter(|key| !lines.contains_key(&key.name)) {
                    lines.insert(key.name.clone(), key.at.line);
                    map.push((key, node));
                }
            }
            Some(Open { content: Content::List(list), .. }) => list.push(node),
            Some(Open { content: Content::Scalar(_), .. }) => {}
        }
    }

    fn path(&self) -> String {
        self.open.iter().fold(String::new(), |path, open| match (&open.key, &open.content) {
            (Some(key), _) => join(&path, &key.name),
            (None, Content::List(list)) => format!("{path}[{}]", list.len()),
            (None, _) => path,
        })
    }

    fn stop(&mut self, at: Position, problem: Problem) -> Stop {
        let path = self.path();
        self.findings.add(at, &path, problem);
        Stop::Found
    }
}

fn not_here(what: &str) -> Problem {
    Problem::new(format!("{what} are not read in this file")).hint("write the value out")
}

fn position(span: Span) -> Position {
    Position { line: span.start.line(), column: span.start.col() + 1 }
}

// Only what begins like a number or a word of YAML's can mean anything but its text; `---` would be read as a document.
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

// The words of the other reader are better; it also forgives more, and then there are only the parser's.
fn syntax(text: &str, error: &ScanError, findings: &mut Findings) {
    let (at, words) = match yaml::read(text) {
        Err(known) => (Position { line: known.line, column: known.column }, known.problem),
        Ok(_) => {
            let mark = error.marker();
            (Position { line: mark.line(), column: mark.col() + 1 }, error.info().to_string())
        }
    };
    let line = text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default();
    let problem = Problem::new(words);
    let tabbed = line.trim_start_matches(' ').starts_with('\t');
    findings.add(at, "", if tabbed { problem.hint("indent with spaces, not tabs") } else { problem });
}
