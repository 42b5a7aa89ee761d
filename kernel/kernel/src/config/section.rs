//! A map of the file while its fields are taken out one by one; what nobody took is unknown.

use serde_json::Value;
use switchboard_object::quote::quote;

use super::report::{Findings, Problem};
use super::tree::{Content, Key, Node, Position};

// As much of a key as a message shows.
const MAX_SHOWN_CHARS: usize = 64;

/// A map, the path that leads to it, and what was asked of it.
pub(super) struct Section<'n> {
    pub at: Position,
    path: String,
    entries: Vec<&'n (Key, Node)>,
    known: Vec<&'static str>,
}

impl<'n> Section<'n> {
    /// Opens a map; one that is not written is empty, and anything else is among the findings.
    pub fn open(node: &'n Node, path: String, findings: &mut Findings) -> Self {
        let entries = match &node.content {
            Content::Map(map) => map.iter().collect(),
            Content::Scalar(Value::Null) => Vec::new(),
            other => {
                findings.add(node.at, &path, wanted("a map of fields", other));
                Vec::new()
            }
        };
        Self { at: node.at, path, entries, known: Vec::new() }
    }

    /// The path that leads here.
    pub fn own_path(&self) -> &str {
        &self.path
    }

    /// The path of a field.
    pub fn path(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// The value of a field and where its key stands; `None` when nothing is written there.
    pub fn node(&mut self, name: &'static str) -> Option<(&'n Key, &'n Node)> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        let (key, node) = self.entries.iter().find(|(key, _)| key.name == name)?;
        (!node.is_null()).then_some((key, node))
    }

    /// The section of a field, when it is written.
    pub fn section(&mut self, name: &'static str, findings: &mut Findings) -> Option<Section<'n>> {
        let (_, node) = self.node(name)?;
        Some(Section::open(node, self.path(name), findings))
    }

    /// What `read` makes of a field; `None` when it is not written or wrong, which is then among the findings.
    pub fn take<T>(
        &mut self,
        name: &'static str,
        findings: &mut Findings,
        read: impl FnOnce(&Value) -> Result<T, Problem>,
    ) -> Option<T> {
        let (_, node) = self.node(name)?;
        let outcome = match &node.content {
            Content::Scalar(value) => read(value),
            other => Err(wanted("one value", other)),
        };
        outcome.map_err(|problem| findings.add(node.at, &self.path(name), problem)).ok()
    }

    /// As [`Section::take`], into where the default stands.
    pub fn set<T>(
        &mut self,
        name: &'static str,
        into: &mut T,
        findings: &mut Findings,
        read: impl FnOnce(&Value) -> Result<T, Problem>,
    ) {
        if let Some(value) = self.take(name, findings, read) {
            *into = value;
        }
    }

    /// All entries, for a map whose keys are names.
    pub fn entries(&self) -> impl Iterator<Item = &'n (Key, Node)> {
        self.entries.iter().copied()
    }

    /// Reports the fields that nobody asked for.
    pub fn close(self, findings: &mut Findings) {
        for (key, _) in self.entries.iter().filter(|(key, _)| !self.known.contains(&key.name.as_str())) {
            let problem = Problem::new("unknown field").meant(&key.name, &self.known);
            findings.add(key.at, &join(&self.path, &key.name), problem);
        }
    }
}

/// The path of a field of a path.
pub(super) fn join(path: &str, name: &str) -> String {
    let name = shown(name);
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

/// A key as a path shows it: as it is when it is a word, else quoted, and never long.
pub(super) fn shown(name: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/');
    let short = match name.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_string(),
    };
    if !name.is_empty() && name.chars().all(word) { short } else { quote(&short) }
}

/// Something of another type stands there.
pub(super) fn wanted(what: &str, found: &Content) -> Problem {
    let found = match found {
        Content::List(_) => "a list".to_string(),
        Content::Map(_) => "a map".to_string(),
        Content::Scalar(value) => value_shown(value),
    };
    Problem::new(format!("must be {what}, not {found}"))
}

/// A scalar as a message shows it.
pub(super) fn value_shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_string(),
        Value::String(text) => {
            let short: String = text.chars().take(MAX_SHOWN_CHARS).collect();
            quote(&short)
        }
        other => format!("`{other}`"),
    }
}
